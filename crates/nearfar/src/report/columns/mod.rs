//! What is known of every node, to colour, filter and show by: labels, the user's columns, and the
//! node's place in the graph.

mod community;
mod core_number;
mod file;

use std::cmp::Reverse;

use super::Subject;
use crate::graph::{Components, Graph, Labels, Node};
use community::communities;
use core_number::core_numbers;
pub use file::Columns;

/// A value for every node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) values: Values,
}

/// The values of a column, by row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Values {
    /// An index into the names of groups, or [`NO_GROUP`].
    Groups { names: Vec<String>, of: Vec<u16> },
    /// Numbers; NaN where there is none.
    Numbers(Vec<f32>),
    /// Texts that are no groups, as most of them differ: shown, not coloured by.
    Texts(Vec<String>),
}

/// Nodes without a group.
pub(super) const NO_GROUP: u16 = u16::MAX;

/// All columns: labels first, then the user's, then those of the graph.
pub(super) fn columns(subject: &Subject) -> Vec<Column> {
    let column = |name: &str, values| Column { name: name.to_owned(), values };
    let mut all = Vec::new();
    all.extend(subject.labels.map(|labels| column("label", of_labels(labels))));
    all.extend(subject.columns.into_iter().flat_map(|columns| columns.list.iter().cloned()));
    if let Some(graph) = subject.graph {
        let nodes = 0..graph.nodes() as Node;
        let components = Components::new(graph);
        let component: Vec<u32> = nodes.clone().map(|node| components.of(node) as u32).collect();
        let degree = nodes.map(|node| graph.degree(node) as f32).collect();
        all.extend([
            column("community", subgraphs(graph, &communities(graph), "community")),
            column("component", subgraphs(graph, &component, "component")),
            column("degree", Values::Numbers(degree)),
            column("core number", Values::Numbers(core_numbers(graph))),
        ]);
    }
    all
}

impl Column {
    /// The values of some nodes, in that order.
    pub(super) fn select(&self, nodes: &[Node]) -> Self {
        let values = match &self.values {
            Values::Groups { names, of } => Values::Groups {
                names: names.clone(),
                of: nodes.iter().map(|&node| of[node as usize]).collect(),
            },
            Values::Numbers(numbers) => {
                Values::Numbers(nodes.iter().map(|&node| numbers[node as usize]).collect())
            }
            Values::Texts(texts) => {
                Values::Texts(nodes.iter().map(|&node| texts[node as usize].clone()).collect())
            }
        };
        Self { name: self.name.clone(), values }
    }
}

/// The first label of each node.
fn of_labels(labels: &Labels) -> Values {
    let first = |of: &Vec<u32>| of.first().map_or(NO_GROUP, |&label| label.min(65_534) as u16);
    Values::Groups { names: labels.names.clone(), of: labels.of.iter().map(first).collect() }
}

/// Components or communities by descending size, each named by a node of the highest degree in it.
/// Beyond the largest 1000, and of single nodes, they are one group.
fn subgraphs(graph: &Graph, of: &[u32], kind: &str) -> Values {
    const MOST: usize = 1000;
    let count = of.iter().max().map_or(0, |&last| last as usize + 1);
    let mut sizes = vec![0_usize; count];
    let mut hubs = vec![0 as Node; count];
    for (node, &at) in of.iter().enumerate().rev() {
        let at = at as usize;
        let better = graph.degree(node as Node) >= graph.degree(hubs[at]);
        if sizes[at] == 0 || better {
            hubs[at] = node as Node;
        }
        sizes[at] += 1;
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&at| (Reverse(sizes[at]), at));
    let named = order.iter().take(MOST).take_while(|&&at| sizes[at] > 1).count();
    let mut group = vec![named as u16; count];
    for (rank, &at) in order.iter().take(named).enumerate() {
        group[at] = rank as u16;
    }
    let mut names: Vec<String> = order[..named]
        .iter()
        .map(|&at| format!("{kind} of {}", graph.ids().get(hubs[at])))
        .collect();
    if named < count {
        names.push(if named < MOST { "single nodes" } else { "smaller ones" }.to_owned());
    }
    Values::Groups { names, of: of.iter().map(|&at| group[at as usize]).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{ReadOptions, read};

    #[test]
    fn subgraphs_are_named_by_their_hubs_the_largest_first() {
        let karate = read("builtin:karate", &ReadOptions::default()).unwrap().graph;
        let mut of = vec![0_u32; 34];
        of[33] = 1;
        (30..33).for_each(|node| of[node] = 2);
        let Values::Groups { names, of } = subgraphs(&karate, &of, "part") else { panic!() };
        assert_eq!(names, ["part of 0", "part of 32", "single nodes"]);
        assert_eq!((of[0], of[31], of[33]), (0, 1, 2));
    }
}
