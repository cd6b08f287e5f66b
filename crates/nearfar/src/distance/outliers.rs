//! The paper's outlier test (appendix C): nodes with the label of a distant class.

use super::levels::Levels;
use crate::error::{Error, Problem, Result};
use crate::graph::{Dataset, EdgeList, Labels, Node, NodeIds, Split, StringIds};
use crate::rng::{Purpose, Rng};

/// The settings of the outlier test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlierConfig {
    /// The number of outliers.
    pub count: usize,
    /// The seed.
    pub seed: u64,
}

/// Adds outliers to a labelled graph. Each is a new node with the label of some class and one edge,
/// to a random one of the nodes farthest from that class. Classes alternate. Outliers have the ids
/// `outlier-0`, `outlier-1`, …, follow all other rows, and belong to the training split if there
/// are splits, so that a classifier is trained on them.
pub fn outliers(dataset: &Dataset, config: &OutlierConfig) -> Result<Dataset> {
    let labels = dataset.labels.as_ref().ok_or_else(|| {
        Error::graph("outliers need labels; give a dataset folder with labels.tsv")
    })?;
    let graph = &dataset.graph;
    if graph.is_directed() {
        let problem = Problem::from("outliers are added to undirected graphs");
        return Err(Error::graph(problem.omit("directed")));
    }
    let n = graph.nodes();
    let farthest = farthest_by_class(dataset, labels);
    let classes: Vec<usize> = (0..farthest.len()).filter(|&c| !farthest[c].is_empty()).collect();
    if classes.is_empty() {
        return Err(Error::graph(
            "every node has every label, or no path to the classes it lacks; outliers need a \
             class that some node is far from",
        ));
    }
    let mut ids: StringIds = (0..n as Node).map(|row| graph.ids().get(row)).collect();
    let mut pairs: Vec<(Node, Node)> = Vec::new();
    let mut weights = graph.is_weighted().then(Vec::new);
    for (a, b, weight) in graph.edges_once() {
        pairs.push((a, b));
        if let Some(weights) = &mut weights {
            weights.extend(weight);
        }
    }
    let mut new_labels = labels.clone();
    let mut splits = dataset.splits.clone();
    let mut rng = Rng::new(config.seed, Purpose::Outlier, 0, 0);
    for number in 0..config.count {
        let class = classes[number % classes.len()];
        let host = farthest[class][rng.below(farthest[class].len())];
        let row = n + number;
        if ids.insert(&format!("outlier-{number}")) as usize != row {
            let message = format!("the graph has a node outlier-{number} already; rename it");
            return Err(Error::graph(message));
        }
        pairs.push((host, row as Node));
        if let Some(weights) = &mut weights {
            weights.push(1.0);
        }
        new_labels.of.push(vec![class as u32]);
        if let Some(splits) = &mut splits {
            splits.push(Some(Split::Train));
        }
    }
    let (graph, _) = EdgeList { pairs, weights, ids: NodeIds::StringIds(ids) }.build()?;
    Ok(Dataset { labels: Some(new_labels), splits, ..Dataset::of(graph) })
}

/// For each class, the nodes with the most hops to its nearest member, among those with a path to
/// one. Empty if every such node is a member.
fn farthest_by_class(dataset: &Dataset, labels: &Labels) -> Vec<Vec<Node>> {
    let mut members: Vec<Vec<Node>> = vec![Vec::new(); labels.names.len()];
    for (row, of) in labels.of.iter().enumerate() {
        for &label in of {
            members[label as usize].push(row as Node);
        }
    }
    let mut levels = Levels::default();
    members
        .iter()
        .map(|members| {
            levels.search(&dataset.graph, members);
            match levels.eccentricity() {
                0 => Vec::new(),
                hops => levels.level(hops as usize).to_vec(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{ReadOptions, read};

    #[test]
    fn outliers_are_far_from_their_class() {
        let before = read("builtin:sparse", &ReadOptions::default()).unwrap();
        let after = outliers(&before, &OutlierConfig { count: 20, seed: 1 }).unwrap();
        assert_eq!(after.graph.nodes(), before.graph.nodes() + 20);
        assert_eq!(after.graph.edges(), before.graph.edges() + 20);
        let labels = before.labels.as_ref().unwrap();
        for number in 0..20 {
            let row = after.graph.ids().find(&format!("outlier-{number}")).unwrap();
            assert_eq!(row as usize, before.graph.nodes() + number);
            let [host] = after.graph.neighbours(row) else { panic!("one edge") };
            let class = after.labels.as_ref().unwrap().of[row as usize][0];
            let nearest_member = |node: Node| {
                let hops = Levels::new(&before.graph, node).hops();
                let members = (0..hops.len()).filter(|&k| labels.of[k].contains(&class));
                members.filter_map(|k| hops[k]).min().unwrap()
            };
            let farthest =
                (0..before.graph.nodes() as Node).step_by(37).map(nearest_member).max().unwrap();
            assert!(nearest_member(*host) >= farthest.max(2));
            assert_eq!(after.splits.as_ref().unwrap()[row as usize], Some(Split::Train));
        }
    }

    #[test]
    fn a_graph_without_labels_is_refused() {
        let mut dataset = read("builtin:karate", &ReadOptions::default()).unwrap();
        dataset.labels = None;
        assert!(outliers(&dataset, &OutlierConfig { count: 1, seed: 0 }).is_err());
    }
}
