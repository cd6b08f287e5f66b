//! Breadth-first search from many sources at once, one bit per source.
//!
//! # Derivation
//!
//! A search from one source keeps a bit per node: visited or not. With a set of bits per node, bit
//! s belongs to source s, and one OR along an edge advances all searches together:
//!
//! ```text
//! new(v) = ⋁ { frontier(u) : u ∈ N(v) } ∧ ¬seen(v)        seen(v) ∨= new(v)
//! ```
//!
//! In real graphs, searches from 512 sources overlap so much that they cost little more than a few
//! (Then et al., *The more the merrier: efficient multi-source graph traversal*, VLDB 2015).
//! Each step takes the direction that touches fewer edges: *push*, from the nodes in the frontier
//! to their neighbours, or *pull*, into the nodes that some source has not reached yet. In a directed
//! graph, searches follow the arcs, and a pull reads the arcs into a node.
//!
//! Where there are more threads than searches, those of a search share its pulls: a pull writes to the
//! nodes that it reads into, so threads take ranges of nodes.

use std::ops::ControlFlow;

use rayon::prelude::*;

use crate::cancel;
use crate::graph::{Graph, Node};
use crate::memory;

/// The number of sources of one search.
pub const SOURCES: usize = 512;

/// Nodes that a thread takes at a time.
const PART: usize = 1 << 13;

/// A set of sources: one bit for each of [`SOURCES`].
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(align(64))]
pub struct SourceSet([u64; SOURCES / 64]);

impl SourceSet {
    fn first(count: usize) -> Self {
        let mut sources = Self::default();
        (0..count).for_each(|source| sources.insert(source));
        sources
    }

    fn insert(&mut self, source: usize) {
        self.0[source / 64] |= 1 << (source % 64);
    }

    #[inline]
    fn union_with(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }

    #[inline]
    fn without(&self, other: &Self) -> Self {
        let mut rest = *self;
        for (a, b) in rest.0.iter_mut().zip(&other.0) {
            *a &= !b;
        }
        rest
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.0.iter().fold(0, |all, word| all | word) == 0
    }

    /// The number of sources in the set.
    #[inline]
    pub fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Calls `each` with the index of every source in the set.
    #[inline]
    pub fn for_each(&self, mut each: impl FnMut(usize)) {
        for (at, &word) in self.0.iter().enumerate() {
            let mut word = word;
            while word != 0 {
                each(at * 64 + word.trailing_zeros() as usize);
                word &= word - 1;
            }
        }
    }
}

/// The buffers of a search from up to [`SOURCES`] sources, reused from search to search.
pub struct MultiSourceBfs<'g> {
    graph: &'g Graph,
    threads: usize,
    seen: Vec<SourceSet>,
    frontier: Vec<SourceSet>,
    next: Vec<SourceSet>,
    /// The nodes whose frontier is not empty.
    active: Vec<Node>,
    touched: Vec<Node>,
    /// The nodes that some source has not reached.
    open: Vec<Node>,
}

impl<'g> MultiSourceBfs<'g> {
    /// The memory of a search in a graph of n nodes.
    pub fn bytes(nodes: usize) -> u64 {
        (nodes * (3 * size_of::<SourceSet>() + 3 * size_of::<Node>())) as u64
    }

    /// Allocates the buffers.
    pub fn new(graph: &'g Graph) -> Self {
        let empty = || memory::filled(graph.nodes(), SourceSet::default());
        Self {
            graph,
            threads: 1,
            seen: empty(),
            frontier: empty(),
            next: empty(),
            active: Vec::new(),
            touched: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Searches by so many threads of the pool. The order of visits within a level depends on it.
    #[must_use]
    pub(super) fn by_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Searches from at most [`SOURCES`] nodes. Calls `visit(hops, node, reached_by)` once for
    /// every node and distance at which some sources reach it; `reached_by` has the indices of
    /// those sources. Hops never decrease from call to call. `visit` may stop the search.
    ///
    /// # Panics
    ///
    /// If there are more than [`SOURCES`] sources.
    pub fn run(
        &mut self,
        sources: &[Node],
        mut visit: impl FnMut(u32, Node, &SourceSet) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        assert!(sources.len() <= SOURCES, "more than {SOURCES} sources");
        self.start(sources);
        let all = SourceSet::first(sources.len());
        let arcs = |nodes: &[Node]| -> usize {
            nodes.iter().map(|&node| self.graph.degree(node) + 1).sum()
        };
        let mut open_arcs = self.graph.arcs() + self.graph.nodes();
        let mut hops = 0;
        while !self.active.is_empty() {
            cancel::check();
            for &node in &self.active {
                visit(hops, node, &self.frontier[node as usize])?;
            }
            hops += 1;
            // A pull stops early in most rows and writes sequentially: an edge costs half as much, and
            // threads share it.
            if arcs(&self.active) * 2 * self.threads < open_arcs {
                self.push();
            } else {
                self.pull(&all);
                open_arcs = self.close(&all);
            }
        }
        ControlFlow::Continue(())
    }

    fn start(&mut self, sources: &[Node]) {
        self.seen.fill(SourceSet::default());
        self.frontier.fill(SourceSet::default());
        self.next.fill(SourceSet::default());
        self.open.clear();
        self.open.extend(0..self.graph.nodes() as Node);
        for (at, &source) in sources.iter().enumerate() {
            self.frontier[source as usize].insert(at);
            self.seen[source as usize].insert(at);
        }
        self.active.clear();
        self.active.extend_from_slice(sources);
        self.active.sort_unstable();
        self.active.dedup();
    }

    fn push(&mut self) {
        self.touched.clear();
        for &node in &self.active {
            let frontier = self.frontier[node as usize];
            for &to in self.graph.neighbours(node) {
                let next = &mut self.next[to as usize];
                if next.is_empty() {
                    self.touched.push(to);
                }
                next.union_with(&frontier);
            }
        }
        for &node in &self.active {
            self.frontier[node as usize] = SourceSet::default();
        }
        self.active.clear();
        for &node in &self.touched {
            let at = node as usize;
            let new = self.next[at].without(&self.seen[at]);
            self.next[at] = SourceSet::default();
            if !new.is_empty() {
                self.seen[at].union_with(&new);
                self.frontier[at] = new;
                self.active.push(node);
            }
        }
    }

    fn pull(&mut self, all: &SourceSet) {
        if self.threads > 1 {
            return self.pull_by_parts(all);
        }
        let Self { graph, seen, frontier, next, open, touched, .. } = self;
        touched.clear();
        reach(graph, open, (frontier, seen), (next, 0), all, touched);
        for &node in &self.active {
            frontier[node as usize] = SourceSet::default();
        }
        advance(touched, 0, [frontier, seen, next]);
        std::mem::swap(&mut self.active, &mut self.touched);
    }

    /// The same by several threads.
    fn pull_by_parts(&mut self, all: &SourceSet) {
        let Self { graph, seen, frontier, next, open, active, .. } = self;
        let parts = next.par_chunks_mut(PART).enumerate().map(|(part, next)| {
            let (first, mut touched) = (part * PART, Vec::new());
            let position = |node: usize| open.partition_point(|&open| (open as usize) < node);
            let open = &open[position(first)..position(first + next.len())];
            reach(graph, open, (frontier, seen), (next, first), all, &mut touched);
            touched
        });
        let touched: Vec<Vec<Node>> = parts.collect();
        if active.len() > frontier.len() / 8 {
            frontier.par_chunks_mut(PART).for_each(|part| part.fill(SourceSet::default()));
        } else {
            for &node in active.iter() {
                frontier[node as usize] = SourceSet::default();
            }
        }
        let parts = frontier.par_chunks_mut(PART).zip(seen.par_chunks_mut(PART));
        let parts = parts.zip(next.par_chunks_mut(PART)).zip(&touched).enumerate();
        parts.for_each(|(part, (((frontier, seen), next), touched))| {
            advance(touched, part * PART, [frontier, seen, next]);
        });
        active.clear();
        for part in &touched {
            active.extend_from_slice(part);
        }
    }

    /// Removes the nodes that every source has reached from `open`; returns the arcs of the others.
    fn close(&mut self, all: &SourceSet) -> usize {
        let is_open = |&node: &Node| self.seen[node as usize] != *all;
        let arcs_into = |&node: &Node| self.graph.incoming(node).len() + 1;
        if self.threads > 1 {
            self.open = self.open.par_iter().copied().filter(is_open).collect();
            return self.open.par_iter().map(arcs_into).sum();
        }
        self.open.retain(is_open);
        self.open.iter().map(arcs_into).sum()
    }
}

/// Collects in `next`, of the nodes from `first` on, the sources that reach some open nodes from their
/// neighbours in the frontier; and in `touched` the nodes that some source reaches for the first time.
fn reach(
    graph: &Graph,
    open: &[Node],
    (frontier, seen): (&[SourceSet], &[SourceSet]),
    (next, first): (&mut [SourceSet], usize),
    all: &SourceSet,
    touched: &mut Vec<Node>,
) {
    /// How many nodes ahead rows are prefetched.
    const AHEAD: usize = 4;
    for (position, &node) in open.iter().enumerate() {
        if let Some(&later) = open.get(position + AHEAD) {
            for &from in graph.incoming(later) {
                memory::prefetch(frontier, from as usize);
            }
        }
        let at = node as usize;
        let missing = all.without(&seen[at]);
        let mut reached = SourceSet::default();
        for &from in graph.incoming(node) {
            reached.union_with(&frontier[from as usize]);
            if missing.without(&reached).is_empty() {
                break;
            }
        }
        let new = reached.without(&seen[at]);
        if !new.is_empty() {
            next[at - first] = new;
            touched.push(node);
        }
    }
}

/// Makes what is next of some nodes the frontier; arrays are of the nodes from `first` on.
fn advance(touched: &[Node], first: usize, [frontier, seen, next]: [&mut [SourceSet]; 3]) {
    for &node in touched {
        let at = node as usize - first;
        frontier[at] = std::mem::take(&mut next[at]);
        seen[at].union_with(&frontier[at]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, NodeIds};

    /// Every visit of a search of all parts of a graph with long and short ways, in order.
    fn visits(graph: &Graph, threads: usize) -> Vec<(u32, Node, [u64; SOURCES / 64])> {
        let sources: Vec<Node> = (0..graph.nodes() as Node).step_by(61).collect();
        let mut visits = Vec::new();
        let _ = MultiSourceBfs::new(graph).by_threads(threads).run(&sources, |hops, node, set| {
            visits.push((hops, node, set.0));
            ControlFlow::Continue(())
        });
        visits.sort_unstable();
        visits
    }

    #[test]
    fn searches_by_several_threads_visit_the_same() {
        let nodes = 3 * PART as u32 + 100;
        let mix = |node: u32| node.wrapping_mul(2_654_435_761) % nodes;
        let path = (0..500).map(|a| (a, a + 1));
        let pairs = (500..nodes - 20).flat_map(|a| [(a, mix(a)), (a, mix(mix(a)))]).chain(path);
        let ids = NodeIds::Range { start: 0, len: nodes as usize };
        let pairs = pairs.filter(|(a, b)| a != b).collect();
        let graph = EdgeList { pairs, weights: None, ids }.build().unwrap().0;
        let one = visits(&graph, 1);
        assert!(one.len() > 3 * nodes as usize);
        assert_eq!(visits(&graph, 4), one);
    }
}
