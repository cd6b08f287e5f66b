//! Two embeddings of the same nodes: neighbours kept and lost, measures and scores of both.

use rayon::prelude::*;
use serde_json::{Map, Value, json};

use super::columns::{Column, Values};
use super::points::Points;
use crate::embedding::{Embedding, Similarity};
use crate::error::Result;
use crate::graph::Node;
use crate::project::{ProjectConfig, project};
use crate::rng::{Purpose, Rng};

/// Neighbours compared per node.
const NEIGHBOURS: usize = 10;
/// Largest number of nodes that are all compared; of others, a sample of [`SAMPLE`].
const MAX_ALL: usize = 20_000;
const SAMPLE: usize = 2000;

/// How many of the most similar nodes of each node are the same in both embeddings.
pub(super) struct Kept {
    of: Vec<u32>,
    all: bool,
    neighbours: usize,
}

impl Kept {
    /// Compares by cosine.
    pub(super) fn new(a: &Embedding, b: &Embedding, seed: u64) -> Self {
        let n = a.nodes();
        let mut nodes: Vec<Node> = (0..n as Node).collect();
        if n > MAX_ALL {
            Rng::new(seed, Purpose::Projection, 8, 0).shuffle(&mut nodes);
            nodes.truncate(SAMPLE);
        }
        let neighbours = NEIGHBOURS.min(n - 1);
        let near =
            |embedding: &Embedding| embedding.neighbours_of(&nodes, neighbours, Similarity::Cosine);
        let (a, b) = (near(a), near(b));
        let both = a.par_iter().zip(&b).map(|(a, b)| {
            a.iter().filter(|(node, _)| b.iter().any(|(other, _)| node == other)).count() as u32
        });
        Self { of: both.collect(), all: n <= MAX_ALL, neighbours }
    }

    /// A column of the number kept, if all nodes were compared.
    pub(super) fn column(&self) -> Option<Column> {
        let numbers = || Values::Numbers(self.of.iter().map(|&kept| kept as f32).collect());
        self.all.then(|| Column { name: "neighbours kept".to_owned(), values: numbers() })
    }

    pub(super) fn about(&self) -> Value {
        let mut counts = vec![0; self.neighbours + 1];
        self.of.iter().for_each(|&kept| counts[kept as usize] += 1);
        let mean = f64::from(self.of.iter().sum::<u32>()) / self.of.len().max(1) as f64;
        json!({
            "neighbours": self.neighbours,
            "compared": self.of.len(),
            "mean": mean,
            "counts": counts,
        })
    }
}

/// Adds the other embedding to the data, laid out alone and then turned to where the first one's nodes
/// are; returns what the page needs to know.
pub(super) fn add(
    points: &mut Points,
    other: &Embedding,
    first: &[[f32; 2]],
    base: &ProjectConfig,
    numbers: Map<String, Value>,
) -> Result<Map<String, Value>> {
    let mut positions = project(other, base)?.positions;
    turn(&mut positions, first);
    points.add_positions("against", &positions, false);
    let similarity = points.add_vectors("against-", 1.0, other, base.seed);
    let mut about = numbers;
    about.insert("similarity".to_owned(), similarity);
    about.insert("dim".to_owned(), other.dim().into());
    Ok(about)
}

/// Turns and mirrors positions around their centre so that the sum of squared distances to others is
/// least, which both being centred is Σ a·Rb at its largest: over rotations by an angle φ, that is
/// S cos φ + T sin φ, with sums S and T of products.
fn turn(positions: &mut [[f32; 2]], to: &[[f32; 2]]) {
    let centre = |points: &[[f32; 2]]| {
        [0, 1].map(|axis| {
            points.iter().map(|point| f64::from(point[axis])).sum::<f64>() / points.len() as f64
        })
    };
    let (from, towards) = (centre(positions), centre(to));
    let best = [1.0, -1.0].map(|mirror| {
        let (mut s, mut t) = (0.0, 0.0);
        for (b, a) in positions.iter().zip(to) {
            let [bx, by] = [f64::from(b[0]) - from[0], mirror * (f64::from(b[1]) - from[1])];
            let [ax, ay] = [f64::from(a[0]) - towards[0], f64::from(a[1]) - towards[1]];
            s += ax * bx + ay * by;
            t += ay * bx - ax * by;
        }
        (f64::hypot(s, t), s, t, mirror)
    });
    let [plain, mirrored] = best;
    let (norm, s, t, mirror) = if mirrored.0 > plain.0 { mirrored } else { plain };
    if norm == 0.0 {
        return;
    }
    let (cos, sin) = (s / norm, t / norm);
    for position in positions {
        let [x, y] =
            [f64::from(position[0]) - from[0], mirror * (f64::from(position[1]) - from[1])];
        *position = [(cos * x - sin * y) as f32, (sin * x + cos * y) as f32];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::NodeIds;

    fn embedding(vectors: Vec<f32>) -> Embedding {
        Embedding::new(NodeIds::Range { start: 0, len: vectors.len() / 2 }, 2, vectors).unwrap()
    }

    #[test]
    fn a_turned_and_mirrored_layout_is_turned_back() {
        let to: Vec<[f32; 2]> =
            (0..9).map(|at| [(at * at % 7) as f32 - 3.0, at as f32 - 4.0]).collect();
        let mean = to.iter().map(|point| point[0]).sum::<f32>() / 9.0;
        let mut turned: Vec<[f32; 2]> =
            to.iter().map(|&[x, y]| [0.6 * x + 0.8 * y + 5.0, 0.8 * x - 0.6 * y]).collect();
        turn(&mut turned, &to);
        for (a, b) in turned.iter().zip(&to) {
            assert!(
                (a[0] - (b[0] - mean)).abs() < 1e-4 && (a[1] - b[1]).abs() < 1e-4,
                "{a:?} {b:?}"
            );
        }
    }

    #[test]
    fn kept_neighbours_are_counted() {
        let angles = |step: usize| (0..30).map(move |at| (at * step % 30) as f32 * 0.05);
        let circle = |step| angles(step).flat_map(|angle| [angle.cos(), angle.sin()]).collect();
        let (a, b) = (embedding(circle(1)), embedding(circle(7)));
        let same = Kept::new(&a, &a, 0);
        assert!(same.of.iter().all(|&kept| kept == 10));
        let kept = Kept::new(&a, &b, 0);
        for node in 0..30 {
            let near = |one: &Embedding| one.neighbours(node, 10, Similarity::Cosine);
            let (x, y) = (near(&a), near(&b));
            let both = x.iter().filter(|one| y.iter().any(|other| other.0 == one.0)).count();
            assert_eq!(kept.of[node as usize] as usize, both);
        }
        assert_eq!(kept.about()["counts"].as_array().unwrap().len(), 11);
    }
}
