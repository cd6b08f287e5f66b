//! Second-order walks: node2vec.
//!
//! # Derivation
//!
//! Coming from node t to v, the walk goes on to a neighbour x of v with probability ∝ w(v,x) α(x):
//!
//! ```text
//! α(x) = 1/p   if x = t                (return)
//!        1     if x is next to t
//!        1/q   else                    (move on)
//! ```
//!
//! A table for each pair (t, v) would take memory like the number of paths of two edges, which is
//! where other programs fail on large graphs. Rejection takes none: throw a dart at a board with a
//! bar of width w(v,x) and height α(x) for every x, and go where it hits; throw again if it misses
//! them all. The board is as high as M = max(1, 1/q). A large 1/p would make M large for the sake
//! of a single bar, so what that bar has above M is laid down beside the others, an area of
//! w(v,t) (1/p − M) that means return (Yang et al., *KnightKing*, SOSP 2019).
//!
//! With q = 4 three of four darts miss, and each miss has to look for x among the neighbours of t.
//! But where t and v have no neighbour in common, no x is next to t, the board is only as high as
//! 1/q, and no dart misses. One bit an edge tells where ([`Triangles`]).
//!
//! Walks are taken side by side: each throws one dart in turn, and whoever hits has moved on by the
//! next. None waits for another, and all wait for memory together.

use std::sync::Arc;

use super::triangles::Triangles;
use super::walk::NOWHERE;
use super::{PositiveSource, Walk};
use crate::error::{Error, Result};
use crate::graph::{Graph, Node};
use crate::rng::Rng;

/// Walks with return parameter p and in-out parameter q.
pub struct Node2Vec {
    first: Walk,
    /// For a first step; where no neighbour is common; where one may be.
    boards: [Board; 3],
    /// None if it makes no difference.
    triangles: Option<Triangles>,
    /// Σ w over the neighbours of each node, in a weighted graph.
    totals: Option<Vec<f64>>,
}

/// The heights of the bars, in parts of the height of the board.
struct Board {
    /// Of the way back, and what it has above the board.
    back: f64,
    apart: f64,
    /// Of nodes next to the one before.
    near: f64,
    /// Of all others.
    on: f64,
}

/// A walk on its way.
#[derive(Clone, Copy)]
struct Walker {
    before: Node,
    node: Node,
    /// Which stream it draws from.
    walk: u32,
    /// Which board it throws at.
    board: u32,
    /// Where its next node is written.
    out: usize,
}

impl Node2Vec {
    /// The memory of walks on a graph, the graph aside.
    pub fn bytes(graph: &Graph) -> u64 {
        let totals = if graph.is_weighted() { graph.nodes() as u64 * 8 } else { 0 };
        Walk::bytes(graph) + Triangles::bytes(graph) + totals
    }

    /// Prepares the steps. p and q are positive numbers; p = q = 1 is [`Walk`].
    pub fn new(graph: &Arc<Graph>, p: f64, q: f64) -> Result<Self> {
        for (name, value) in [("p", p), ("q", q)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::Option(format!("{name} is {value}; it takes a number above 0")));
            }
        }
        let (back, on) = (1.0 / p, 1.0 / q);
        let sums = || (0..graph.nodes() as Node).map(|node| graph.weighted_degree(node)).collect();
        Ok(Self {
            first: Walk::new(graph),
            boards: [
                Board::new(1.0, 1.0, 1.0),
                Board::new(back, on, on),
                Board::new(back, 1.0, on),
            ],
            triangles: ((on - 1.0).abs() > f64::EPSILON).then(|| Triangles::new(graph)),
            totals: graph.is_weighted().then(sums),
        })
    }

    /// The sum of the weights at `node`, and the weight of its edge to `before`.
    fn weights(&self, node: Node, before: Node) -> (f64, f64) {
        let graph = self.first.graph();
        match (&self.totals, graph.weights(node)) {
            (Some(totals), Some(weights)) => {
                let at = graph.neighbours(node).binary_search(&before);
                (totals[node as usize], at.map_or(0.0, |at| f64::from(weights[at])))
            }
            _ => (graph.degree(node) as f64, 1.0),
        }
    }

    /// Throws a dart: the place of the bar, and how high it lands. [`NOWHERE`] is beside all bars.
    #[inline]
    fn throw(&self, walker: Walker, rng: &mut Rng) -> (usize, f64) {
        let Walker { before, node, .. } = walker;
        let apart = self.boards[walker.board as usize].apart;
        if apart > 0.0 {
            let (bars, back) = self.weights(node, before);
            if rng.unit() * (bars + apart * back) >= bars {
                return (NOWHERE, 0.0);
            }
        }
        self.first.step_and_unit(node, rng)
    }

    /// Whether a dart hits the bar of this neighbour.
    #[inline]
    fn hits(&self, walker: Walker, next: Node, height: f64) -> bool {
        let board = &self.boards[walker.board as usize];
        if next == walker.before {
            height < board.back
        } else if height < board.near.min(board.on) {
            true
        } else if self.first.graph().has_edge(walker.before, next) {
            height < board.near
        } else {
            height < board.on
        }
    }

    /// The board for the step after one that was found at a place.
    #[inline]
    fn board(&self, place: usize) -> u32 {
        1 + u32::from(self.triangles.as_ref().is_some_and(|triangles| triangles.maybe(place)))
    }
}

impl Board {
    fn new(back: f64, near: f64, on: f64) -> Self {
        let height = near.max(on);
        Self {
            back: back / height,
            apart: (back / height - 1.0).max(0.0),
            near: near / height,
            on: on / height,
        }
    }
}

impl PositiveSource for Node2Vec {
    fn walk(&self, start: Node, rng: &mut Rng, out: &mut [Node]) -> usize {
        self.walks(&[start], std::slice::from_mut(rng), out);
        if self.first.graph().degree(start) > 0 { out.len() } else { out.len().min(1) }
    }

    fn walks(&self, starts: &[Node], rngs: &mut [Rng], out: &mut [Node]) {
        let (graph, targets, count) =
            (self.first.graph(), self.first.graph().targets(), starts.len());
        let Some(first) = out.get_mut(..count) else { return };
        first.copy_from_slice(starts);
        let start = |(walk, &node): (usize, &Node)| Walker {
            before: node,
            node,
            walk: walk as u32,
            board: 0,
            out: count + walk,
        };
        let mut walkers: Vec<Walker> = starts.iter().enumerate().map(start).collect();
        let mut darts = vec![(NOWHERE, 0.0); count];
        let mut left = if out.len() > count { count } else { 0 };
        while left > 0 {
            for (walker, dart) in walkers[..left].iter().zip(&mut darts) {
                *dart = self.throw(*walker, &mut rngs[walker.walk as usize]);
                graph.prefetch_target(dart.0);
                self.triangles.iter().for_each(|triangles| triangles.prefetch(dart.0));
            }
            let mut kept = 0;
            for at in 0..left {
                let (mut walker, (place, height)) = (walkers[at], darts[at]);
                // Beside all bars means return, or that there are no bars and the walk stays. The
                // edge is the same in both directions, and so is its board.
                let (next, hits, board) = match targets.get(place) {
                    None => (walker.before, true, walker.board),
                    Some(&next) => (next, self.hits(walker, next, height), self.board(place)),
                };
                graph.prefetch_places(next);
                out[walker.out] = next;
                if hits {
                    let (before, out) = (walker.node, walker.out + count);
                    walker = Walker { before, node: next, board, out, ..walker };
                }
                walkers[kept] = walker;
                kept += usize::from(walker.out < out.len());
            }
            left = kept;
        }
    }
}
