//! Nearest neighbours against sorting all pairs.

use nearfar::embedding::{Embedding, Similarity};
use nearfar::graph::{Node, NodeIds};
use proptest::prelude::*;

fn embedding(dim: usize, vectors: Vec<f32>) -> Embedding {
    Embedding::new(NodeIds::Range { start: 0, len: vectors.len() / dim }, dim, vectors).unwrap()
}

/// All pairs, in double precision.
fn naive(embedding: &Embedding, node: Node, by: Similarity) -> Vec<(Node, f64)> {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
    };
    let centre = embedding.vector(node);
    let similarity = |other: Node| {
        let vector = embedding.vector(other);
        let norms = dot(centre, centre).sqrt() * dot(vector, vector).sqrt();
        match by {
            // A sum of negative zeros is −0; adding 0 makes it 0.
            Similarity::Dot => dot(centre, vector) + 0.0,
            Similarity::Cosine if norms == 0.0 => 0.0,
            Similarity::Cosine => dot(centre, vector) / norms,
        }
    };
    let others = (0..embedding.nodes() as Node).filter(|&other| other != node);
    let mut all: Vec<_> = others.map(|other| (other, similarity(other))).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Small integers, so that dot products are exact and ties frequent.
    #[test]
    fn dot_products_are_exact_on_integers(
        (dim, values) in (1_usize..40).prop_flat_map(|dim| {
            let values = prop::collection::vec(-2_i8..3, dim * 30);
            (Just(dim), values)
        }),
        k in 0_usize..40,
    ) {
        let embedding = embedding(dim, values.into_iter().map(f32::from).collect());
        let nodes: Vec<Node> = (0..30).collect();
        let found = embedding.neighbours_of(&nodes, k, Similarity::Dot);
        for (&node, found) in nodes.iter().zip(&found) {
            let mut expected = naive(&embedding, node, Similarity::Dot);
            expected.truncate(k);
            let found: Vec<(Node, f64)> = found.iter().map(|&(n, s)| (n, s.into())).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn cosines_match_the_naive_search(
        (dim, values) in (1_usize..70).prop_flat_map(|dim| {
            let values = prop::collection::vec(-1_f32..1.0, dim * 25);
            (Just(dim), values)
        }),
        k in 1_usize..25,
        scales in prop::collection::vec(-44_i32..37, 25),
        scaled in any::<bool>(),
    ) {
        // Cosines do not depend on norms, however extreme.
        let scale = |row: usize| if scaled { 10_f64.powi(scales[row]) } else { 1.0 };
        let cells = values.iter().enumerate();
        let values = cells.map(|(at, &value)| (f64::from(value) * scale(at / dim)) as f32);
        let embedding = embedding(dim, values.collect());
        for node in 0..25 {
            let found = embedding.neighbours(node, k, Similarity::Cosine);
            let expected = naive(&embedding, node, Similarity::Cosine);
            prop_assert_eq!(found.len(), k.min(24));
            for (&(other, similarity), best) in found.iter().zip(&expected) {
                let own = expected.iter().find(|&&(node, _)| node == other).unwrap().1;
                prop_assert!((f64::from(similarity) - own).abs() < 1e-5);
                prop_assert!((f64::from(similarity) - best.1).abs() < 1e-5);
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_threads_or_batches() {
    // More rows than a tile.
    let vectors = (0..20_000 * 24).map(|at| (at as f32 * 0.731).sin()).collect();
    let embedding = embedding(24, vectors);
    let nodes: Vec<Node> = (0..40).map(|i| i * 499).collect();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| embedding.neighbours_of(&nodes, 10, Similarity::Cosine))
    };
    let one = run(1);
    assert_eq!(one, run(3));
    for (&node, found) in nodes.iter().zip(&one).step_by(13) {
        assert_eq!(&embedding.neighbours(node, 10, Similarity::Cosine), found);
        let expected = naive(&embedding, node, Similarity::Cosine);
        assert!(found.iter().zip(&expected).all(|(a, b)| (f64::from(a.1) - b.1).abs() < 1e-5));
    }
}

#[test]
fn zero_vectors_and_ties() {
    let embedding = embedding(2, vec![1.0, 0.0, 0.0, 0.0, 3.0, 0.0, -1.0, 0.0, 2.0, 0.0]);
    let cosine = |node, k| embedding.neighbours(node, k, Similarity::Cosine);
    assert_eq!(cosine(0, 9), [(2, 1.0), (4, 1.0), (1, 0.0), (3, -1.0)]);
    assert_eq!(cosine(1, 2), [(0, 0.0), (2, 0.0)]);
    assert_eq!(cosine(0, 0), []);
    assert_eq!(embedding.neighbours(0, 2, Similarity::Dot), [(2, 3.0), (4, 2.0)]);
}
