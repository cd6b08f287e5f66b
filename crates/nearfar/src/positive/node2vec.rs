//! Second-order walks: node2vec.
//!
//! # Derivation
//!
//! A walk that came from node t to v continues to a neighbour x of v with probability
//! ∝ w(v,x) α(x):
//!
//! ```text
//! α(x) = 1/p   if x = t                (return)
//!        1     if x is adjacent to t
//!        1/q   otherwise               (move outward)
//! ```
//!
//! An alias table for each pair (t, v) would take memory ∝ the number of paths of two edges, which
//! is too much for large graphs. Rejection takes none: propose x ∝ w(v,x), and accept it with
//! probability α(x) / M, where the envelope M is max(1, 1/q). A 1/p above that would raise M because
//! of a single neighbour, so its excess over M is a separate outcome of weight w(v,t) (1/p − M) that
//! means return (the outlier of Yang et al., *KnightKing*, SOSP 2019).
//!
//! With q = 4 three of four proposals are rejected, each after a search for x among the neighbours
//! of t. But where t and v have no common neighbour, no x is adjacent to t, 1/q is an envelope, and
//! every proposal other than t is accepted. One bit per arc tells where ([`Triangles`]).
//!
//! Walks are interleaved: in each round every walk makes one proposal, and those whose proposal is
//! accepted advance. No walk waits for another, and their cache misses overlap.

use std::sync::Arc;

use super::triangles::Triangles;
use super::walk::NO_ARC;
use super::{PositiveSource, Walk};
use crate::error::{Error, Result};
use crate::graph::{Graph, Node};
use crate::rng::Rng;

/// Walks with return parameter p and in-out parameter q.
pub struct Node2Vec {
    first_order: Walk,
    /// For the first step; for v and t without a common neighbour; for those that may have one.
    envelopes: [Envelope; 3],
    /// `None` if q = 1: the last two envelopes are then equal.
    triangles: Option<Triangles>,
    /// Σ w over the neighbours of each node, in a weighted graph.
    totals: Option<Vec<f64>>,
}

/// Acceptance probabilities: α / M by the kind of neighbour.
struct Envelope {
    /// Of the previous node. Above 1 if 1/p > M.
    back: f64,
    /// The excess of `back` over 1.
    excess: f64,
    /// Of nodes adjacent to the previous one.
    adjacent: f64,
    /// Of all others.
    outward: f64,
}

/// The state of one walk.
#[derive(Clone, Copy)]
struct Walker {
    before: Node,
    node: Node,
    /// The index of its stream.
    walk: u32,
    /// The index of its envelope.
    envelope: u32,
    /// The index in the output of its next node.
    out: usize,
}

impl Node2Vec {
    /// The memory in addition to the graph.
    pub fn bytes(graph: &Graph) -> u64 {
        let totals = if graph.is_weighted() { graph.nodes() as u64 * 8 } else { 0 };
        Walk::bytes(graph) + Triangles::bytes(graph) + totals
    }

    /// Prepares the steps. `p` and `q` are above 0; p = q = 1 gives the distribution of [`Walk`].
    pub fn new(graph: &Arc<Graph>, p: f64, q: f64) -> Result<Self> {
        Self::with_centre_power(graph, p, q, 0.0)
    }

    /// The same, with the number of walks from a node ∝ its (weighted) degree^power.
    pub fn with_centre_power(graph: &Arc<Graph>, p: f64, q: f64, power: f64) -> Result<Self> {
        for (name, value) in [("p", p), ("q", q)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::option(name, value, "expected a number above 0"));
            }
        }
        let (back, outward) = (1.0 / p, 1.0 / q);
        let sums = || (0..graph.nodes() as Node).map(|node| graph.weighted_degree(node)).collect();
        Ok(Self {
            first_order: Walk::with_centre_power(graph, power),
            envelopes: [
                Envelope::new(1.0, 1.0, 1.0),
                Envelope::new(back, outward, outward),
                Envelope::new(back, 1.0, outward),
            ],
            triangles: ((outward - 1.0).abs() > f64::EPSILON).then(|| Triangles::new(graph)),
            totals: graph.is_weighted().then(sums),
        })
    }

    /// The sum of the weights at `node`, and the weight of its edge to `before`.
    fn weights(&self, node: Node, before: Node) -> (f64, f64) {
        let graph = self.first_order.graph();
        match (&self.totals, graph.weights(node)) {
            (Some(totals), Some(weights)) => {
                let index = graph.neighbours(node).binary_search(&before);
                (totals[node as usize], index.map_or(0.0, |index| f64::from(weights[index])))
            }
            _ => (graph.degree(node) as f64, 1.0),
        }
    }

    /// Proposes an arc, with a uniform number in [0, 1) for its acceptance. [`NO_ARC`] means return
    /// by the excess, or that the node has no neighbours.
    #[inline]
    fn propose(&self, walker: Walker, rng: &mut Rng) -> (usize, f64) {
        let Walker { before, node, .. } = walker;
        let excess = self.envelopes[walker.envelope as usize].excess;
        if excess > 0.0 {
            let (total, back) = self.weights(node, before);
            if rng.unit() * (total + excess * back) >= total {
                return (NO_ARC, 0.0);
            }
        }
        self.first_order.step_and_unit(node, rng)
    }

    /// Whether a proposal is accepted.
    #[inline]
    fn accepts(&self, walker: Walker, next: Node, unit: f64) -> bool {
        let envelope = &self.envelopes[walker.envelope as usize];
        if next == walker.before {
            unit < envelope.back
        } else if unit < envelope.adjacent.min(envelope.outward) {
            true
        } else if self.first_order.graph().has_edge(walker.before, next) {
            unit < envelope.adjacent
        } else {
            unit < envelope.outward
        }
    }

    /// The index of the envelope for the step after one along this arc.
    #[inline]
    fn envelope(&self, arc: usize) -> u32 {
        1 + u32::from(self.triangles.as_ref().is_some_and(|triangles| triangles.maybe(arc)))
    }
}

impl Envelope {
    fn new(back: f64, adjacent: f64, outward: f64) -> Self {
        let height = adjacent.max(outward);
        Self {
            back: back / height,
            excess: (back / height - 1.0).max(0.0),
            adjacent: adjacent / height,
            outward: outward / height,
        }
    }
}

impl PositiveSource for Node2Vec {
    fn walks_from(&self, start: Node, walks: usize, rng: &mut Rng) -> usize {
        self.first_order.walks_from(start, walks, rng)
    }

    fn walk(&self, start: Node, rng: &mut Rng, out: &mut [Node]) -> usize {
        self.walks(&[start], std::slice::from_mut(rng), out);
        if self.first_order.graph().degree(start) > 0 { out.len() } else { out.len().min(1) }
    }

    fn walks(&self, starts: &[Node], rngs: &mut [Rng], out: &mut [Node]) {
        let (graph, targets, count) =
            (self.first_order.graph(), self.first_order.graph().targets(), starts.len());
        let Some(first) = out.get_mut(..count) else { return };
        first.copy_from_slice(starts);
        let start = |(walk, &node): (usize, &Node)| Walker {
            before: node,
            node,
            walk: walk as u32,
            envelope: 0,
            out: count + walk,
        };
        let mut walkers: Vec<Walker> = starts.iter().enumerate().map(start).collect();
        let mut proposals = vec![(NO_ARC, 0.0); count];
        let mut active = if out.len() > count { count } else { 0 };
        while active > 0 {
            for (walker, proposal) in walkers[..active].iter().zip(&mut proposals) {
                *proposal = self.propose(*walker, &mut rngs[walker.walk as usize]);
                graph.prefetch_target(proposal.0);
                self.triangles.iter().for_each(|triangles| triangles.prefetch(proposal.0));
            }
            let mut unfinished = 0;
            for i in 0..active {
                let (mut walker, (arc, unit)) = (walkers[i], proposals[i]);
                // Without an arc the walk returns, or stays at a node without neighbours. The way
                // back is along the same edge, so the envelope stays the same.
                let (next, accepted, envelope) = match targets.get(arc) {
                    None => (walker.before, true, walker.envelope),
                    Some(&next) => (next, self.accepts(walker, next, unit), self.envelope(arc)),
                };
                graph.prefetch_places(next);
                out[walker.out] = next;
                if accepted {
                    let (before, out) = (walker.node, walker.out + count);
                    walker = Walker { before, node: next, envelope, out, ..walker };
                }
                walkers[unfinished] = walker;
                unfinished += usize::from(walker.out < out.len());
            }
            active = unfinished;
        }
    }
}
