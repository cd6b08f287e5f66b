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

use std::ops::ControlFlow;

use crate::cancel;
use crate::graph::{Graph, Node};
use crate::memory;

/// The number of sources of one search.
pub const SOURCES: usize = 512;

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
            seen: empty(),
            frontier: empty(),
            next: empty(),
            active: Vec::new(),
            touched: Vec::new(),
            open: Vec::new(),
        }
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
            // A pull stops early in most rows and writes sequentially: an edge costs half as much.
            if arcs(&self.active) * 2 < open_arcs {
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
        /// How many nodes ahead rows are prefetched.
        const AHEAD: usize = 4;
        self.touched.clear();
        for (position, &node) in self.open.iter().enumerate() {
            if let Some(&later) = self.open.get(position + AHEAD) {
                for &from in self.graph.incoming(later) {
                    memory::prefetch(&self.frontier, from as usize);
                }
            }
            let at = node as usize;
            let missing = all.without(&self.seen[at]);
            let mut reached = SourceSet::default();
            for &from in self.graph.incoming(node) {
                reached.union_with(&self.frontier[from as usize]);
                if missing.without(&reached).is_empty() {
                    break;
                }
            }
            let new = reached.without(&self.seen[at]);
            if !new.is_empty() {
                self.next[at] = new;
                self.touched.push(node);
            }
        }
        for &node in &self.active {
            self.frontier[node as usize] = SourceSet::default();
        }
        for &node in &self.touched {
            let at = node as usize;
            self.frontier[at] = std::mem::take(&mut self.next[at]);
            self.seen[at].union_with(&self.frontier[at]);
        }
        std::mem::swap(&mut self.active, &mut self.touched);
    }

    /// Removes the nodes that every source has reached from `open`; returns the arcs of the others.
    fn close(&mut self, all: &SourceSet) -> usize {
        let mut arcs = 0;
        self.open.retain(|&node| {
            let open = self.seen[node as usize] != *all;
            if open {
                arcs += self.graph.incoming(node).len() + 1;
            }
            open
        });
        arcs
    }
}
