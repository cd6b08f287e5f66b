//! The paper's synthetic graphs (appendix B).
//!
//! 1. Expected degrees w are drawn from a power law with exponent x: P(w > t) = t^(1−x), t ≥ 1.
//! 2. Nodes u, v are linked with probability min(1, w_u w_v / Σw), independently.
//! 3. The components are connected by the fewest edges, one less than there are components.
//! 4. Labels start from k random nodes, one per class, and spread to unlabelled neighbours until
//!    every node has one.
//! 5. 10 % of the nodes are for training, 40 % for validation and 40 % for testing.
//!
//! The paper states neither its exponents nor how it connects components. Both follow from its
//! graphs: the numbers of edges are those of exponents 3, 2 and 1.5; the sparse and the moderate
//! graph have long chains (d_max 106 and 82), as they result from joining components two by two,
//! round after round; the dense one (d_max 4) has a star of edges at one node.

use super::{Components, Dataset, EdgeList, Graph, Labels, Node, NodeIds, Split, Splits};
use crate::error::{Error, Result};
use crate::rng::{Purpose, Rng};

/// One of the paper's three synthetic graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Preset {
    /// Exponent 3, 7 classes: mean degree about 2.5, d_max about 100
    Sparse,
    /// Exponent 2, 5 classes: mean degree about 6, d_max about 80
    Moderate,
    /// Exponent 1.5, 4 classes: mean degree about 15, d_max about 4
    Dense,
}

/// How components are connected, with the fewest edges in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Join {
    /// One random node per component is chosen; components are joined two by two, then the
    /// results two by two, and so on, each time by an edge between two chosen nodes
    Pairs,
    /// A random node of each component is joined to one node of the largest
    Star,
}

/// The settings of a synthetic graph.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SynthConfig {
    /// The exponent of the power law, above 1.
    pub exponent: f64,
    /// The number of nodes.
    pub nodes: usize,
    /// The number of classes.
    pub classes: usize,
    /// How components are joined.
    pub join: Join,
    /// The target mean degree. With a low exponent the degrees vary much between draws; the
    /// closest of 64 draws is taken. `None` takes the first.
    pub mean_degree: Option<f64>,
    /// The seed.
    pub seed: u64,
}

impl SynthConfig {
    /// The settings of one of the paper's graphs.
    pub fn preset(preset: Preset) -> Self {
        let (exponent, classes, join, mean_degree) = match preset {
            Preset::Sparse => (3.0, 7, Join::Pairs, 2.49),
            Preset::Moderate => (2.0, 5, Join::Pairs, 6.03),
            Preset::Dense => (1.5, 4, Join::Star, 15.24),
        };
        Self { exponent, nodes: 2000, classes, join, mean_degree: Some(mean_degree), seed: 0 }
    }

    fn validate(&self) -> Result<()> {
        if !(self.exponent.is_finite() && self.exponent > 1.0) {
            return Err(Error::option("exponent", self.exponent, "expected a number above 1"));
        }
        if self.nodes < 2 || self.nodes > 100_000_000 {
            return Err(Error::option("nodes", self.nodes, "expected 2 to 100000000"));
        }
        if self.classes < 1 || self.classes > self.nodes {
            let message = format!("expected 1 to {}, the number of nodes", self.nodes);
            return Err(Error::option("classes", self.classes, message));
        }
        Ok(())
    }
}

/// Generates a graph with labels and splits. The same settings give the same graph.
pub fn synth(config: &SynthConfig) -> Result<Dataset> {
    config.validate()?;
    let degrees = degrees(config);
    let mut pairs = chung_lu(&degrees, config.seed);
    let disconnected = build(config.nodes, pairs.clone())?;
    pairs.extend(joins(&disconnected, config));
    let graph = build(config.nodes, pairs)?;
    let labels = spread_labels(&graph, config);
    let splits = split(config.nodes, config.seed);
    Ok(Dataset { labels: Some(labels), splits: Some(splits), ..Dataset::of(graph) })
}

fn build(nodes: usize, pairs: Vec<(Node, Node)>) -> Result<Graph> {
    let ids = NodeIds::Range { start: 0, len: nodes };
    Ok(EdgeList { pairs, weights: None, ids }.build()?.0)
}

/// Expected degrees by node.
fn degrees(config: &SynthConfig) -> Vec<f64> {
    let draw = |attempt: u64| -> Vec<f64> {
        let mut rng = Rng::new(config.seed, Purpose::Degree, attempt, 0);
        // Inversion: 1 − unit is in (0, 1].
        let power = -1.0 / (config.exponent - 1.0);
        (0..config.nodes).map(|_| (1.0 - rng.unit()).powf(power)).collect()
    };
    let Some(target) = config.mean_degree else { return draw(0) };
    let miss = |attempt: &u64| (expected_mean_degree(&draw(*attempt), config) / target).ln().abs();
    let best = (0..64).min_by(|a, b| miss(a).total_cmp(&miss(b))).unwrap_or(0);
    draw(best)
}

/// 2 Σ_{u<v} min(1, w_u w_v / Σw) / n, plus the joining edges, about one per component. Most
/// components are single nodes; a node is isolated with probability e^(−expected degree).
fn expected_mean_degree(degrees: &[f64], config: &SynthConfig) -> f64 {
    let n = degrees.len();
    let mut w = degrees.to_vec();
    w.sort_by(|a, b| b.total_cmp(a));
    let total: f64 = w.iter().sum();
    let mut tail = vec![0.0; n + 1];
    for v in (0..n).rev() {
        tail[v] = tail[v + 1] + w[v];
    }
    // In decreasing order of w, the v that are linked to u with probability 1 come first, and for
    // each following u there are no more of them.
    let (mut sum, mut isolated) = (0.0, 0.0);
    let mut certain = n;
    for u in 0..n {
        while certain > 0 && w[u] * w[certain - 1] < total {
            certain -= 1;
        }
        let own = if u < certain { 1.0 } else { w[u] * w[u] / total };
        let degree = certain as f64 + w[u] * tail[certain] / total - own;
        sum += degree;
        isolated += (-degree).exp();
    }
    let joins = isolated.min(config.nodes as f64 - 1.0);
    (sum + 2.0 * joins) / n as f64
}

/// Links each pair with probability min(1, w_u w_v / Σw). In decreasing order of w the
/// probability for a fixed u never increases, so sequences of absent edges are skipped at once: the
/// gap to the next candidate at probability p is geometric, and a candidate of probability q < p
/// is accepted with q / p (Miller and Hagberg, *Efficient generation of networks with given
/// expected degrees*, 2011). Every u has its own random stream.
fn chung_lu(degrees: &[f64], seed: u64) -> Vec<(Node, Node)> {
    let mut order: Vec<Node> = (0..degrees.len() as Node).collect();
    order.sort_by(|&a, &b| degrees[b as usize].total_cmp(&degrees[a as usize]));
    let w: Vec<f64> = order.iter().map(|&node| degrees[node as usize]).collect();
    let total: f64 = w.iter().sum();
    let mut pairs = Vec::new();
    for u in 0..w.len().saturating_sub(1) {
        let mut rng = Rng::new(seed, Purpose::Edge, 0, u64::from(order[u]));
        let mut v = u + 1;
        let mut p = (w[u] * w[v] / total).min(1.0);
        while v < w.len() && p > 0.0 {
            if p < 1.0 {
                let gap = ((1.0 - rng.unit()).ln() / (-p).ln_1p()).floor();
                v = v.saturating_add(gap as usize);
            }
            if v < w.len() {
                let q = (w[u] * w[v] / total).min(1.0);
                if rng.unit() * p < q {
                    pairs.push((order[u], order[v]));
                }
                p = q;
                v += 1;
            }
        }
    }
    pairs
}

fn joins(graph: &Graph, config: &SynthConfig) -> Vec<(Node, Node)> {
    let components = Components::new(graph);
    let mut members: Vec<Vec<Node>> = vec![Vec::new(); components.len()];
    for node in 0..graph.nodes() as Node {
        members[components.of(node)].push(node);
    }
    let mut rng = Rng::new(config.seed, Purpose::Join, 0, 0);
    let mut pick = |nodes: &[Node]| nodes[rng.below(nodes.len())];
    let mut joins = Vec::new();
    match config.join {
        Join::Star => {
            let largest = components.largest();
            let centre = pick(&members[largest]);
            for (component, nodes) in members.iter().enumerate() {
                if component != largest {
                    joins.push((centre, pick(nodes)));
                }
            }
        }
        Join::Pairs => {
            let mut chosen: Vec<Vec<Node>> =
                members.iter().map(|nodes| vec![pick(nodes)]).collect();
            while chosen.len() > 1 {
                let mut round = Vec::with_capacity(chosen.len().div_ceil(2));
                let mut rest = chosen.into_iter();
                while let Some(mut first) = rest.next() {
                    if let Some(second) = rest.next() {
                        joins.push((pick(&first), pick(&second)));
                        first.extend(second);
                    }
                    round.push(first);
                }
                chosen = round;
            }
        }
    }
    joins
}

/// In each step, every unlabelled node with labelled neighbours takes the label of a random one.
fn spread_labels(graph: &Graph, config: &SynthConfig) -> Labels {
    const NONE: u32 = u32::MAX;
    let mut nodes: Vec<Node> = (0..graph.nodes() as Node).collect();
    let mut rng = Rng::new(config.seed, Purpose::Label, 0, 0);
    rng.shuffle(&mut nodes);
    let mut label = vec![NONE; graph.nodes()];
    let mut frontier: Vec<Node> = nodes[..config.classes].to_vec();
    for (class, &node) in frontier.iter().enumerate() {
        label[node as usize] = class as u32;
    }
    while !frontier.is_empty() {
        let mut next: Vec<Node> = frontier
            .iter()
            .flat_map(|&node| graph.neighbours(node))
            .copied()
            .filter(|&node| label[node as usize] == NONE)
            .collect();
        next.sort_unstable();
        next.dedup();
        let new: Vec<u32> = next
            .iter()
            .map(|&node| {
                let labels = graph.neighbours(node).iter().map(|&other| label[other as usize]);
                let labels: Vec<u32> = labels.filter(|&label| label != NONE).collect();
                labels[rng.below(labels.len())]
            })
            .collect();
        for (&node, new) in next.iter().zip(new) {
            label[node as usize] = new;
        }
        frontier = next;
    }
    Labels {
        names: (0..config.classes).map(|class| class.to_string()).collect(),
        of: label.into_iter().map(|label| vec![label]).collect(),
    }
}

fn split(nodes: usize, seed: u64) -> Splits {
    let mut order: Vec<usize> = (0..nodes).collect();
    Rng::new(seed, Purpose::Split, 0, 0).shuffle(&mut order);
    let mut splits = vec![None; nodes];
    for (rank, node) in order.into_iter().enumerate() {
        splits[node] = match 10 * rank / nodes {
            0 => Some(Split::Train),
            1..5 => Some(Split::Val),
            5..9 => Some(Split::Test),
            _ => None,
        };
    }
    splits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_follow_their_probabilities() {
        // Four nodes, 4000 graphs: the frequency of each edge against min(1, w_u w_v / Σw).
        let w = [3.0, 0.5, 1.0, 2.0];
        let mut seen = [[0_u32; 4]; 4];
        for seed in 0..4000 {
            for (a, b) in chung_lu(&w, seed) {
                seen[a.min(b) as usize][a.max(b) as usize] += 1;
            }
        }
        for a in 0..4 {
            for b in a + 1..4 {
                let p: f64 = (w[a] * w[b] / 6.5_f64).min(1.0);
                let found = f64::from(seen[a][b]) / 4000.0;
                let deviation = (p * (1.0 - p) / 4000.0).sqrt();
                assert!((found - p).abs() <= 4.0 * deviation, "{a}–{b}: {found} for {p}");
            }
        }
    }

    #[test]
    fn mean_degrees_are_as_expected() {
        for preset in [Preset::Sparse, Preset::Moderate, Preset::Dense] {
            let config = SynthConfig::preset(preset);
            let expected = expected_mean_degree(&degrees(&config), &config);
            let graph = synth(&config).unwrap().graph;
            let found = graph.arcs() as f64 / graph.nodes() as f64;
            assert!((found / expected - 1.0).abs() < 0.05, "{preset:?}: {found} for {expected}");
        }
    }

    #[test]
    fn presets_are_close_to_the_papers_table_1() {
        for (preset, edges, classes) in
            [(Preset::Sparse, 4982, 7), (Preset::Moderate, 12062, 5), (Preset::Dense, 30472, 4)]
        {
            for seed in 0..4 {
                let config = SynthConfig { seed, ..SynthConfig::preset(preset) };
                let dataset = synth(&config).unwrap();
                let found = dataset.graph.arcs();
                let off = found as f64 / f64::from(edges) - 1.0;
                assert!(off.abs() < 0.1, "{preset:?}, seed {seed}: {found} directed edges");
                assert_eq!(Components::new(&dataset.graph).len(), 1);
                let labels = dataset.labels.unwrap();
                assert_eq!(labels.classes(), classes);
                assert!(labels.of.iter().all(|of| of.len() == 1));
                let count = |part| {
                    dataset.splits.as_ref().unwrap().iter().filter(|s| **s == Some(part)).count()
                };
                assert_eq!(count(Split::Train), 200);
                assert_eq!(count(Split::Val), 800);
                assert_eq!(count(Split::Test), 800);
            }
        }
    }

    #[test]
    fn components_are_joined_by_the_fewest_edges() {
        let disconnected = build(9, vec![(0, 1), (2, 3), (3, 4)]).unwrap();
        let components = Components::new(&disconnected).len();
        for join in [Join::Pairs, Join::Star] {
            let config = SynthConfig { join, ..SynthConfig::preset(Preset::Sparse) };
            let joins = joins(&disconnected, &config);
            assert_eq!(joins.len(), components - 1);
            let all = [vec![(0, 1), (2, 3), (3, 4)], joins].concat();
            assert_eq!(Components::new(&build(9, all).unwrap()).len(), 1);
        }
    }

    #[test]
    fn invalid_settings_are_refused() {
        let preset = SynthConfig::preset(Preset::Sparse);
        for exponent in [1.0, 0.5, f64::NAN, f64::INFINITY] {
            assert!(synth(&SynthConfig { exponent, ..preset.clone() }).is_err());
        }
        assert!(synth(&SynthConfig { nodes: 1, ..preset.clone() }).is_err());
        assert!(synth(&SynthConfig { classes: 0, ..preset.clone() }).is_err());
        assert!(synth(&SynthConfig { classes: 2001, ..preset }).is_err());
    }
}
