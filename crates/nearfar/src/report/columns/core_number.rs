//! Core numbers: the largest k such that a node is in a subgraph whose degrees are all at least k.
//!
//! Nodes are removed in order of their remaining degree, which is their core number when they go
//! (Batagelj and Zaveršnik, *An O(m) algorithm for cores decomposition of networks*, 2003). Nodes are
//! sorted by degree in buckets; where a degree falls by one, the node swaps with the first of its
//! bucket, whose start then moves.

use crate::graph::{Graph, Node};

/// The core number of each node.
pub(super) fn core_numbers(graph: &Graph) -> Vec<f32> {
    let nodes = graph.nodes();
    let mut degree: Vec<usize> = (0..nodes as Node).map(|node| graph.degree(node)).collect();
    let largest = degree.iter().copied().max().unwrap_or(0);
    let mut start = vec![0; largest + 2];
    for &degree in &degree {
        start[degree + 1] += 1;
    }
    (1..start.len()).for_each(|at| start[at] += start[at - 1]);
    let mut order = vec![0 as Node; nodes];
    let mut place = vec![0; nodes];
    let mut next = start.clone();
    for (node, &degree) in degree.iter().enumerate() {
        place[node] = next[degree];
        order[next[degree]] = node as Node;
        next[degree] += 1;
    }
    for at in 0..nodes {
        let node = order[at];
        for &other in graph.neighbours(node) {
            let of = degree[other as usize];
            if of <= degree[node as usize] {
                continue;
            }
            let first = start[of].max(at + 1);
            let swapped = order[first];
            order.swap(first, place[other as usize]);
            place.swap(swapped as usize, other as usize);
            start[of] = first + 1;
            degree[other as usize] = of - 1;
        }
    }
    degree.into_iter().map(|core| core as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{ReadOptions, read};

    /// The oracle removes nodes of too small a degree until none is left, for every k.
    #[test]
    fn core_numbers_match_repeated_removal() {
        for source in ["builtin:karate", "builtin:sparse"] {
            let graph = read(source, &ReadOptions::default()).unwrap().graph;
            let mut naive = vec![0.0; graph.nodes()];
            let mut kept: Vec<bool> = vec![true; graph.nodes()];
            for k in 1.. {
                loop {
                    let degree = |node: usize| {
                        let near = graph.neighbours(node as Node).iter();
                        near.filter(|&&other| kept[other as usize]).count()
                    };
                    let gone: Vec<usize> =
                        (0..kept.len()).filter(|&node| kept[node] && degree(node) < k).collect();
                    if gone.is_empty() {
                        break;
                    }
                    for node in gone {
                        kept[node] = false;
                    }
                }
                if !kept.contains(&true) {
                    break;
                }
                (0..kept.len()).filter(|&node| kept[node]).for_each(|node| naive[node] = k as f32);
            }
            assert_eq!(core_numbers(&graph), naive, "{source}");
        }
    }
}
