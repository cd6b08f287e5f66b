//! Naive reference implementations: one search per source, one formula per sampling distribution.

use nearfar::graph::{Graph, Node};

/// Hops from one node to all nodes.
pub(crate) fn hops(graph: &Graph, source: usize) -> Vec<Option<u32>> {
    let mut hops = vec![None; graph.nodes()];
    hops[source] = Some(0);
    let mut at = 0;
    loop {
        let mut changed = false;
        for node in 0..graph.nodes() {
            if hops[node] == Some(at) {
                for &next in graph.neighbours(node as Node) {
                    if hops[next as usize].is_none() {
                        hops[next as usize] = Some(at + 1);
                        changed = true;
                    }
                }
            }
        }
        if !changed {
            return hops;
        }
        at += 1;
    }
}

/// Distances between all pairs, `far` where there is no path.
pub(crate) struct Distances {
    pub(crate) d: Vec<Vec<f64>>,
    pub(crate) connected: Vec<Vec<bool>>,
}

impl Distances {
    pub(crate) fn new(graph: &Graph, far: Option<u32>) -> Self {
        let hops: Vec<_> = (0..graph.nodes()).map(|source| hops(graph, source)).collect();
        let largest = hops.iter().flatten().flatten().max().unwrap();
        let far = far.unwrap_or(largest + 1);
        let d = |row: &Vec<Option<u32>>| row.iter().map(|h| f64::from(h.unwrap_or(far))).collect();
        Self {
            d: hops.iter().map(d).collect(),
            connected: hops.iter().map(|row| row.iter().map(Option::is_some).collect()).collect(),
        }
    }
}

/// Weights to probabilities, without the centre.
pub(crate) fn law(centre: usize, mut weights: Vec<f64>) -> Vec<f64> {
    weights[centre] = 0.0;
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}

pub(crate) fn uniform(n: usize, centre: usize) -> Vec<f64> {
    law(centre, vec![1.0; n])
}

pub(crate) fn degree(graph: &Graph, centre: usize, power: f64) -> Vec<f64> {
    let degree = |node| graph.degree(node as Node) as f64;
    law(centre, (0..graph.nodes()).map(|node| degree(node).powf(power)).collect())
}

pub(crate) fn edge(graph: &Graph, centre: usize) -> Vec<f64> {
    let weight = |node| f64::from(u8::from(!graph.has_edge(centre as Node, node as Node)));
    law(centre, (0..graph.nodes()).map(weight).collect())
}

pub(crate) fn distance(distances: &Distances, centre: usize, gamma: f64) -> Vec<f64> {
    let d = distances.d[centre].iter().enumerate();
    let weight = |(k, d): (usize, &f64)| if k == centre { 0.0 } else { d.powf(gamma) };
    law(centre, d.map(weight).collect())
}

/// `distance` clipped at 1/n, from above (`f64::min`) or below (`f64::max`).
pub(crate) fn bounded(
    distances: &Distances,
    centre: usize,
    gamma: f64,
    cut: impl Fn(f64, f64) -> f64,
) -> Vec<f64> {
    let p = distance(distances, centre, gamma);
    let n = p.len() as f64;
    law(centre, p.iter().map(|&p| cut(p, 1.0 / n)).collect())
}

/// Landmarks by definition: their nodes, and the nearest one of each node.
pub(crate) struct Landmarks {
    pub(crate) nodes: Vec<usize>,
    pub(crate) nearest: Vec<usize>,
}

impl Landmarks {
    pub(crate) fn new(graph: &Graph, distances: &Distances, count: usize) -> Self {
        let n = graph.nodes();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&node| (n - graph.degree(node as Node), node));
        let mut nodes: Vec<usize> = order[..count].to_vec();
        for &node in &order {
            if !nodes.iter().any(|&landmark| distances.connected[node][landmark]) {
                nodes.push(node);
            }
        }
        let nearest = |node: usize| {
            let own = nodes.iter().copied().filter(|&l| distances.connected[node][l]);
            own.min_by_key(|&l| (distances.d[node][l] as usize, l)).unwrap()
        };
        Self { nearest: (0..n).map(nearest).collect(), nodes }
    }
}

pub(crate) fn landmark_approx(
    distances: &Distances,
    landmarks: &Landmarks,
    centre: usize,
    gamma: f64,
) -> Vec<f64> {
    let Landmarks { nearest, .. } = landmarks;
    let d = &distances.d;
    let weight = |k: usize| {
        let (p, q) = (nearest[centre], nearest[k]);
        if k == centre { 0.0 } else { (d[centre][p] + d[p][q] + d[q][k]).powf(gamma) }
    };
    law(centre, (0..d.len()).map(weight).collect())
}

pub(crate) fn landmark(
    distances: &Distances,
    landmarks: &Landmarks,
    centre: usize,
    gamma: f64,
) -> Vec<f64> {
    let Landmarks { nodes, nearest } = landmarks;
    let own = nearest[centre];
    let mut p = vec![0.0; nearest.len()];
    for &q in nodes.iter().filter(|&&q| q != own) {
        let cluster: Vec<usize> = (0..p.len()).filter(|&k| nearest[k] == q).collect();
        for &k in &cluster {
            p[k] = distances.d[own][q].powf(gamma) / cluster.len() as f64;
        }
    }
    law(centre, p)
}
