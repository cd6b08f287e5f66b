//! Packing an edge list that need not fit memory.
//!
//! 1. The text is parsed block by block, and its edges go to a temporary file as pairs of integers
//!    ([`Spool`]). Only ids that are not integers stay in memory.
//! 2. The file is read twice: to assign rows, and to count the edges of every row ([`List`]).
//! 3. Rows are cut into ranges whose arcs fit memory. The arcs of each range go to a temporary file of
//!    their own, are sorted in memory, and appended to the packed file ([`rows`](super::rows)).
//!
//! Every step keeps the order of the list and follows the rules of
//! [`EdgeList`](super::super::EdgeList): the packed file is, to the byte, that of the graph read whole.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::super::read::Detected;
use super::super::read::text::{self, Block, Edges};
use super::super::storage::{Direction, Storage, difference};
use super::super::{Dropped, Node, NodeIds, Origin, ReadOptions, StringIds};
use super::format::Writer;
use super::rows::{Failure, Ranges};
use super::{PackConfig, write_ids, write_record};
use crate::budget::format_bytes;
use crate::error::{Error, Problem, Result};
use crate::file::{check_not_input, write_whole};

/// What was found beside the edges.
pub(super) struct Found {
    pub(super) dropped: Dropped,
    pub(super) origin: Origin,
    pub(super) notes: Vec<Problem>,
}

pub(super) fn pack(
    path: &Path,
    options: &ReadOptions,
    output: &Path,
    config: &PackConfig,
) -> Result<Found> {
    check_not_input(output, &[path.to_owned()])?;
    let beside = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = config.scratch.as_deref().or(beside).unwrap_or(Path::new("."));
    let mut spool = Spool::new(Scratch(folder.to_owned()))?;
    let Some((detected, _)) = text::stream(path, options, true, |block| spool.take(block))? else {
        return Err(text::no_edges(path));
    };
    let Detected { origin, notes, .. } = detected;
    if spool.pairs == 0 {
        return Err(text::no_edges(path));
    }
    let list = spool.list(origin.direction, config.memory)?;
    if list.ids.len() < 2 {
        return Err(Error::file(path, "the graph needs at least two nodes"));
    }
    let (storage, dropped, listed) = (list.storage, list.dropped, list.listed);
    let (ids, mut ranges) = list.into_ranges(config.memory)?;
    let mut failed = None;
    let written = write_whole(output, |out| {
        let mut out = Writer::new(out)?;
        write_ids(&mut out, &ids)?;
        ranges.write(options.repeats, &mut out).map_err(|failure| match failure {
            Failure::Output(error) => error,
            Failure::Other(error) => {
                failed = Some(error);
                std::io::Error::other("the edges cannot be sorted")
            }
        })?;
        write_record(&mut out, options)?;
        out.finish()
    });
    match failed {
        Some(Error::Graph(problem)) => return Err(Error::file(path, *problem)),
        Some(error) => return Err(error),
        None => written?,
    }
    let dropped = Dropped { repeats: (listed - ranges.arcs() / 2) as usize, ..dropped };
    let origin = Origin { storage, repeats: options.repeats, ..origin };
    Ok(Found { dropped, origin, notes })
}

/// The folder of temporary files, which have no names: nothing is left of them, however the run ends.
#[derive(Clone)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn file(&self) -> Result<File> {
        tempfile::tempfile_in(&self.0).map_err(|error| self.fail(error))
    }

    pub(super) fn fail(&self, error: std::io::Error) -> Error {
        Error::write(&self.0, error)
    }
}

/// A list of pairs in a temporary file, in order; each with a weight if there are weights.
pub(super) struct Pairs {
    scratch: Scratch,
    out: BufWriter<File>,
    weighted: bool,
}

impl Pairs {
    pub(super) fn new(scratch: &Scratch, weighted: bool) -> Result<Self> {
        /// Bytes of the buffer before the file.
        const BUFFER: usize = 1 << 18;
        let out = BufWriter::with_capacity(BUFFER, scratch.file()?);
        Ok(Self { scratch: scratch.clone(), out, weighted })
    }

    #[inline]
    pub(super) fn push(&mut self, (a, b): (u32, u32), weight: Option<f32>) -> Result<()> {
        let mut record = [0; 12];
        record[..4].copy_from_slice(&a.to_le_bytes());
        record[4..8].copy_from_slice(&b.to_le_bytes());
        record[8..].copy_from_slice(&weight.unwrap_or_default().to_le_bytes());
        let len = if self.weighted { 12 } else { 8 };
        self.out.write_all(&record[..len]).map_err(|error| self.scratch.fail(error))
    }

    /// Calls `take` with every pair in order, and its weight.
    pub(super) fn for_each(
        &mut self,
        mut take: impl FnMut((u32, u32), Option<f32>) -> Result<()>,
    ) -> Result<()> {
        /// Pairs that are read at a time.
        const CHUNK: u64 = 1 << 16;
        let fail = |error| self.scratch.fail(error);
        self.out.flush().map_err(fail)?;
        let file = self.out.get_mut();
        file.rewind().map_err(fail)?;
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            Read::by_ref(file).take(12 * CHUNK * 2).read_to_end(&mut bytes).map_err(fail)?;
            if bytes.is_empty() {
                return Ok(());
            }
            let number = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
            if self.weighted {
                for record in bytes.as_chunks::<12>().0 {
                    let [a, b, weight] = record.as_chunks().0 else { continue };
                    take((number(a), number(b)), Some(f32::from_le_bytes(*weight)))?;
                }
            } else {
                for record in bytes.as_chunks::<8>().0 {
                    let [a, b] = record.as_chunks().0 else { continue };
                    take((number(a), number(b)), None)?;
                }
            }
        }
    }
}

/// The edges of a text as they are read.
struct Spool {
    scratch: Scratch,
    /// Integer ids while `texts` is `None`, else rows.
    list: Option<Pairs>,
    texts: Option<StringIds>,
    pairs: u64,
    largest: u32,
}

impl Spool {
    fn new(scratch: Scratch) -> Result<Self> {
        // A folder that cannot be written is found before the text is read.
        scratch.file()?;
        Ok(Self { scratch, list: None, texts: None, pairs: 0, largest: 0 })
    }

    /// Takes the edges of a block. Returns whether all ids so far are integers.
    fn take(&mut self, block: Block) -> Result<bool> {
        let Block { edges, weights } = block;
        match edges {
            Edges::Integers(pairs) if self.texts.is_none() => self.extend(&pairs, &weights)?,
            Edges::Integers(mut pairs) => {
                let texts = self.texts()?;
                for pair in &mut pairs {
                    *pair = insert(texts, *pair);
                }
                self.extend(&pairs, &weights)?;
            }
            Edges::Texts(texts, hashes, mut pairs) => {
                let rows = self.texts()?.insert_all(&texts, &hashes);
                for (a, b) in &mut pairs {
                    (*a, *b) = (rows[*a as usize], rows[*b as usize]);
                }
                self.extend(&pairs, &weights)?;
            }
        }
        Ok(self.texts.is_none())
    }

    fn extend(&mut self, pairs: &[(u32, u32)], weights: &[f32]) -> Result<()> {
        if self.list.is_none() && !pairs.is_empty() {
            self.list = Some(Pairs::new(&self.scratch, !weights.is_empty())?);
        }
        let Some(list) = &mut self.list else { return Ok(()) };
        for (at, &(a, b)) in pairs.iter().enumerate() {
            self.largest = self.largest.max(a).max(b);
            list.push((a, b), weights.get(at).copied())?;
        }
        self.pairs += pairs.len() as u64;
        Ok(())
    }

    /// The interner of text ids. The first call turns the list into one of rows.
    fn texts(&mut self) -> Result<&mut StringIds> {
        if self.texts.is_none() {
            let mut texts = StringIds::default();
            if let Some(mut list) = self.list.take() {
                let mut rows = Pairs::new(&self.scratch, list.weighted)?;
                list.for_each(|pair, weight| rows.push(insert(&mut texts, pair), weight))?;
                self.list = Some(rows);
            }
            self.texts = Some(texts);
        }
        Ok(self.texts.get_or_insert_default())
    }

    /// Assigns the rows, and counts.
    fn list(mut self, direction: Direction, memory: u64) -> Result<List> {
        if self.texts.is_none() && u64::from(self.largest) / 16 > 2 * self.pairs {
            // A table of all integers up to the largest would be mostly empty.
            self.texts()?;
        }
        let Self { scratch, list, texts, pairs, largest, .. } = self;
        let mut list = match list {
            Some(list) => list,
            None => Pairs::new(&scratch, false)?,
        };
        let (ids, row_of) = match texts {
            Some(texts) => (NodeIds::StringIds(texts), None),
            None => integer_rows(&mut list, largest, memory)?,
        };
        check_memory(4 * ids.len() as u64 + ids.bytes(), memory)?;
        let mut all = List {
            degrees: vec![0; ids.len()],
            weighted: list.weighted,
            storage: Storage::Once,
            dropped: Dropped::default(),
            listed: 0,
            scratch,
            pairs: list,
            ids,
            row_of,
        };
        all.count(direction, pairs)?;
        Ok(all)
    }
}

fn insert(texts: &mut StringIds, (a, b): (u32, u32)) -> (Node, Node) {
    let mut digits = itoa::Buffer::new();
    let a = texts.insert(digits.format(a));
    (a, texts.insert(digits.format(b)))
}

/// Rows in the order of first appearance, unless ids are exactly 0..n−1.
fn integer_rows(
    list: &mut Pairs,
    largest: u32,
    memory: u64,
) -> Result<(NodeIds, Option<Vec<Node>>)> {
    const NONE: Node = Node::MAX;
    let len = largest as usize + 1;
    check_memory(8 * len as u64, memory)?;
    let mut row_of = vec![NONE; len];
    let mut order = Vec::new();
    list.for_each(|(a, b), _| {
        for id in [a, b] {
            if row_of[id as usize] == NONE {
                row_of[id as usize] = order.len() as Node;
                order.push(id);
            }
        }
        Ok(())
    })?;
    if order.len() == len {
        return Ok((NodeIds::Range { start: 0, len }, None));
    }
    let mut digits = itoa::Buffer::new();
    let mut texts = StringIds::default();
    for id in order {
        texts.insert(digits.format(id));
    }
    Ok((NodeIds::StringIds(texts), Some(row_of)))
}

fn check_memory(bytes: u64, memory: u64) -> Result<()> {
    if bytes <= memory / 2 {
        return Ok(());
    }
    let (bytes, memory) = (format_bytes(bytes), format_bytes(memory));
    let problem = format!("the ids of its nodes take {bytes}, more than half of {memory}");
    Err(Error::budget(Problem::from(problem).raise("max-memory")))
}

/// A list of edges between rows.
struct List {
    scratch: Scratch,
    weighted: bool,
    ids: NodeIds,
    /// How many edges of the list end at each row, without those that are dropped.
    degrees: Vec<u32>,
    storage: Storage,
    dropped: Dropped,
    /// How many edges the list states.
    listed: u64,
    pairs: Pairs,
    /// The row of an id, where they differ.
    row_of: Option<Vec<Node>>,
}

impl List {
    /// Counts what is dropped, finds how the list stores its edges, and then how many end at each row.
    fn count(&mut self, direction: Direction, pairs: u64) -> Result<()> {
        let (mut loops, mut zeros, mut hashes) = (0, 0, 0_u64);
        let degrees = &mut self.degrees;
        let row_of = self.row_of.as_deref();
        self.pairs.for_each(|(a, b), weight| {
            if a == b {
                loops += 1;
            } else if weight == Some(0.0) {
                zeros += 1;
            } else {
                hashes = hashes.wrapping_add(difference((a, b), weight.map(f32::to_bits)));
                for id in [a, b] {
                    let row = row_of.map_or(id, |rows| rows[id as usize]) as usize;
                    let more = degrees[row].checked_add(1);
                    degrees[row] = more.ok_or_else(|| {
                        Error::graph("a node with more than 4294967295 edges in the list")
                    })?;
                }
            }
            Ok(())
        })?;
        self.dropped = Dropped { self_loops: loops, zero_weights: zeros, repeats: 0 };
        self.listed = pairs - (loops + zeros) as u64;
        let stated = matches!(direction, Direction::Undirected | Direction::Directed);
        if !stated && self.listed > 0 && hashes == 0 {
            self.storage = Storage::Both;
            self.listed /= 2;
            // Of the two only one counts, and it has two ends.
            for degree in &mut self.degrees {
                *degree /= 2;
            }
        }
        Ok(())
    }

    /// Distributes the arcs of every edge that counts, in the order of the list.
    fn into_ranges(self, memory: u64) -> Result<(NodeIds, Ranges)> {
        let Self { scratch, weighted, ids, degrees, storage, mut pairs, row_of, .. } = self;
        let mut ranges = Ranges::new(&scratch, degrees, weighted, memory)?;
        let row_of = row_of.as_deref();
        let row = |id: u32| row_of.map_or(id, |rows| rows[id as usize]);
        pairs.for_each(|(a, b), weight| {
            let (a, b) = (row(a), row(b));
            if a == b || weight == Some(0.0) || storage == Storage::Both && a > b {
                return Ok(());
            }
            ranges.add((a, b), weight)
        })?;
        Ok((ids, ranges))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::super::super::{Repeats, read};
    use super::*;

    /// Packs a text in parts of a few arcs, and as a whole.
    fn both_ways(text: &str, options: &ReadOptions) -> [Result<Vec<u8>, String>; 2] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("graph.tsv"), text).unwrap();
        let (source, output) = (path("graph.tsv"), path("graph.nfg"));
        let config = PackConfig { memory: 4096, ..PackConfig::default() };
        let found = pack(&source, options, &output, &config).map_err(|error| error.to_string());
        let parts = found.map(|found| (fs::read(&output).unwrap(), found.dropped, found.origin));
        let whole = read(source.to_str().unwrap(), options).map_err(|error| error.to_string());
        let whole = whole.map(|whole| {
            whole.graph.write_with(&output, options).unwrap();
            (fs::read(&output).unwrap(), whole.dropped, whole.origin)
        });
        if let (Ok(parts), Ok(whole)) = (&parts, &whole) {
            assert_eq!((&parts.1, &parts.2), (&whole.1, &whole.2));
        }
        [parts, whole].map(|all| all.map(|all| all.0))
    }

    #[test]
    fn ids_of_every_kind_get_the_same_rows() {
        let blocks = "1 2\n".repeat(100_000) + "x 2\n3 x\n";
        for text in [
            "0 1\n2 1\n1 2\n2 2\n",
            "5 1\n1 7\n",
            "4000000000 1\n1 7\n",
            "a b\n0 a\nb 07\n",
            "0 1 2.5\n1 0 2.5\n1 2 1\n2 1 1\n",
            "source\ttarget\tweight\na\tb\t0\nb\tc\t1e38\nc\tb\t3e38\n",
            "0 0\n1 1\n",
            "7 7\n",
            "",
            "a b 1\nb a 3e38\na b 3e38\n",
            &blocks,
        ] {
            let [parts, whole] = both_ways(text, &ReadOptions::default());
            assert_eq!(parts, whole, "{text:.40}");
        }
    }

    #[test]
    fn ids_that_do_not_fit_are_refused() {
        let text: String =
            (0..2000).map(|id| format!("{id} {}\n", id + 1)).collect::<Vec<_>>().concat();
        let [parts, _] = both_ways(&text, &ReadOptions::default());
        let error = parts.unwrap_err();
        assert!(error.contains("16 kB") && error.contains("--max-memory"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn parts_give_the_bytes_of_the_whole(
            edges in prop::collection::vec((0_u32..40, 0_u32..40, 0_u8..4), 1..300),
            step in 1_u32..3,
            weighted: bool,
            symmetric: bool,
            repeats in 0_usize..4,
        ) {
            let repeats = [Repeats::Sum, Repeats::Max, Repeats::Min, Repeats::First][repeats];
            let line = |a: u32, b: u32, w: u8| {
                let w = if weighted { format!("\t{}", f32::from(w) / 2.0) } else { String::new() };
                format!("{}\t{}{w}\n", a * step, b * step)
            };
            let mut text = String::new();
            for &(a, b, w) in &edges {
                text += &line(a, b, w);
                if symmetric {
                    text += &line(b, a, w);
                }
            }
            let [parts, whole] = both_ways(&text, &ReadOptions { repeats, ..Default::default() });
            prop_assert_eq!(parts, whole);
        }
    }
}
