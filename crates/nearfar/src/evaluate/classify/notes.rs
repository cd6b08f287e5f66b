//! Notes on the result: classes that cannot be predicted or tested in some runs.

use super::SplitMethod;
use super::inverse_l2::InverseL2;
use super::model::LabelledVectors;
use super::run::ClassifyRun;
use super::split::NodeSplit;
use crate::graph::Node;

/// Names to list before the others are counted.
const LISTED: usize = 3;

/// What limits the scores of these runs.
pub(super) fn notes(
    data: LabelledVectors,
    splits: &[NodeSplit],
    runs: &[ClassifyRun],
    protocol: &SplitMethod,
) -> Vec<String> {
    let some_runs = |count: usize| match splits.len() {
        1 => String::new(),
        all => format!(" in {count} of {all} runs"),
    };
    let mut notes = Vec::new();
    let untrained: Vec<Vec<usize>> =
        splits.iter().map(|split| untrained_classes(data, split)).collect();
    let mut classes = untrained.concat();
    classes.sort_unstable();
    classes.dedup();
    if !classes.is_empty() {
        let count = untrained.iter().filter(|classes| !classes.is_empty()).count();
        notes.push(format!(
            "{} test nodes and no training node{}, and cannot be predicted there: {}",
            have(data, classes.len()),
            some_runs(count),
            list(data, &classes)
        ));
    }
    if matches!(protocol, SplitMethod::Random { stratified: true, .. }) {
        let all: Vec<Node> = (0..data.labels.of.len() as Node).collect();
        let members = members(data, &all);
        let single: Vec<usize> = (0..members.len()).filter(|&class| members[class] == 1).collect();
        if !single.is_empty() {
            notes.push(format!(
                "{} a single node, which is always trained on and never tested: {}",
                have(data, single.len()),
                list(data, &single)
            ));
        }
    }
    let too_few = runs.iter().filter(|run| run.too_few).count();
    if too_few > 0 {
        notes.push(format!(
            "too few training nodes of each class to choose C{}: C = {}",
            some_runs(too_few),
            InverseL2::DEFAULT
        ));
    }
    notes
}

/// Classes that some test node has and no training node.
fn untrained_classes(data: LabelledVectors, split: &NodeSplit) -> Vec<usize> {
    let (train, test) = (members(data, &split.train), members(data, &split.test));
    (0..train.len()).filter(|&class| train[class] == 0 && test[class] > 0).collect()
}

/// How many of these nodes have each label.
fn members(data: LabelledVectors, rows: &[Node]) -> Vec<usize> {
    let mut members = vec![0; data.labels.names.len()];
    for &label in rows.iter().flat_map(|&row| &data.labels.of[row as usize]) {
        members[label as usize] += 1;
    }
    members
}

/// `1 class has` or `2 classes have`.
fn have(data: LabelledVectors, count: usize) -> String {
    let (one, several) = if data.multi_label { ("label", "labels") } else { ("class", "classes") };
    if count == 1 { format!("1 {one} has") } else { format!("{count} {several} have") }
}

/// The first names, and how many others there are.
fn list(data: LabelledVectors, classes: &[usize]) -> String {
    let listed = classes.len().min(LISTED);
    let names = classes[..listed].iter().map(|&class| format!("'{}'", data.labels.names[class]));
    let text = names.collect::<Vec<_>>().join(", ");
    match classes.len() - listed {
        0 => text,
        others => format!("{text} and {others} more"),
    }
}
