//! What options become for a graph: every setting resolved, and the memory.

use nearfar::Budget;
use nearfar::negative::{NegativeConfig, Negatives, Strategy};
use nearfar::train::{L2, Model, Protocol, Settings, Start, TrainConfig, TrainPlan, Trainer};

use crate::graphs::{islands, path, random};
use crate::trained::plan;

/// A graph of mean degree d has 10 · d pairs per node to see, in 30 epochs of windows with four
/// contexts; 60 · d from a random start.
#[test]
fn the_number_of_walks_follows_the_mean_degree() {
    let walks = |graph, train: &TrainConfig| plan(&graph, Negatives::Uniform, train).walks;
    let base = TrainConfig::default;
    let dense = || random(300, 15_000, 1);
    let degree = dense().arcs() as f64 / 300.0;
    assert!((80.0..90.0).contains(&degree), "{degree}");
    let even = |walks: f64| 2 * (walks / 2.0).round() as usize;
    assert_eq!(walks(dense(), &base()), even(10.0 * degree / 120.0));
    let random_start = TrainConfig { start: Some(Start::Random), ..base() };
    assert_eq!(walks(dense(), &random_start), even(60.0 * degree / 120.0));
    let epochs = TrainConfig { epochs: Some(300), ..base() };
    assert_eq!(walks(dense(), &epochs), walks(dense(), &base()), "more epochs are more pairs");
    // A walk of 40 nodes has 31 windows of 10.
    let long = TrainConfig { context: Some(10), walk_length: Some(40), ..base() };
    assert_eq!(walks(dense(), &long), 1);
    assert_eq!(walks(random(1000, 1000, 1), &base()), 2, "the fewest");
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
    assert_eq!(resolved(&model(Model::Deepwalk)), (Trainer::Stream, 5, 5, 15, 30, 0.5, 300));
    assert_eq!(resolved(&model(Model::Line)), (Trainer::Stream, 2, 2, 15, 30, 0.5, 300));
    assert_eq!(resolved(&model(Model::Gae)), (Trainer::Batch, 2, 2, 1, 400, 0.01, 300));
    assert_eq!(resolved(&model(Model::Sage)), (Trainer::Batch, 5, 5, 10, 400, 0.01, 300));
    let large = plan(&path(20_001), Negatives::Uniform, &TrainConfig::default());
    assert_eq!(large.k, 10, "fewer negatives where training takes longer");
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
        ("k", 15.into()),
        ("epochs", 30.into()),
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
        let train = TrainConfig { start: Some(Start::Random), ..Default::default() };
        pool.install(|| plan(&graph, Negatives::Auto, &train))
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
    let base = || TrainConfig {
        walks: Some(2),
        epochs: Some(3),
        start: Some(Start::Random),
        pmi: Some(0.0),
        ..Default::default()
    };
    let grows = |what: &str, small: f64, large: f64, by: f64| {
        let ratio = (large - small) / by;
        assert!((1.0..1.3).contains(&ratio), "{what}: {ratio} times {by} bytes");
    };
    let n = 2000.0;
    // 300 more negatives for each of two walks, at 4 bytes a pair.
    let more = || TrainConfig { k: Some(310), ..base() };
    let pairs = n * 2.0 * 300.0 * 4.0;
    let uniform = Negatives::Uniform;
    grows("pairs", bytes(uniform, base()), bytes(uniform, more()), pairs);
    // The exact law draws the negatives of all three epochs ahead, at 4 bytes each.
    let distance = Negatives::Distance;
    grows("negatives", bytes(distance, base()), bytes(distance, more()), 4.0 * pairs);
    let table = bytes(distance, base()) - bytes(uniform, base());
    grows("distances", 0.0, table, n * n + 3.0 * n * 2.0 * 10.0 * 4.0);
    // More walks are more passes.
    let walks = TrainConfig { walks: Some(20), ..base() };
    assert!((bytes(uniform, walks) - bytes(uniform, base())).abs() < 1.0);
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

#[test]
fn summaries_say_how_much_is_trained() {
    let graph = random(300, 600, 1);
    let summary = |train: TrainConfig| plan(&graph, Negatives::Uniform, &train).summary();
    let base = TrainConfig::default;
    let batch = || TrainConfig { trainer: Some(Trainer::Batch), walks: Some(1), ..base() };
    for (train, work) in [
        (TrainConfig { walks: Some(4), ..base() }, "30 epochs × 4 walks per node"),
        (TrainConfig { epochs: Some(1), walks: Some(1), ..base() }, "1 epoch × 1 walk per node"),
        (TrainConfig { trainer: Some(Trainer::Exact), ..base() }, "60 epochs over all pairs"),
        (batch(), "30 epochs × 1 walk per node"),
        (TrainConfig { model: Model::Line, ..batch() }, "30 epochs over all edges"),
        (TrainConfig { model: Model::Gae, ..base() }, "400 epochs over all edges"),
        (
            TrainConfig { model: Model::Line, walks: Some(2), ..base() },
            "30 epochs × 2 walks per node",
        ),
    ] {
        let memory = nearfar::format_bytes(plan(&graph, Negatives::Uniform, &train).memory);
        assert_eq!(summary(train), format!("negatives: uniform · memory {memory} · {work}"));
    }
}

#[test]
fn what_a_model_or_a_trainer_lacks_is_planned_as_such() {
    let graph = random(300, 600, 1);
    let plan = |train: TrainConfig| plan(&graph, Negatives::Uniform, &train);
    let base = TrainConfig::default;
    let (batch, exact) = (Some(Trainer::Batch), Some(Trainer::Exact));
    // The batch trainer has no regularisation.
    assert_eq!(plan(base()).l2, L2::Auto);
    assert_eq!(plan(TrainConfig { trainer: exact, ..base() }).l2, L2::Auto);
    assert_eq!(plan(TrainConfig { trainer: batch, ..base() }).l2, L2::Value(0.0));
    // An edge is a window of two, whatever the context; a walk is at least a window.
    let line = TrainConfig { model: Model::Line, context: Some(7), ..base() };
    assert_eq!((plan(line.clone()).window, plan(line).length), (2, 2));
    let deepwalk = TrainConfig { context: Some(7), ..base() };
    assert_eq!((plan(deepwalk.clone()).window, plan(deepwalk).length), (7, 7));
    let long = TrainConfig { context: Some(7), walk_length: Some(40), ..base() };
    assert_eq!((plan(long.clone()).window, plan(long).length), (7, 40));
    // No more nodes are in a batch than in the graph.
    for (given, size) in [(None, 8), (Some(20), 20), (Some(1000), 300)] {
        assert_eq!(plan(TrainConfig { trainer: batch, batch: given, ..base() }).batch, size);
    }
    let gae = TrainConfig { model: Model::Gae, ..base() };
    assert_eq!(plan(gae).batch, 300);
    for model in [Model::Gae, Model::Vgae, Model::Gcn, Model::Sage] {
        assert_eq!(plan(TrainConfig { model, ..base() }).walks, 5);
    }
    // What starts, ends and weighs centres differently.
    let spectral = (Start::Spectral, 2, 0.3, 0.5);
    let of = |train: TrainConfig| {
        let plan = plan(train);
        (plan.start, plan.smoothing, plan.pmi, plan.centre_power)
    };
    assert_eq!(of(base()), spectral);
    assert_eq!(of(TrainConfig { trainer: exact, ..base() }), spectral);
    assert_eq!(of(TrainConfig { trainer: batch, ..base() }), (Start::Random, 0, 0.0, 0.0));
    assert_eq!(of(TrainConfig { order: 2, ..base() }), (Start::Random, 2, 0.0, 0.5));
    assert_eq!(of(TrainConfig { model: Model::Line, ..base() }), (Start::Spectral, 2, 0.3, 1.0));
    let raw = TrainConfig { smoothing: Some(0), ..base() };
    assert_eq!(of(raw), (Start::Spectral, 0, 0.0, 0.5));
}

#[test]
fn a_plan_that_does_not_fit_names_what_to_lower() {
    let graph = random(300, 600, 1);
    let error = |trainer| {
        let settings = Settings {
            train: TrainConfig { trainer: Some(trainer), ..Default::default() },
            ..Default::default()
        };
        let budget = Budget { memory: 9_600_000, ..Default::default() };
        TrainPlan::new(&settings, &graph, &budget).unwrap_err().to_string()
    };
    for (trainer, most, remedies) in [
        (Trainer::Stream, 20.0, "lower --walks, --dim or raise --max-memory"),
        (Trainer::Batch, 20.0, "lower --batch, --dim or raise --max-memory"),
        (Trainer::Exact, 22.0, "use --trainer stream or raise --max-memory"),
    ] {
        let error = error(trainer);
        let end = format!(" MB of memory, and 9.6 MB are allowed; {remedies}");
        let needed = error.strip_prefix("vectors and pairs need ").unwrap();
        let needed: f64 = needed.strip_suffix(&end).expect(&error).parse().unwrap();
        assert!((10.0..most).contains(&needed), "{error}");
    }
}

/// What the caller takes beside the run is planned for, and a peak that is past stays the peak.
#[test]
fn memory_counts_what_is_taken_elsewhere() {
    let graph = random(300, 600, 1);
    let planned = |budget: &Budget| {
        let plan = TrainPlan::new(&Settings::default(), &graph, budget);
        plan.map(|plan| plan.memory)
    };
    let base = Budget { reserved: 0, so_far: 0, ..Default::default() };
    let alone = planned(&base).unwrap();
    let more = planned(&Budget { reserved: 1_000_000, ..base }).unwrap();
    assert!((more - alone).abs_diff(1_100_000) <= 1, "with a tenth for the allocator");
    assert_eq!(planned(&Budget { so_far: 70_000_000, ..base }).unwrap(), 70_000_000);
    assert_eq!(planned(&Budget { so_far: 1000, ..base }).unwrap(), alone);
    let exceeded = Budget { reserved: 8_000_000_000, ..base };
    assert!(planned(&exceeded).is_err());
}
