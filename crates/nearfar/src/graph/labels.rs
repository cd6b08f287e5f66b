//! Labels and splits of nodes, and the files that they are stored in.

use std::path::Path;
use std::str::FromStr;

use super::read::{Known, NodeTable};
use super::{Graph, StringIds};
use crate::error::{Problem, Result};

/// The labels of nodes: any number for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// The distinct labels, in numeric order if all are integers, else in text order.
    pub names: Vec<String>,
    /// For each row, its labels as indices into `names`.
    pub of: Vec<Vec<u32>>,
}

/// The split that a node belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Classifiers are trained on it.
    Train,
    /// Hyperparameters are chosen on it.
    Val,
    /// Reported scores are computed on it.
    Test,
}

/// The split of each node, by row; `None` for nodes in no split.
pub type Splits = Vec<Option<Split>>;

impl Labels {
    /// Reads the labels of the nodes of a graph: lines `node<TAB>label`, several labels separated by
    /// commas, or a CSV table with a label in each line. Also returns what to tell the user, such as
    /// how many lines were of other nodes.
    pub fn read(path: &Path, graph: &Graph) -> Result<(Self, Vec<Problem>)> {
        let (labels, notes, _) = Self::read_known(path, in_graph(graph))?;
        Ok((labels, notes))
    }

    /// Labels from the texts of each row, in any order.
    ///
    /// ```
    /// use nearfar::graph::Labels;
    /// let labels = Labels::new(&[vec!["10"], vec![], vec!["9", "10"]]);
    /// assert_eq!(labels.names, ["9", "10"]);
    /// assert_eq!(labels.of, [vec![1], vec![], vec![0, 1]]);
    /// ```
    pub fn new<T: AsRef<str>>(rows: &[Vec<T>]) -> Self {
        let mut names = StringIds::default();
        let mut intern =
            |row: &Vec<T>| row.iter().map(|name| names.insert(name.as_ref())).collect();
        let of = rows.iter().map(&mut intern).collect();
        Self::sorted(&names, of)
    }

    /// The labels, what to tell the user, and the size of the text that they were read from.
    pub(crate) fn read_known(path: &Path, known: Known) -> Result<(Self, Vec<Problem>, u64)> {
        let mut names = StringIds::default();
        let mut of = vec![Vec::new(); known.ids.len()];
        let table = NodeTable::read(path, known, &LABELS)?;
        let text = table.bytes();
        let mut lists = 0_usize;
        let mut notes = table.for_each(|row, value| {
            let of: &mut Vec<u32> = &mut of[row as usize];
            let before = of.len();
            value.for_each(|label| of.push(names.insert(label)))?;
            lists += usize::from(of.len() > before + 1);
            Ok(())
        })?;
        if lists > 0 {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let nodes =
                if lists == 1 { "1 node has".into() } else { format!("{lists} nodes have") };
            let note = format!("{name}: {nodes} several labels, separated by commas");
            notes.push(Problem::from(note).act("quote a label that holds a comma"));
        }
        Ok((Self::sorted(&names, of), notes, text))
    }

    fn sorted(names: &StringIds, mut of: Vec<Vec<u32>>) -> Self {
        let mut order: Vec<u32> = (0..names.len() as u32).collect();
        let numbers: Option<Vec<i64>> = order.iter().map(|&l| names.get(l).parse().ok()).collect();
        match numbers {
            // Labels `1` and `01` are different, and in the same order in any file.
            Some(numbers) => order.sort_by_key(|&l| (numbers[l as usize], names.get(l))),
            None => order.sort_by_key(|&l| names.get(l)),
        }
        let mut rank = vec![0; order.len()];
        for (at, &label) in order.iter().enumerate() {
            rank[label as usize] = at as u32;
        }
        for labels in &mut of {
            for label in labels.iter_mut() {
                *label = rank[*label as usize];
            }
            labels.sort_unstable();
            labels.dedup();
        }
        Self { names: order.iter().map(|&l| names.get(l).to_owned()).collect(), of }
    }

    /// The memory that the labels take: for each row a list and, unless it is empty, an allocation
    /// of at least 32 bytes.
    pub(super) fn bytes(&self) -> u64 {
        let row = |of: &Vec<u32>| match of.capacity() {
            0 => size_of::<Vec<u32>>(),
            labels => size_of::<Vec<u32>>() + (labels * 4 + 16).max(32),
        };
        self.of.iter().map(row).sum::<usize>() as u64
    }

    /// The number of classes: distinct labels that some node has.
    pub fn classes(&self) -> usize {
        let mut used = vec![false; self.names.len()];
        for &label in self.of.iter().flatten() {
            used[label as usize] = true;
        }
        used.into_iter().filter(|&used| used).count()
    }
}

impl Split {
    /// Reads the splits of the nodes of a graph: lines `node<TAB>train|val|test`, or a CSV table.
    /// Also returns what to tell the user.
    pub fn read(path: &Path, graph: &Graph) -> Result<(Splits, Vec<Problem>)> {
        read_splits(path, in_graph(graph))
    }

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Val => "val",
            Self::Test => "test",
        }
    }
}

impl FromStr for Split {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = [Self::Train, Self::Val, Self::Test].into_iter().find(|it| it.name() == text);
        found.ok_or_else(|| format!("'{text}' is not a split; expected train, val or test"))
    }
}

/// Names of the column of labels.
const LABELS: [&str; 10] = [
    "label",
    "labels",
    "class",
    "category",
    "community",
    "group",
    "modularityclass",
    "type",
    "y",
    "target",
];
/// Names of the column of splits.
const SPLITS: [&str; 5] = ["split", "splits", "set", "fold", "part"];

pub(super) fn in_graph(graph: &Graph) -> Known<'_> {
    Known { ids: graph.ids(), otherwise: "is not in the graph" }
}

pub(crate) fn read_splits(path: &Path, known: Known) -> Result<(Splits, Vec<Problem>)> {
    let mut splits = vec![None; known.ids.len()];
    let notes = NodeTable::read(path, known, &SPLITS)?.for_each(|row, value| {
        let mut split = Err("an empty split; expected train, val or test".to_owned());
        value.for_each(|text| split = text.parse())?;
        splits[row as usize] = Some(split?);
        Ok(())
    })?;
    Ok((splits, notes))
}
