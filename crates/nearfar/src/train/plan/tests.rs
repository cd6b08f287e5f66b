//! Tests of the plan's parts; `tests/it/plans.rs` tests whole plans.

use super::*;
use crate::graph::{EdgeList, NodeIds};
use crate::negative::NegativeConfig;

fn ring(nodes: u32) -> Graph {
    let pairs = (0..nodes).map(|a| (a, (a + 1) % nodes)).collect();
    let ids = NodeIds::Range { start: 0, len: nodes as usize };
    EdgeList { pairs, weights: None, ids }.build().unwrap().0
}

fn plan(graph: &Graph, train: TrainConfig) -> TrainPlan {
    let negatives = NegativeConfig { negatives: Negatives::Uniform, ..Default::default() };
    TrainPlan::new(&Settings { train, negatives }, graph, &Budget::default()).unwrap()
}

/// A window has one step for its three contexts in total, one for its five negatives with twice the
/// weight, and one towards zero; all fall linearly.
#[test]
fn steps_are_divided_among_the_pairs_of_a_window() {
    let train = TrainConfig {
        lr: Some(0.6),
        context: Some(4),
        k: Some(5),
        negative_weight: 2.0,
        ..Default::default()
    };
    let plan = plan(&ring(50), train);
    for (done, rate) in [(0.0, 0.6), (0.25, 0.45), (1.0, 0.0)] {
        let Step { positive, negative, shrink } = plan.step(0.1, done);
        let close = |found: f32, exact: f64| (f64::from(found) - exact).abs() < 1e-7;
        assert!(close(positive, rate / 3.0), "{positive}");
        assert!(close(negative, rate / 5.0 * 2.0), "{negative}");
        assert!(close(shrink, 1.0 - rate / 5.0 * 0.1), "{shrink}");
    }
}

/// Measuring the rank takes memory where λ is adjusted; smoothing, where there is some.
#[test]
fn work_that_is_not_done_takes_no_memory() {
    let graph = ring(3000);
    let plan = |l2, smoothing| {
        let train = TrainConfig { dim: 32, l2, smoothing, pmi: Some(0.0), ..Default::default() };
        plan(&graph, train)
    };
    let rank = 1024 * 32 * 4 + 32 * 32 * 20;
    assert_eq!(plan(L2::Auto, None).rank_bytes(&graph), rank);
    assert_eq!(plan(L2::Value(0.1), None).rank_bytes(&graph), 0);
    // Two panels of 16 columns, and five numbers for each node.
    let smoothing = 3000 * (2 * 16 + 5) * 4;
    assert_eq!(plan(L2::Auto, Some(1)).finishing_bytes(&graph), smoothing);
    assert_eq!(plan(L2::Auto, Some(9)).finishing_bytes(&graph), smoothing);
    assert_eq!(plan(L2::Auto, Some(0)).finishing_bytes(&graph), 0);
    let mut joined = plan(L2::Auto, Some(0));
    joined.pmi = 0.3;
    assert_eq!(joined.finishing_bytes(&graph), pmi::bytes(3000, 32));
}

/// A table of 307 MB is in files where it does not fit, and as much of it in memory as fits.
#[test]
fn tables_that_do_not_fit_are_in_files() {
    let graph = ring(600_000);
    // Every thread has buffers of its own.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let plan = |memory, scratch: Option<&str>| {
        let scratch = scratch.map(PathBuf::from);
        let train = TrainConfig { scratch, ..Default::default() };
        let negatives = NegativeConfig { negatives: Negatives::Uniform, ..Default::default() };
        let budget = Budget { memory, ..Default::default() };
        let settings = Settings { train, negatives };
        pool.install(|| TrainPlan::new(&settings, &graph, &budget))
    };
    let small = 300_000_000;
    let fits = plan(8_000_000_000, Some("/scratch")).unwrap();
    assert_eq!((fits.parts, &fits.scratch), (8, &None), "all of it fits");
    let error = plan(small, None).unwrap_err().to_string();
    assert!(error.ends_with("give --scratch, lower --dim or raise --max-memory"), "{error}");
    let files = plan(small, Some("/scratch")).unwrap();
    assert_eq!((files.parts, files.scratch.is_some()), (8, true));
    assert_eq!(files.provenance(), fits.provenance(), "the vectors are the same");
    // Eight segments of four blocks; two are in memory beside those that are held.
    let segment = 600_000 / 8 * 128 * 4;
    for (held, memory) in [(1, small - 2 * segment), (2, small - segment), (3, small)] {
        let files = plan(memory, Some("/scratch")).unwrap();
        assert_eq!(files.held, held, "{memory}");
        assert!(files.memory <= memory && files.memory > memory - 2 * segment, "{}", files.memory);
    }
    let error = plan(30_000_000, Some("/scratch")).unwrap_err().to_string();
    assert!(error.ends_with("lower --walks, --dim or raise --max-memory"), "{error}");
}
