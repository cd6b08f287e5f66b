//! Graphs of extreme shapes: defaults end well. `scripts/extreme-graphs` writes larger ones, whose
//! times are in docs/performance.md.

use std::sync::Arc;

use nearfar::Budget;
use nearfar::graph::{Components, Graph, Node};
use nearfar::negative::{NegativeConfig, Negatives, Strategy};
use nearfar::train::{Settings, TrainConfig, TrainPlan};

use crate::graphs::{graph, path, star};

fn triangles(count: Node) -> Graph {
    let triangle = |k: Node| [(3 * k, 3 * k + 1), (3 * k, 3 * k + 2), (3 * k + 1, 3 * k + 2)];
    let pairs: Vec<_> = (0..count).flat_map(triangle).collect();
    graph(3 * count as usize, &pairs)
}

fn grid(side: Node) -> Graph {
    let nodes = 0..side * side;
    let right = nodes.clone().filter(|k| k % side + 1 < side).map(|k| (k, k + 1));
    let down = nodes.filter(|k| k / side + 1 < side).map(|k| (k, k + side));
    let pairs: Vec<_> = right.chain(down).collect();
    graph((side * side) as usize, &pairs)
}

/// Trains each graph by landmarks, as there is no memory for a table, and by uniform negatives.
#[test]
fn defaults_end_well_on_graphs_of_extreme_shapes() {
    let n = 20_000;
    let graphs = [
        ("path", path(n), 1),
        ("star", star(n), 1),
        ("triangles", triangles(n as Node / 3), 6666),
        ("isolated", graph(n, &[]), n),
        ("grid", grid(141), 1),
    ];
    let budget = Budget { memory: 200_000_000, ..Default::default() };
    for (name, graph, components) in graphs {
        assert_eq!(Components::new(&graph).len(), components, "{name}");
        let graph = Arc::new(graph);
        let train = TrainConfig { dim: 8, epochs: Some(1), ..Default::default() };
        for negatives in [Negatives::Auto, Negatives::Uniform] {
            let negatives = NegativeConfig { negatives, ..Default::default() };
            let settings = Settings { train: train.clone(), negatives };
            let plan = TrainPlan::new(&settings, &graph, &budget).unwrap();
            assert!(plan.memory <= budget.memory, "{name}");
            let expected = match settings.negatives.negatives {
                Negatives::Auto => Negatives::LandmarkApprox,
                law => law,
            };
            assert_eq!(plan.negatives.law, expected, "{name}");
            let embedding = nearfar::embed(&graph, &settings, &budget, &mut ()).unwrap();
            embedding.check_finite().unwrap();
            assert_eq!(embedding.nodes(), graph.nodes(), "{name}");
        }
    }
}

/// Distances above 255 and above 65 535 hops are in the plan, which a small budget refuses.
#[test]
fn plans_of_long_paths_fit_their_budget() {
    let graph = path(70_000);
    let budget = Budget { memory: 500_000_000, ..Default::default() };
    let plan = |negatives, strategy| {
        let negatives = NegativeConfig { negatives, strategy, ..Default::default() };
        let train = TrainConfig { dim: 32, ..Default::default() };
        TrainPlan::new(&Settings { train, negatives }, &graph, &budget)
    };
    let auto = plan(Negatives::Auto, Strategy::Auto).unwrap();
    assert_eq!(auto.negatives.law, Negatives::LandmarkApprox);
    assert!(auto.memory <= budget.memory);
    let error = plan(Negatives::Distance, Strategy::Table).unwrap_err().to_string();
    assert!(error.contains("landmark-approx") || error.contains("levels"), "{error}");
}
