//! Which law is planned, in how much time and memory, to the byte.

use std::sync::Arc;

use nearfar::Budget;
use nearfar::distance::{Levels, MultiSourceBfs, SOURCES};
use nearfar::graph::Graph;
use nearfar::negative::{Demand, LandmarkCount, NegativeConfig, NegativePlan, Negatives, Strategy};
use nearfar::rng::{Purpose, Rng};

use crate::graphs::{self, graph, path, random, star};

fn plan(
    graph: &Graph,
    config: &NegativeConfig,
    budget: &Budget,
    demand: &Demand,
) -> nearfar::Result<NegativePlan> {
    // Threads have buffers of their own.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| NegativePlan::new(graph, config, budget, demand))
}

fn law(negatives: Negatives) -> NegativeConfig {
    NegativeConfig { negatives, ..Default::default() }
}

/// Whether a table of distances is planned with these seconds and bytes.
fn has_table(graph: &Graph, seconds: f64, memory: u64, demand: &Demand) -> bool {
    let budget = Budget { seconds, memory, ..Default::default() };
    let plan = plan(graph, &law(Negatives::Auto), &budget, demand).unwrap();
    let exact = plan.strategy == Some(Strategy::Table);
    assert_eq!(plan.law, if exact { Negatives::Distance } else { Negatives::LandmarkApprox });
    exact
}

/// Nanoseconds: 2 for each cell of the table, and for each source 0.3 for every node and edge, or 1
/// where more than 50 000 nodes exceed the cache.
#[test]
fn a_table_is_planned_if_it_takes_no_longer_than_allowed() {
    for (graph, each) in
        [(random(2000, 6000, 1), 0.3), (path(900), 0.3), (star(50_000), 0.3), (star(50_001), 1.0)]
    {
        let (n, arcs) = (graph.nodes() as f64, graph.arcs() as f64);
        let seconds = n * (each * (n + arcs) + 2.0 * n) * 1e-9;
        let nothing = Demand::default();
        assert!(has_table(&graph, 1.0001 * seconds, 8_000_000_000, &nothing), "{n} nodes");
        assert!(!has_table(&graph, 0.9999 * seconds, 8_000_000_000, &nothing), "{n} nodes");
    }
}

/// A search visits a node or an edge in 5 ns. Searches are planned where few draws make them faster
/// than a table, and where a table does not fit but they do.
#[test]
fn searches_are_planned_for_few_draws() {
    let graph = random(2000, 6000, 1);
    let (n, arcs) = (2000.0, graph.arcs() as f64);
    let table = n * (0.3 * (n + arcs) + 2.0 * n) * 1e-9;
    let search = (n + arcs) * 5e-9;
    let strategy = |fills: f64, seconds: f64, memory: u64| {
        let demand = Demand { fills: Some(fills as u64), ..Default::default() };
        let budget = Budget { seconds, memory, ..Default::default() };
        let plan = plan(&graph, &law(Negatives::Auto), &budget, &demand).unwrap();
        assert_eq!(plan.is_exact(), plan.law == Negatives::Distance);
        plan.strategy
    };
    let (large, small) = (8_000_000_000, 3_000_000);
    let (levels, hop_table) = (Some(Strategy::Levels), Some(Strategy::Table));
    assert_eq!(strategy((table / search).floor(), 1.0, large), levels);
    assert_eq!(strategy((table / search).ceil(), 1.0, large), hop_table);
    assert_eq!(strategy(1000.0, 1.0, small), levels);
    assert_eq!(strategy(1000.0, 1001.0 * search, small), levels);
    assert_eq!(strategy(1000.0, 999.0 * search, small), None, "too slow as well");
}

/// A byte a cell and what is known of each row, twice the buffers of a search in any case, and what
/// training takes beside the table.
#[test]
fn a_table_is_planned_if_it_takes_no_more_memory_than_allowed() {
    let graph = random(2000, 6000, 1);
    let n = 2000;
    let table = plan(&graph, &law(Negatives::Distance), &Budget::default(), &Demand::default());
    let kept = table.unwrap().kept;
    let row = (kept - n * n) / n;
    assert!((40..100).contains(&row), "{row} bytes a row");
    assert_eq!(kept, n * n + n * row);
    let search = MultiSourceBfs::bytes(2000) + n * SOURCES as u64;
    let fits = |memory, training, ahead| {
        has_table(&graph, 600.0, memory, &Demand { training, ahead, fills: None })
    };
    for (training, ahead) in [(0, 0), (1000, 0), (1000, 500)] {
        let least = kept + 2 * search;
        assert!(fits(least, training, ahead) && !fits(least - 1, training, ahead));
    }
    for (training, ahead) in [(90_000_000, 0), (40_000_000, 50_000_000)] {
        let least = kept + 90_000_000;
        assert!(fits(least, training, ahead) && !fits(least - 1, training, ahead));
    }
}

#[test]
fn exact_distances_take_a_table_or_a_search_on_each_thread() {
    let config = |strategy| NegativeConfig { strategy, ..law(Negatives::Distance) };
    let graph = random(2000, 6000, 1);
    let (allowed, nothing) = (Budget::default(), Demand::default());
    let planned = |strategy| plan(&graph, &config(strategy), &allowed, &nothing).unwrap();
    let table = planned(Strategy::Table);
    // One thread searches at a time.
    let search = MultiSourceBfs::bytes(2000) + 2000 * SOURCES as u64;
    assert_eq!(table.building, table.kept + search);
    let levels = planned(Strategy::Levels);
    assert_eq!((levels.building, levels.kept), (Levels::bytes(2000), Levels::bytes(2000)));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let levels = pool.install(|| {
        NegativePlan::new(&graph, &config(Strategy::Levels), &allowed, &nothing).unwrap()
    });
    assert_eq!((levels.building, levels.kept), (3 * Levels::bytes(2000), 3 * Levels::bytes(2000)));

    // Of four threads as many search as fit the memory.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    for (searches, memory) in [(4, 5.0), (4, 4.0), (3, 3.9), (2, 2.0)] {
        let memory = table.kept + (memory * search as f64) as u64;
        let budget = Budget { memory, ..Default::default() };
        let plan = pool.install(|| {
            NegativePlan::new(&graph, &config(Strategy::Table), &budget, &nothing).unwrap()
        });
        assert_eq!(plan.building, table.kept + searches * search);
    }
    // While rows are prepared, how often each of up to 199 hops occurs in each.
    let long = plan(&path(200), &config(Strategy::Table), &allowed, &nothing).unwrap();
    assert_eq!(long.building, long.kept + 200 * (24 + 4 * 200));

    // Nodes by component, and where each one's component begins and ends.
    let whole = plan(&path(60), &config(Strategy::Table), &allowed, &nothing).unwrap();
    let edges: Vec<_> = (1..60).filter(|&b| b != 30).map(|b| (b - 1, b)).collect();
    let halves = plan(&graphs::graph(60, &edges), &config(Strategy::Table), &allowed, &nothing);
    assert_eq!(halves.unwrap().kept, whole.kept + 60 * (4 + 8));
}

/// p² distances of one byte; for each node the nearest landmark, the hops to it and a place in the
/// list of its cluster; for each landmark its row, its cluster's place and a sampler of its row. The
/// two nodes without edges are landmarks of their own.
#[test]
fn landmarks_take_their_distances_and_clusters() {
    let graph = random(2000, 6000, 1);
    let kept = |negatives, landmarks| {
        let config = NegativeConfig { landmarks: Some(landmarks), ..law(negatives) };
        let plan = plan(&graph, &config, &Budget::default(), &Demand::default()).unwrap();
        assert_eq!(plan.strategy, None);
        (plan.landmarks.unwrap(), plan.kept)
    };
    let count = LandmarkCount::Count;
    let clusters = |p: u64| p * p + 2 + 2000 * (8 + 4) + (p + 2) * (4 + 32 + 20);
    assert_eq!(kept(Negatives::Landmark, count(200)), (200, clusters(200)));
    // The landmarks of the two are among those counted.
    let approx = |p: usize| kept(Negatives::LandmarkApprox, count(p)).1 - (p * p) as u64;
    let of_a_landmark = approx(1000) - approx(999);
    assert_eq!(approx(500) - approx(400), 100 * of_a_landmark);
    // Two bytes a node name up to 1023 landmarks, eight any number.
    assert_eq!(approx(1024) - approx(1000), 24 * of_a_landmark + 2000 * 6);
    // A number as asked for, a fraction of the nodes.
    assert_eq!(kept(Negatives::Landmark, count(2000)).0, 2000);
    assert_eq!(kept(Negatives::Landmark, LandmarkCount::Fraction(0.25)).0, 500);
    assert_eq!(kept(Negatives::Landmark, LandmarkCount::Fraction(1e-9)).0, 1);
}

/// Landmarks of a graph of large diameter have wide cells, of which fewer fit the limit of 64 MB.
#[test]
fn wide_distances_between_landmarks_are_counted() {
    let planned = |nodes: usize, landmarks| {
        let config = NegativeConfig { landmarks, ..law(Negatives::Landmark) };
        let budget = Budget { memory: 100_000_000_000, ..Default::default() };
        plan(&path(nodes), &config, &budget, &Demand::default()).unwrap()
    };
    let around = |n: u64, p: u64| n * (8 + 4) + p * (4 + 32 + 20);
    for (nodes, cell) in [(256, 1), (1000, 2), (65_536, 2), (70_000, 4)] {
        let count = Some(LandmarkCount::Count(50));
        let plan = planned(nodes, count);
        assert_eq!(plan.kept, 50 * 50 * cell + around(nodes as u64, 50), "{nodes} nodes");
        // One search at a time, and for each node a column, a landmark and the hops to it.
        let measured = 50 * 50 * cell + Levels::bytes(nodes) + 12 * nodes as u64;
        let levels = plan.kept + Levels::bytes(nodes);
        assert_eq!(plan.building, measured.max(levels), "{nodes} nodes");
    }
    // On a long path, searches from 2380 landmarks visit 500 million nodes and edges.
    let plan = planned(70_000, None);
    assert_eq!(plan.landmarks, Some(2380));
    assert_eq!(plan.kept, 2380 * 2380 * 4 + around(70_000, 2380));
}

#[test]
fn laws_without_distances_take_what_their_tables_take() {
    let graph = random(2000, 6000, 1);
    let planned = |negatives| {
        let plan = plan(&graph, &law(negatives), &Budget::default(), &Demand::default()).unwrap();
        assert_eq!((plan.law, plan.is_exact()), (negatives, false));
        (plan.building, plan.kept)
    };
    assert_eq!(planned(Negatives::Uniform), (0, 0));
    // Weights, and an alias table of as many bytes; lists to build it from.
    assert_eq!(planned(Negatives::Degree), (2000 * 40, 2000 * 16));
    // A range of four bytes for every four neighbours and for each node, and where they begin.
    let edge = graph.arcs() as u64 + 2000 * 12;
    assert_eq!(planned(Negatives::Edge), (edge, edge));
}

#[test]
fn the_peak_is_while_a_sampler_is_built_or_while_it_is_used() {
    let graph = random(2000, 6000, 1);
    for negatives in [Negatives::Distance, Negatives::LandmarkApprox] {
        let demand = |training| Demand { training, ahead: 7000, fills: None };
        let plan = plan(&graph, &law(negatives), &Budget::default(), &demand(0)).unwrap();
        let ahead = if negatives == Negatives::Distance { 7000 } else { 0 };
        assert_eq!(plan.peak(&demand(0)), plan.building);
        assert_eq!(plan.peak(&demand(90_000_000)), plan.kept + 90_000_000 + ahead);
    }
}

#[test]
fn plans_that_do_not_fit_say_why_and_what_would() {
    let graph = random(2000, 6000, 1);
    let demand = |training| Demand { training, ahead: 0, fills: None };
    let error = |config: &NegativeConfig, memory, training| {
        let budget = Budget { memory, seconds: 2.0, ..Default::default() };
        plan(&graph, config, &budget, &demand(training)).unwrap_err().to_string()
    };
    let distance = law(Negatives::Distance);
    assert_eq!(
        error(&distance, 3_000_000, 0),
        "an exact hop table needs 7.0 MB and about 16 ms; 3.0 MB and 2 s are allowed; use \
         --negatives landmark-approx or raise --max-memory"
    );
    assert_eq!(
        error(&distance, 9_000_000, 8_000_000),
        "an exact hop table needs 7.0 MB beside the 8.0 MB of training and about 16 ms; 9.0 MB and \
         2 s are allowed; use --negatives landmark-approx or raise --max-memory"
    );
    // Training is named where a table would fit without it, and does take memory.
    let alone = "an exact hop table needs 7.0 MB and about 16 ms; 5.0 MB and 2 s are allowed; use ";
    assert!(error(&distance, 5_000_000, 0).starts_with(alone));
    let no_room =
        "an exact hop table needs 7.0 MB and about 16 ms; 3.0 MB and 2 s are allowed; use ";
    assert!(error(&distance, 3_000_000, 8_000_000).starts_with(no_room));
    let table = NegativeConfig { strategy: Strategy::Table, ..distance };
    let needed = "negatives by distance need 4.1 MB, training 8.0 MB: 12 MB at their peak, and 9.0 MB \
                  are allowed; use --strategy levels, --negatives landmark-approx or raise \
                  --max-memory";
    assert_eq!(error(&table, 9_000_000, 8_000_000), needed);
    assert_eq!(
        error(&law(Negatives::Landmark), 1_000_000, 2_000_000),
        "negatives by landmark need 75 kB, training 2.0 MB: 2.1 MB at their peak, and 1.0 MB are \
         allowed; lower --landmarks or raise --max-memory"
    );
    assert_eq!(
        error(&law(Negatives::Uniform), 1_000_000, 2_000_000),
        "negatives by uniform need 0.0 kB, training 2.0 MB: 2.0 MB at their peak, and 1.0 MB are \
         allowed; raise --max-memory"
    );
}

#[test]
fn summaries_say_what_was_chosen() {
    let graph = random(2000, 6000, 1);
    let summary = |config: &NegativeConfig, memory, fills| {
        let budget = Budget { memory, seconds: 2.0, ..Default::default() };
        let demand = Demand { fills, ..Default::default() };
        plan(&graph, config, &budget, &demand).unwrap().summary()
    };
    let large = 8_000_000_000;
    let auto = law(Negatives::Auto);
    assert_eq!(summary(&auto, large, None), "distance (exact hop table, 4.1 MB)");
    let levels = "distance (breadth-first search per centre, 10 kB)";
    assert_eq!(summary(&auto, large, Some(3)), levels);
    assert_eq!(
        summary(&auto, 3_000_000, None),
        "landmark-approx (200 landmarks, 114 kB; an exact hop table needs 7.0 MB and about 16 ms; 3.0 \
         MB and 2 s are allowed)"
    );
    let one = NegativeConfig {
        landmarks: Some(LandmarkCount::Count(1)),
        ..law(Negatives::LandmarkApprox)
    };
    assert_eq!(summary(&one, large, None), "landmark-approx (1 landmark, 52 kB)");
    assert_eq!(summary(&law(Negatives::Degree), large, None), "degree");
}

/// Both are the same law, but a table and searches draw different nodes from the same stream.
#[test]
fn the_strategy_that_was_planned_is_built() {
    let graph = Arc::new(random(100, 200, 1));
    let draws = |strategy| {
        let config = NegativeConfig { strategy, ..law(Negatives::Distance) };
        let plan = plan(&graph, &config, &Budget::default(), &Demand::default()).unwrap();
        let mut draws = [0; 50];
        let mut rng = Rng::new(1, Purpose::Negative, 0, 0);
        plan.build(&graph).unwrap().fill(0, &mut rng, &mut draws);
        draws
    };
    assert_eq!(draws(Strategy::Auto), draws(Strategy::Table));
    assert_ne!(draws(Strategy::Levels), draws(Strategy::Table));
}

#[test]
fn a_complete_graph_has_no_negatives_by_edge() {
    let edges: Vec<_> = (0..6).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
    let build = |edges: &[(u32, u32)]| {
        let graph = Arc::new(graph(6, edges));
        let plan =
            plan(&graph, &law(Negatives::Edge), &Budget::default(), &Demand::default()).unwrap();
        plan.build(&graph).map(|_| ()).map_err(|error| error.to_string())
    };
    let error = build(&edges).unwrap_err();
    assert_eq!(error, "the graph is complete: no pair lacks an edge; use --negatives uniform");
    assert_eq!(build(&edges[1..]), Ok(()));
    assert_eq!(build(&edges[..6]), Ok(()));
}

#[test]
fn the_only_landmark_of_a_graph_is_not_enough_for_the_law_of_landmarks() {
    let graph = Arc::new(star(9));
    let one = Some(LandmarkCount::Count(1));
    let config = NegativeConfig { landmarks: one, ..law(Negatives::Landmark) };
    let plan = plan(&graph, &config, &Budget::default(), &Demand::default()).unwrap();
    let error = plan.build(&graph).err().map(|error| error.to_string()).unwrap_or_default();
    assert_eq!(error, "the graph has one landmark, and a draw needs another; use --landmarks 2");
}
