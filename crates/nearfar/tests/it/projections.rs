//! Projections: neighbourhoods are preserved, and results do not depend on the number of threads.

use nearfar::embedding::{Embedding, Similarity};
use nearfar::graph::NodeIds;
use nearfar::project::{Method, Metric, ProjectConfig, project};
use nearfar::rng::{Purpose, Rng};

/// Gaussian clusters around random centres in `dim` dimensions, one after the other.
fn clusters(count: usize, size: usize, dim: usize, std: f32) -> Embedding {
    let mut rng = Rng::new(8, Purpose::Start, 0, 0);
    let mut gauss = || (0..12).map(|_| rng.unit() as f32).sum::<f32>() - 6.0;
    let centres: Vec<f32> = (0..count * dim).map(|_| gauss()).collect();
    let vectors = (0..count * size * dim)
        .map(|at| centres[at / (size * dim) * dim + at % dim] + std * gauss())
        .collect();
    Embedding::new(NodeIds::Range { start: 0, len: count * size }, dim, vectors).unwrap()
}

/// The squared distance of two nodes.
fn square(positions: &[[f32; 2]], a: usize, b: usize) -> f32 {
    (0..2).map(|axis| (positions[a][axis] - positions[b][axis]).powi(2)).sum()
}

/// The trustworthiness of Venna and Kaski: 1 if the k nearest on the map are the k nearest vectors,
/// about ½ for a random map.
fn trustworthiness(vectors: &Embedding, positions: &[[f32; 2]], k: usize) -> f64 {
    let n = positions.len();
    let mut penalty = 0.0;
    for node in 0..n {
        let near = vectors.neighbours(node as u32, n - 1, Similarity::Cosine);
        let mut rank = vec![0_usize; n];
        for (at, (other, _)) in (1..).zip(near) {
            rank[other as usize] = at;
        }
        let mut on_map: Vec<usize> = (0..n).filter(|&other| other != node).collect();
        on_map.sort_by(|&a, &b| square(positions, node, a).total_cmp(&square(positions, node, b)));
        penalty += on_map[..k].iter().map(|&o| (rank[o] as f64 - k as f64).max(0.0)).sum::<f64>();
    }
    let (n, k) = (n as f64, k as f64);
    1.0 - 2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0)) * penalty
}

#[test]
fn neighbourhoods_are_preserved() {
    let vectors = clusters(6, 50, 20, 1.0);
    let tsne = project(&vectors, &ProjectConfig::default()).unwrap().positions;
    let pca = ProjectConfig { method: Method::Pca, ..Default::default() };
    let pca = project(&vectors, &pca).unwrap().positions;
    let mut random = tsne.clone();
    Rng::new(0, Purpose::Start, 1, 0).shuffle(&mut random);
    let [tsne, pca, random] = [tsne, pca, random].map(|map| trustworthiness(&vectors, &map, 10));
    assert!(tsne > 0.93 && pca > 0.7 && random < 0.6, "{tsne} {pca} {random}");
    assert!(tsne > pca);
}

#[test]
fn clusters_are_separated() {
    let vectors = clusters(2, 100, 8, 0.2);
    for metric in [Metric::Cosine, Metric::Euclidean] {
        let config = ProjectConfig { metric, ..Default::default() };
        let positions = project(&vectors, &config).unwrap().positions;
        let pairs = (0..200).flat_map(|a| (0..a).map(move |b| (a, b)));
        let (inside, across): (Vec<_>, Vec<_>) = pairs.partition(|(a, b)| a / 100 == b / 100);
        let inside = inside.iter().map(|&(a, b)| square(&positions, a, b)).fold(0.0, f32::max);
        let across =
            across.iter().map(|&(a, b)| square(&positions, a, b)).fold(f32::INFINITY, f32::min);
        assert!(across > 0.05 * inside, "{metric:?}: {across} {inside}");
    }
}

#[test]
fn results_depend_on_the_seed_and_not_on_threads() {
    let vectors = clusters(3, 120, 16, 1.0);
    let run = |threads: usize, config: &ProjectConfig| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| project(&vectors, config)).unwrap()
    };
    for points in [1000, 200] {
        let config = ProjectConfig { points, steps: 60, ..Default::default() };
        let one = run(1, &config);
        assert_eq!(one.fitted, points.min(360));
        assert_eq!(one, run(3, &config));
        assert_ne!(one, run(1, &ProjectConfig { seed: 1, ..config }));
    }
}

/// Most nodes of a large graph are interpolated.
#[test]
fn interpolated_nodes_are_in_their_cluster() {
    let vectors = clusters(3, 400, 16, 0.5);
    let config = ProjectConfig { points: 150, ..Default::default() };
    let positions = project(&vectors, &config).unwrap().positions;
    let centre = |cluster: usize| {
        let all = &positions[cluster * 400..(cluster + 1) * 400];
        [0, 1].map(|axis| all.iter().map(|position| position[axis]).sum::<f32>() / 400.0)
    };
    let centres = [centre(0), centre(1), centre(2)];
    let nearest = |position: [f32; 2]| {
        let square = |cluster: usize| {
            (0..2).map(|x| (position[x] - centres[cluster][x]).powi(2)).sum::<f32>()
        };
        (0..3).min_by(|&a, &b| square(a).total_cmp(&square(b))).unwrap()
    };
    let correct = (0..1200).filter(|&node| nearest(positions[node]) == node / 400).count();
    assert!(correct > 1190, "{correct}");
}

#[test]
fn few_equal_and_extreme_vectors_have_finite_positions() {
    let embedding = |nodes: usize, vectors: Vec<f32>| {
        let ids = NodeIds::Range { start: 0, len: nodes };
        Embedding::new(ids, vectors.len() / nodes, vectors).unwrap()
    };
    let mut cases = vec![
        embedding(50, vec![0.0; 150]),
        embedding(60, [1.0, 2.0].repeat(60)),
        embedding(4, vec![1e30, -1e30, 1e-30, f32::MAX, 0.0, 1e-45, f32::MIN, 1.0]),
        embedding(40, (0..40).map(|x| x as f32).collect()),
    ];
    cases.extend((1..6).map(|n| embedding(n, (0..3 * n).map(|x| (x * x % 7) as f32).collect())));
    // Each vector three times.
    let few = clusters(1, 30, 4, 1.0).into_vectors().repeat(3);
    cases.push(embedding(90, few));
    for vectors in cases {
        for method in [Method::Tsne, Method::Pca] {
            for metric in [Metric::Cosine, Metric::Euclidean] {
                let config = ProjectConfig { method, metric, ..Default::default() };
                let positions = project(&vectors, &config).unwrap().positions;
                assert_eq!(positions.len(), vectors.nodes());
                let widest = positions.iter().flatten().fold(0.0_f32, |most, x| most.max(x.abs()));
                assert!(widest < 1e4, "{} nodes, {config:?}: {widest}", vectors.nodes());
            }
        }
    }
}

#[test]
fn invalid_settings_are_rejected() {
    let vectors = clusters(1, 20, 3, 1.0);
    for perplexity in [0.0, f64::NAN, 1e9] {
        let config = ProjectConfig { perplexity, ..Default::default() };
        let error = project(&vectors, &config).unwrap_err().to_string();
        assert!(error.contains("expected 1 to 1000"), "{error}");
    }
    let nan = Embedding::new(NodeIds::Range { start: 0, len: 1 }, 1, vec![f32::NAN]).unwrap();
    assert!(project(&nan, &ProjectConfig::default()).is_err());
}
