//! Properties of initial vectors.

use super::super::config::TrainConfig;
use super::super::settings::Settings;
use super::*;
use crate::budget::Budget;
use crate::graph::{EdgeList, NodeIds};
use crate::negative::{NegativeConfig, Negatives};

fn graph(pairs: Vec<(Node, Node)>, weights: Option<Vec<f32>>, len: usize) -> Arc<Graph> {
    let ids = NodeIds::Range { start: 0, len };
    Arc::new(EdgeList { pairs, weights, ids }.build().unwrap().0)
}

fn plan(graph: &Arc<Graph>, dim: usize) -> TrainPlan {
    let negatives = NegativeConfig { negatives: Negatives::Uniform, ..Default::default() };
    let train = TrainConfig { dim, ..Default::default() };
    TrainPlan::new(&Settings { train, negatives }, graph, &Budget::default()).unwrap()
}

/// M by its definition, in double precision.
fn dense(graph: &Graph, window: usize) -> Vec<f64> {
    let n = graph.nodes();
    let degree = |i: usize| graph.weighted_degree(i as Node);
    let mean = (0..n).map(degree).sum::<f64>() / n as f64;
    let mut step = vec![0.0; n * n];
    for (a, b, weight) in graph.edges_once() {
        let (a, b, weight) = (a as usize, b as usize, f64::from(weight.unwrap_or(1.0)));
        step[a * n + b] = weight / degree(a);
        step[b * n + a] = weight / degree(b);
    }
    let mut power: Vec<f64> =
        (0..n * n).map(|at| if at / n == at % n { 1.0 } else { 0.0 }).collect();
    let mut sum = vec![0.0; n * n];
    for _ in 1..window {
        let cell = |i: usize, j: usize| -> f64 {
            (0..n).map(|k| power[i * n + k] * step[k * n + j]).sum()
        };
        power = (0..n * n).map(|at| cell(at / n, at % n)).collect();
        sum.iter_mut().zip(&power).for_each(|(sum, power)| *sum += power);
    }
    (0..n * n).map(|at| degree(at / n) / mean * sum[at] / (window - 1) as f64).collect()
}

#[test]
fn products_of_spectral_vectors_are_the_positive_part_of_the_matrix() {
    let pairs = vec![(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5), (5, 6)];
    for weights in [None, Some(vec![1.0, 2.0, 0.5, 3.0, 1.0, 1.5, 2.5, 0.25])] {
        let graph = graph(pairs.clone(), weights, 8);
        let (n, stride) = (8, 16);
        let plan = plan(&graph, 12);
        let mut rows = vec![0.0; n * stride];
        spectral(&plan, &graph, Rows::Memory(&mut rows, stride), None).unwrap();
        let mut positive = vec![0.0; n * n];
        for pair in eigen(&dense(&graph, plan.window), n) {
            for (at, cell) in positive.iter_mut().enumerate() {
                *cell += pair.value.max(0.0) * pair.vector[at / n] * pair.vector[at % n];
            }
        }
        let trace: f64 = (0..n).map(|i| positive[i * n + i]).sum();
        for (at, expected) in positive.iter().enumerate() {
            let (a, b) = (&rows[at / n * stride..][..stride], &rows[at % n * stride..]);
            let found: f64 = a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum();
            // The mean of ‖z‖² is 1.
            let expected = expected * n as f64 / trace;
            assert!((found - expected).abs() < 0.01, "{at}: {found} for {expected}");
        }
        for row in rows.chunks_exact(stride) {
            assert!(row[n..].iter().all(|&value| value == 0.0), "there are eight columns");
        }
    }
}

#[test]
fn leading_eigenvectors_are_found_among_many_nodes() {
    // Cliques of ten nodes in a ring: M of T = 4 steps has as many large eigenvalues.
    let (cliques, size) = (30, 10);
    let mut pairs = vec![];
    for first in (0..cliques * size).step_by(size) {
        let inside = (first..first + size).flat_map(|a| (a + 1..first + size).map(move |b| (a, b)));
        pairs.extend(inside.map(|(a, b)| (a as Node, b as Node)));
        pairs.push((first as Node, ((first + size + 1) % (cliques * size)) as Node));
    }
    let n = cliques * size;
    let graph = graph(pairs, None, n);
    let plan = plan(&graph, cliques);
    let mut rows = vec![0.0; n * cliques];
    spectral(&plan, &graph, Rows::Memory(&mut rows, cliques), None).unwrap();
    let leading: f64 =
        eigen(&dense(&graph, plan.window), n)[..cliques].iter().map(|pair| pair.value).sum();
    // Σ zᵀ M z / Σ ‖z‖² of eigenvectors weighted by μ is Σ μ² / Σ μ; here all μ are close.
    let m = dense(&graph, plan.window);
    let mut captured = 0.0;
    for k in 0..cliques {
        let z: Vec<f64> = (0..n).map(|i| f64::from(rows[i * cliques + k])).collect();
        let mz = m.chunks_exact(n).map(|row| row.iter().zip(&z).map(|(m, z)| m * z).sum::<f64>());
        let product: f64 = mz.zip(&z).map(|(mz, z)| mz * z).sum();
        captured += product / z.iter().map(|z| z * z).sum::<f64>();
    }
    assert!((captured / leading - 1.0).abs() < 0.01, "{captured} of {leading}");
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let n = 2 * CHUNK + 100;
    let mut rng = Rng::new(4, Purpose::Walk, 0, 0);
    let mut node = || rng.below(n) as Node;
    let pairs = (0..3 * n).map(|_| (node(), node())).collect();
    let graph = graph(pairs, None, n);
    let plan = plan(&graph, 20);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut rows = vec![0.0; n * 32];
        pool.install(|| start(&plan, &graph, 32, &mut rows));
        rows
    };
    let one = on(1);
    assert!(one.iter().all(|value| value.is_finite()));
    assert!((2..5).all(|threads| on(threads) == one));
}

#[test]
fn nodes_without_edges_start_small_and_random() {
    let connected = graph(vec![(0, 1), (1, 2)], None, 5);
    let empty = graph(vec![], None, 5);
    for graph in [connected, empty] {
        let plan = plan(&graph, 6);
        let mut rows = vec![0.0; 5 * 6];
        start(&plan, &graph, 6, &mut rows);
        let isolated = &rows[3 * 6..];
        assert!(isolated.iter().all(|&value| value != 0.0 && value.abs() <= 0.01));
        assert!(rows.iter().all(|value| value.is_finite()));
    }
}

/// Two tables and what is computed with them: sums of each chunk of 4096 rows, or three panels.
#[test]
fn memory_is_that_of_tables_and_sums() {
    let bytes = |nodes: usize, dim, threads, start| {
        let pairs = (1..nodes as Node).map(|b| (b - 1, b)).collect();
        let graph = graph(pairs, None, nodes);
        let mut plan = plan(&graph, dim);
        plan.start = start;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| bytes(&plan, &graph))
    };
    assert_eq!(bytes(10_000, 20, 1, Start::Random), 0);
    // Panels exceed sums.
    let (n, small) = (10_000, 20 * 20 * 96);
    let spectral = 2 * n * 20 * 4 + 3 * n * 16 * 4 + n * 12 + small;
    assert_eq!(bytes(10_000, 20, 1, Start::Spectral), spectral);
    // Sums exceed panels: of two chunks, and of each of three threads.
    let n = 5000;
    let sums = 2 * 200 * 200 * 8 + 3 * 200 * 200 * 12 + 3 * 256 * 200 * 8;
    let spectral = 2 * n * 200 * 4 + sums + n * 12 + 200 * 200 * 96;
    assert_eq!(bytes(5000, 200, 3, Start::Spectral), spectral);
    // No more columns than nodes, nor than 256.
    assert_eq!(bytes(50, 200, 1, Start::Spectral), bytes(50, 50, 1, Start::Spectral));
    assert_eq!(bytes(400, 300, 1, Start::Spectral), bytes(400, 256, 1, Start::Spectral));
}

#[test]
fn only_directions_of_clearly_positive_eigenvalues_are_kept() {
    let mut product = [0.0; 16];
    for (at, value) in [0.006, 0.003, 4.0, -1.0].into_iter().enumerate() {
        product[at * 5] = value;
    }
    let weights = spectral_weights(&product, 4);
    let row = |at: usize| weights[at * 4..][..4].iter().map(|x| x.abs()).collect::<Vec<_>>();
    assert_eq!(row(2), [0.5, 0.0, 0.0, 0.0]);
    let second = row(0)[1];
    assert!((second * second * 0.006 - 1.0).abs() < 1e-5, "{second}");
    assert_eq!(row(0), [0.0, second, 0.0, 0.0]);
    assert_eq!([row(1), row(3)], [[0.0; 4]; 2], "less than 4 / 1000");
}

/// X ← X L⁻ᵀ; `false` if there is no L.
fn orthonormalise(x: &mut [f32], columns: usize) -> bool {
    let Some(inverse) = inverse_factor(&products(x, x, columns), columns) else { return false };
    let old = x.to_vec();
    multiply_by_transposed(&old, &inverse, x, columns);
    true
}

/// Columns become orthonormal over all chunks of rows, whatever their scale; dependent ones do not
/// fail, and zeros do.
#[test]
fn columns_become_orthonormal() {
    let mut rng = Rng::new(4, Purpose::Start, 0, 0);
    for scale in [1e-6, 1.0, 1e6] {
        let x = (0..3 * (2 * CHUNK + 10)).map(|_| scale * (rng.unit() as f32 - 0.2));
        let mut x: Vec<f32> = x.collect();
        assert!(orthonormalise(&mut x, 3));
        for (i, j) in (0..9).map(|at| (at / 3, at % 3)) {
            let sum: f64 = x.chunks(3).map(|row| f64::from(row[i]) * f64::from(row[j])).sum();
            assert!((sum - f64::from(u8::from(i == j))).abs() < 1e-4, "{i}, {j}: {sum}");
        }
        x.chunks_mut(3).for_each(|row| row[1] = row[0]);
        assert!(orthonormalise(&mut x, 3) && x.iter().all(|value| value.is_finite()));
    }
    assert!(!orthonormalise(&mut [0.0; 30], 3));
}

#[test]
fn small_vectors_fill_their_range() {
    let graph = graph(vec![(0, 1)], None, 500);
    let mut rows = vec![0.0; 500 * 16];
    small_vectors(&plan(&graph, 12), 16, &mut rows, 0.3);
    let values = || rows.chunks(16).flat_map(|row| &row[..12]).copied();
    let (least, most) = values().fold((0.0, 0.0), |(a, b), x| (x.min(a), x.max(b)));
    assert!((-0.3..-0.297).contains(&least) && (0.297..0.3).contains(&most), "{least} {most}");
    assert!(values().sum::<f32>().abs() / 6000.0 < 0.01);
    assert!(rows.chunks(16).all(|row| row[12..] == [0.0; 4]));
}
