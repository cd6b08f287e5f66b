//! Communities by the Louvain method (Blondel et al., *Fast unfolding of communities in large
//! networks*, 2008): nodes move to the community with the largest gain in modularity until none moves;
//! then communities become nodes, and the procedure repeats. Nodes move in row order, so the result is
//! the same in every run.

use crate::cancel;
use crate::graph::{Graph, Node};

/// A weighted graph in compressed rows. A self-loop is in its row once, with the weight of both
/// directions.
struct Level {
    starts: Vec<usize>,
    arcs: Vec<(u32, f64)>,
}

/// The community of each node, numbered by first appearance.
pub(super) fn communities(graph: &Graph) -> Vec<u32> {
    let nodes = graph.nodes();
    let mut starts = vec![0];
    let mut arcs = Vec::with_capacity(graph.arcs());
    for node in 0..nodes as Node {
        arcs.extend(graph.neighbours(node).iter().map(|&other| (other, 1.0)));
        starts.push(arcs.len());
    }
    let mut level = Level { starts, arcs };
    let mut of: Vec<u32> = (0..nodes as u32).collect();
    loop {
        let (moved, count) = numbered(&level.move_nodes());
        for community in &mut of {
            *community = moved[*community as usize];
        }
        if count == level.nodes() {
            return of;
        }
        level = level.aggregate(&moved, count);
    }
}

impl Level {
    fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    fn row(&self, node: usize) -> &[(u32, f64)] {
        &self.arcs[self.starts[node]..self.starts[node + 1]]
    }

    /// Moves nodes until no move increases modularity, or twenty times each.
    fn move_nodes(&self) -> Vec<u32> {
        const PASSES: usize = 20;
        let nodes = self.nodes();
        let mut of: Vec<u32> = (0..nodes as u32).collect();
        let weight = |node| self.row(node).iter().map(|arc| arc.1).sum::<f64>();
        let degrees: Vec<f64> = (0..nodes).map(weight).collect();
        let total = degrees.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let mut sums = degrees.clone();
        let mut links = vec![0.0; nodes];
        let mut near = Vec::new();
        for _ in 0..PASSES {
            cancel::check();
            let mut gained = false;
            for node in 0..nodes {
                for &(other, weight) in self.row(node) {
                    if other as usize != node {
                        let community = of[other as usize];
                        if links[community as usize] == 0.0 {
                            near.push(community);
                        }
                        links[community as usize] += weight;
                    }
                }
                let own = of[node];
                sums[own as usize] -= degrees[node];
                let gain = |community: u32| {
                    let at = community as usize;
                    links[at] - sums[at] * degrees[node] / total
                };
                let best = near.iter().fold(own, |best, &community| {
                    if gain(community) > gain(best) + 1e-9 { community } else { best }
                });
                sums[best as usize] += degrees[node];
                gained |= best != own;
                of[node] = best;
                for community in near.drain(..) {
                    links[community as usize] = 0.0;
                }
            }
            if !gained {
                break;
            }
        }
        of
    }

    /// The graph of communities.
    fn aggregate(&self, of: &[u32], count: usize) -> Self {
        let mut members: Vec<u32> = (0..self.nodes() as u32).collect();
        members.sort_by_key(|&node| of[node as usize]);
        let mut next = Self { starts: vec![0], arcs: Vec::new() };
        let mut sums = vec![0.0; count];
        let mut near = Vec::new();
        for group in members.chunk_by(|&a, &b| of[a as usize] == of[b as usize]) {
            for &(other, weight) in group.iter().flat_map(|&node| self.row(node as usize)) {
                let community = of[other as usize];
                if sums[community as usize] == 0.0 {
                    near.push(community);
                }
                sums[community as usize] += weight;
            }
            near.sort_unstable();
            let take = |community: u32| (community, std::mem::take(&mut sums[community as usize]));
            next.arcs.extend(near.drain(..).map(take));
            next.starts.push(next.arcs.len());
        }
        next
    }
}

/// The same communities, numbered by first appearance, and their number.
fn numbered(of: &[u32]) -> (Vec<u32>, usize) {
    let mut numbers = vec![u32::MAX; of.len()];
    let mut count = 0;
    let number = |&community: &u32| {
        let number = &mut numbers[community as usize];
        if *number == u32::MAX {
            *number = count;
            count += 1;
        }
        *number
    };
    let numbered = of.iter().map(number).collect();
    (numbered, count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{ReadOptions, read};

    fn modularity(graph: &Graph, of: &[u32]) -> f64 {
        let arcs = graph.arcs() as f64;
        let mut sums = vec![0.0; graph.nodes()];
        let mut inside = 0.0;
        for node in 0..graph.nodes() as Node {
            sums[of[node as usize] as usize] += graph.degree(node) as f64 / arcs;
            let same = |other: &&Node| of[**other as usize] == of[node as usize];
            inside += graph.neighbours(node).iter().filter(same).count() as f64 / arcs;
        }
        inside - sums.iter().map(|sum| sum * sum).sum::<f64>()
    }

    /// The optimum for the karate club is 0.4198.
    #[test]
    fn communities_have_high_modularity() {
        let karate = read("builtin:karate", &ReadOptions::default()).unwrap().graph;
        assert!(modularity(&karate, &communities(&karate)) > 0.40);
        let sparse = read("builtin:sparse", &ReadOptions::default()).unwrap().graph;
        let of = communities(&sparse);
        assert!(modularity(&sparse, &of) > 0.3);
        // Numbered by first appearance.
        let first: Vec<u32> =
            (0..of.len()).filter(|&at| !of[..at].contains(&of[at])).map(|at| of[at]).collect();
        assert!(first.iter().enumerate().all(|(at, &community)| at == community as usize));
    }
}
