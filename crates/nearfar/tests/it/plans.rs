//! What options become for a graph: every setting resolved, and the memory.

use nearfar::Budget;
use nearfar::negative::{NegativeConfig, Negatives, Strategy};
use nearfar::train::{L2, Model, Protocol, Settings, TrainConfig, TrainPlan, Trainer};

use crate::graphs::{islands, path, random};
use crate::trained::plan;

/// A random graph of mean degree 20 has 60 · 20 pairs per node to see, in 12 epochs of windows with
/// four contexts.
#[test]
fn the_number_of_walks_follows_the_mean_degree() {
    let walks = |graph, train: &TrainConfig| plan(&graph, Negatives::Uniform, train).walks;
    let base = TrainConfig::default;
    let dense = || random(1000, 10_000, 1);
    let degree = dense().arcs() as f64 / 1000.0;
    assert!((19.0..20.0).contains(&degree));
    assert_eq!(walks(dense(), &base()), (60.0 * degree / 48.0).round() as usize);
    let epochs = TrainConfig { epochs: Some(3), ..base() };
    assert_eq!(walks(dense(), &epochs), (60.0 * degree / 12.0).round() as usize);
    // A walk of 40 nodes has 31 windows of 10.
    let long = TrainConfig { context: Some(10), walk_length: Some(40), ..base() };
    assert_eq!(walks(dense(), &long), 1);
    assert_eq!(walks(random(1000, 1000, 1), &base()), 5, "the fewest");
    assert_eq!(walks(dense(), &TrainConfig { walks: Some(7), ..base() }), 7, "as given");
}

#[test]
fn models_and_presets_have_their_defaults() {
    let graph = random(300, 600, 1);
    let resolved = |train: &TrainConfig| {
        let p = plan(&graph, Negatives::Distance, train);
        (p.trainer, p.window, p.length, p.k, p.epochs, p.lr, p.batch)
    };
    let model = |model| TrainConfig { model, ..Default::default() };
    assert_eq!(resolved(&model(Model::Deepwalk)), (Trainer::Stream, 5, 5, 10, 12, 0.5, 300));
    assert_eq!(resolved(&model(Model::Line)), (Trainer::Stream, 2, 2, 10, 12, 0.5, 300));
    assert_eq!(resolved(&model(Model::Gae)), (Trainer::Batch, 2, 2, 1, 400, 0.01, 300));
    assert_eq!(resolved(&model(Model::Sage)), (Trainer::Batch, 5, 5, 10, 400, 0.01, 300));
    let paper = TrainConfig { protocol: Some(Protocol::Paper), ..Default::default() };
    assert_eq!(resolved(&paper), (Trainer::Batch, 4, 20, 20, 30, 0.01, 8));
    assert_eq!(plan(&graph, Negatives::Distance, &paper).walks, 50);
    let batch = TrainConfig { trainer: Some(Trainer::Batch), ..Default::default() };
    assert_eq!(resolved(&batch), (Trainer::Batch, 5, 5, 10, 30, 0.01, 8));
    let exact = TrainConfig { trainer: Some(Trainer::Exact), ..Default::default() };
    assert_eq!(resolved(&exact), (Trainer::Exact, 5, 5, 10, 60, 0.5, 300));
}

#[test]
fn provenance_names_every_setting_as_it_is_used() {
    let graph = random(300, 600, 1);
    let settings = Settings::default();
    let plan = TrainPlan::new(&settings, &graph, &Budget::default()).unwrap();
    let provenance = plan.provenance();
    for (name, value) in [
        ("negatives", "distance".into()),
        ("strategy", "table".into()),
        ("walks", plan.walks.into()),
        ("context", 5.into()),
        ("walk-length", 5.into()),
        ("k", 10.into()),
        ("epochs", 12.into()),
        ("trainer", "stream".into()),
        ("seed", 0.into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("graph", format!("{:016x}", graph.fingerprint()).into()),
    ] {
        assert_eq!(provenance.get(name), Some(&value), "{name}");
    }
    // Whatever can be set is recorded.
    let given = settings.describe(&graph);
    for name in given.as_object().unwrap().keys() {
        assert!(provenance.contains_key(name), "{name}");
    }
}

/// Threads have buffers of their own, and nothing else depends on them.
#[test]
fn choices_do_not_depend_on_the_number_of_threads() {
    let graph = random(3000, 9000, 1);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| plan(&graph, Negatives::Auto, &TrainConfig::default()))
    };
    let (one, many) = (on(1), on(16));
    assert_eq!(one.provenance(), many.provenance());
    assert_eq!((one.passes, one.passes_ahead), (many.passes, many.passes_ahead));
    assert!(one.memory < many.memory);
}

/// More of anything that is stored takes at least as many more bytes.
#[test]
fn memory_counts_pairs_negatives_tables_and_distances() {
    let graph = random(2000, 6000, 1);
    let bytes = |law, train: TrainConfig| plan(&graph, law, &train).memory as f64;
    let base = || TrainConfig { walks: Some(10), epochs: Some(3), ..Default::default() };
    let grows = |what: &str, small: f64, large: f64, by: f64| {
        let ratio = (large - small) / by;
        assert!((1.0..1.3).contains(&ratio), "{what}: {ratio} times {by} bytes");
    };
    let n = 2000.0;
    // 10 more walks of a window with 4 contexts and 10 negatives each, at 4 bytes a pair.
    let more = || TrainConfig { walks: Some(20), ..base() };
    let pairs = n * 10.0 * 14.0 * 4.0;
    let uniform = Negatives::Uniform;
    grows("pairs", bytes(uniform, base()), bytes(uniform, more()), pairs);
    // The exact law draws the negatives of all three epochs ahead, at 4 bytes each.
    let ahead = 3.0 * n * 10.0 * 10.0 * 4.0;
    let distance = Negatives::Distance;
    grows("negatives", bytes(distance, base()), bytes(distance, more()), pairs + ahead);
    let table = bytes(distance, base()) - bytes(uniform, base());
    grows("distances", 0.0, table, n * n + ahead);
    let wide = TrainConfig { dim: 256, l2: L2::Value(0.1), ..base() };
    let narrow = TrainConfig { dim: 128, l2: L2::Value(0.1), ..base() };
    grows("tables", bytes(uniform, narrow.clone()), bytes(uniform, wide), n * 128.0 * 4.0);
    let order = TrainConfig { order: 2, ..narrow.clone() };
    grows("contexts", bytes(uniform, narrow), bytes(uniform, order), n * 128.0 * 4.0);
}

#[test]
fn long_distances_take_two_bytes() {
    let bytes = |nodes: usize| {
        let plan = plan(&path(nodes), Negatives::Distance, &TrainConfig::default());
        plan.negatives.kept as f64 / (nodes * nodes) as f64
    };
    // A path of 256 nodes has a diameter of 255.
    assert!(bytes(256) < 1.5, "{}", bytes(256));
    assert!(bytes(2000) > 2.0, "{}", bytes(2000));
}

#[test]
fn auto_takes_landmarks_where_a_table_does_not_fit() {
    let graph = random(3000, 9000, 1);
    let law = |memory| {
        let budget = Budget { memory, ..Default::default() };
        let plan = TrainPlan::new(&Settings::default(), &graph, &budget);
        plan.map(|plan| (plan.negatives.law, plan.memory))
    };
    let (all, needed) = law(8_000_000_000).unwrap();
    assert_eq!(all, Negatives::Distance);
    assert_eq!(law(needed).unwrap(), (Negatives::Distance, needed));
    let (less, bytes) = law(needed * 3 / 4).unwrap();
    assert_eq!(less, Negatives::LandmarkApprox);
    assert!(bytes <= needed * 3 / 4);
    assert!(law(5_000_000).unwrap_err().to_string().contains("raise --max-memory"));
}

#[test]
fn a_forced_strategy_is_kept() {
    let graph = islands();
    for strategy in [Strategy::Table, Strategy::Levels] {
        let negatives = NegativeConfig { strategy, ..Default::default() };
        let settings = Settings { negatives, ..Default::default() };
        let plan = TrainPlan::new(&settings, &graph, &Budget::default()).unwrap();
        assert_eq!(plan.negatives.strategy, Some(strategy));
    }
}
