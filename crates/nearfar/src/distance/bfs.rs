//! Breadth-first search from many sources at once, one bit a source.
//!
//! # Derivation
//!
//! A search from one source asks of every node: seen yet? With a word of bits a node, bit s
//! answers for source s, and one OR along an edge advances all searches together:
//!
//! ```text
//! new(v) = ⋁ { frontier(u) : u next to v } ∧ ¬seen(v)        seen(v) ∨= new(v)
//! ```
//!
//! Searches from 512 sources overlap so much in real graphs that they cost little more than a
//! few (Then et al., *The more the merrier: efficient multi-source graph traversal*, VLDB 2015).
//! Each step goes one of two ways, whichever touches fewer edges: *push*, from the nodes in the
//! frontier to their neighbours, or *pull*, into the nodes that some source has not reached yet.

use std::ops::ControlFlow;

use crate::graph::{Graph, Node};
use crate::memory;

/// How many searches run together.
pub const LANES: usize = 512;

/// One bit for each of [`LANES`] searches.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(align(64))]
pub struct Lanes([u64; LANES / 64]);

impl Lanes {
    fn first(count: usize) -> Self {
        let mut lanes = Self::default();
        (0..count).for_each(|lane| lanes.set(lane));
        lanes
    }

    fn set(&mut self, lane: usize) {
        self.0[lane / 64] |= 1 << (lane % 64);
    }

    #[inline]
    fn or(&mut self, other: &Self) {
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

    /// How many searches are in it.
    #[inline]
    pub fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Calls `each` with the number of every search in it.
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

/// Room for one search from up to [`LANES`] sources, to be used again and again by one thread.
pub struct MultiSourceBfs<'g> {
    graph: &'g Graph,
    seen: Vec<Lanes>,
    frontier: Vec<Lanes>,
    next: Vec<Lanes>,
    /// The nodes whose frontier is not empty.
    active: Vec<Node>,
    touched: Vec<Node>,
    /// The nodes that some source has not reached.
    open: Vec<Node>,
}

impl<'g> MultiSourceBfs<'g> {
    /// The memory of a sweep over a graph of n nodes.
    pub fn bytes(nodes: usize) -> u64 {
        (nodes * (3 * size_of::<Lanes>() + 3 * size_of::<Node>())) as u64
    }

    /// Makes room.
    pub fn new(graph: &'g Graph) -> Self {
        let empty = || memory::zeroed(graph.nodes());
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

    /// Searches from `sources`, at most [`LANES`] different nodes. Calls `visit(hops, node,
    /// lanes)` once for every node and distance at which some sources reach it; lane i is source
    /// i. Hops never decrease from call to call. `visit` may stop the search.
    ///
    /// # Panics
    ///
    /// If there are more sources than lanes.
    pub fn run(
        &mut self,
        sources: &[Node],
        mut visit: impl FnMut(u32, Node, &Lanes) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        assert!(sources.len() <= LANES, "a sweep has {LANES} lanes");
        self.start(sources);
        let all = Lanes::first(sources.len());
        let arcs = |nodes: &[Node]| -> usize {
            nodes.iter().map(|&node| self.graph.degree(node) + 1).sum()
        };
        let mut open_arcs = self.graph.arcs() + self.graph.nodes();
        let mut hops = 0;
        while !self.active.is_empty() {
            for &node in &self.active {
                visit(hops, node, &self.frontier[node as usize])?;
            }
            hops += 1;
            // A pull stops early in most rows, and writes in order: it is worth twice its edges.
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
        self.seen.fill(Lanes::default());
        self.frontier.fill(Lanes::default());
        self.next.fill(Lanes::default());
        self.open.clear();
        self.open.extend(0..self.graph.nodes() as Node);
        for (lane, &source) in sources.iter().enumerate() {
            self.frontier[source as usize].set(lane);
            self.seen[source as usize].set(lane);
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
                next.or(&frontier);
            }
        }
        for &node in &self.active {
            self.frontier[node as usize] = Lanes::default();
        }
        self.active.clear();
        for &node in &self.touched {
            let at = node as usize;
            let new = self.next[at].without(&self.seen[at]);
            self.next[at] = Lanes::default();
            if !new.is_empty() {
                self.seen[at].or(&new);
                self.frontier[at] = new;
                self.active.push(node);
            }
        }
    }

    fn pull(&mut self, all: &Lanes) {
        /// Rows are asked for so many nodes before they are needed.
        const AHEAD: usize = 4;
        self.touched.clear();
        for (place, &node) in self.open.iter().enumerate() {
            if let Some(&later) = self.open.get(place + AHEAD) {
                for &from in self.graph.neighbours(later) {
                    memory::prefetch(&self.frontier, from as usize);
                }
            }
            let at = node as usize;
            let missing = all.without(&self.seen[at]);
            let mut met = Lanes::default();
            for &from in self.graph.neighbours(node) {
                met.or(&self.frontier[from as usize]);
                if missing.without(&met).is_empty() {
                    break;
                }
            }
            let new = met.without(&self.seen[at]);
            if !new.is_empty() {
                self.next[at] = new;
                self.touched.push(node);
            }
        }
        for &node in &self.active {
            self.frontier[node as usize] = Lanes::default();
        }
        for &node in &self.touched {
            let at = node as usize;
            self.frontier[at] = std::mem::take(&mut self.next[at]);
            self.seen[at].or(&self.frontier[at]);
        }
        std::mem::swap(&mut self.active, &mut self.touched);
    }

    /// Forgets the nodes that every source has reached; returns the edges of the others.
    fn close(&mut self, all: &Lanes) -> usize {
        let mut arcs = 0;
        self.open.retain(|&node| {
            let open = self.seen[node as usize] != *all;
            if open {
                arcs += self.graph.degree(node) + 1;
            }
            open
        });
        arcs
    }
}
