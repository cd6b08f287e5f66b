//! Directed graphs: distances along the arcs, laws, walks, training and link prediction.

use std::ops::ControlFlow;
use std::sync::Arc;

use nearfar::distance::Far;
use nearfar::evaluate::{LinksConfig, links};
use nearfar::graph::{Graph, Node, NodeIds, ReadOptions, Repeats, read};
use nearfar::negative::{Demand, LandmarkCount, NegativeConfig, NegativePlan, Negatives, Strategy};
use nearfar::positive::{Cooccurrence, CooccurrenceRow, PositiveSource, Walk};
use nearfar::rng::{Purpose, Rng};
use nearfar::train::stream::reference;
use nearfar::train::{Event, L2, Model, Settings, Sink, TrainConfig, TrainPlan, Trainer};
use nearfar::{Budget, embed};
use proptest::prelude::*;

use crate::chi_square::{chi_square, chi_square_bound};
use crate::distances::check_all;
use crate::graphs::{directed, random_pairs};
use crate::naive::{self, Distances};
use crate::naive_routes::{Routes, powers};
use crate::negatives::{check, sampler};
use crate::positives::cooccurrence;

/// A cycle with a way out, arcs without a way back, and nodes apart from them.
fn graphs() -> Vec<(&'static str, Arc<Graph>)> {
    let cycle: Vec<(Node, Node)> = (0..9).map(|a| (a, (a + 1) % 9)).collect();
    let flower = [&cycle[..], &[(4, 9), (9, 10), (10, 11), (11, 10)]].concat();
    let tree: Vec<(Node, Node)> = (1..15).map(|k| ((k - 1) / 2, k)).collect();
    let into_hub: Vec<(Node, Node)> = (1..14).map(|k| (k, 0)).collect();
    let islands = [random_pairs(12, 26, 3), vec![(12, 13), (13, 14), (17, 16)]].concat();
    let tail: Vec<(Node, Node)> = (0..50).map(|a| (a, a + 1)).collect();
    let comet = [&into_hub[..], &[(0, 14), (14, 5)], &tail[14..]].concat();
    [
        ("flower", directed(12, &flower)),
        ("tree", directed(15, &tree)),
        ("into a hub", directed(14, &into_hub)),
        ("islands", directed(20, &islands)),
        ("comet", directed(51, &comet)),
        ("random", directed(40, &random_pairs(40, 90, 2))),
        ("pair", directed(2, &[(1, 0)])),
    ]
    .map(|(name, graph)| (name, Arc::new(graph)))
    .into()
}

#[test]
fn distances_follow_the_arcs() {
    for (_, graph) in graphs() {
        check_all(&graph);
    }
    // Several searches of 512 sources, which push and pull.
    check_all(&directed(700, &random_pairs(700, 2800, 4)));
}

proptest! {
    #[test]
    fn distances_of_random_graphs_agree_with_single_searches(
        n in 2_usize..40,
        pairs in prop::collection::vec((0_u32..40, 0_u32..40), 0..160),
    ) {
        let pairs: Vec<_> =
            pairs.into_iter().map(|(a, b)| (a % n as u32, b % n as u32)).collect();
        check_all(&directed(n, &pairs));
    }
}

#[test]
fn exact_distances_by_every_strategy() {
    type Clamp = fn(f64, f64) -> f64;
    let clamps: [(Negatives, Clamp); 3] = [
        (Negatives::Distance, |p, _| p),
        (Negatives::DistanceMin, f64::min),
        (Negatives::DistanceMax, f64::max),
    ];
    for (name, graph) in graphs() {
        for far in [Far::Auto, Far::Hops(3), Far::Hops(5000)] {
            let hops = if let Far::Hops(hops) = far { Some(hops) } else { None };
            let distances = Distances::new(&graph, hops);
            for (negatives, clamp) in clamps {
                for gamma in [1.0, 0.0, 6.0, -1.0, -4.0] {
                    for strategy in [Strategy::Table, Strategy::Levels] {
                        let config = NegativeConfig {
                            negatives,
                            gamma,
                            strategy,
                            far,
                            ..Default::default()
                        };
                        let what = format!("{name}, {negatives:?}, {strategy:?}, {gamma}, {far}");
                        check(&what, &*sampler(&graph, &config), |i| {
                            (i < graph.nodes()).then(|| naive::bounded(&distances, i, gamma, clamp))
                        });
                    }
                }
            }
        }
    }
}

#[test]
fn routes_through_landmarks() {
    for (name, graph) in graphs() {
        for far in [None, Some(2), Some(700)] {
            let distances = Distances::new(&graph, None);
            let longest = distances.d.iter().flatten().fold(0.0, |a: f64, &b| a.max(b));
            let any_far = distances.connected.iter().flatten().any(|path| !path);
            // Without pairs that have no path, `longest` is the diameter itself.
            let auto = if any_far { longest } else { longest + 1.0 };
            for count in [1, 2, 5, 12].into_iter().filter(|&count| count <= graph.nodes()) {
                let routes = Routes::new(&graph, &distances, count);
                for gamma in [1.0, 1e-4, 2.0, 20.0, 64.0, -1.0, -3.0, -64.0] {
                    let config = NegativeConfig {
                        negatives: Negatives::LandmarkApprox,
                        gamma,
                        landmarks: Some(LandmarkCount::Count(count)),
                        far: far.map_or(Far::Auto, Far::Hops),
                        ..Default::default()
                    };
                    let what = format!("{name}, {count} landmarks, gamma {gamma}, far {far:?}");
                    let far = far.map_or(auto, f64::from);
                    check(&what, &*sampler(&graph, &config), |i| {
                        (i < graph.nodes())
                            .then(|| powers(i, &routes.from(&distances, i, far), gamma))
                    });
                }
            }
        }
    }
}

#[test]
fn laws_without_distances_read_the_arcs() {
    for (name, graph) in graphs() {
        let n = graph.nodes();
        let config = |negatives| NegativeConfig { negatives, ..Default::default() };
        check(name, &*sampler(&graph, &config(Negatives::Uniform)), |i| {
            (i < n).then(|| naive::uniform(n, i))
        });
        check(name, &*sampler(&graph, &config(Negatives::Edge)), |i| {
            (i < n).then(|| naive::edge(&graph, i))
        });
        if name != "pair" && name != "into a hub" {
            check(name, &*sampler(&graph, &config(Negatives::Degree)), |i| {
                let arcs = |k| graph.edges_once().filter(|arc| arc.1 == k).count() as f64;
                let weights = || (0..n as Node).map(|k| arcs(k).powf(0.75)).collect();
                (i < n).then(|| naive::law(i, weights()))
            });
        }
    }
}

/// Pairs without a path along the arcs take the distance without directions, and those that have none
/// either are one hop farther than all others.
#[test]
fn far_nodes_can_take_the_undirected_distance() {
    for (name, graph) in graphs() {
        let (along, both) =
            (Distances::new(&graph, None), Distances::new(&graph.to_undirected(), None));
        let n = graph.nodes();
        let distance = |i: usize, k: usize| {
            let of = |distances: &Distances| distances.connected[i][k].then(|| distances.d[i][k]);
            of(&along).or(of(&both))
        };
        let pairs = || (0..n).flat_map(|i| (0..n).map(move |k| (i, k)));
        let largest = pairs().filter_map(|(i, k)| distance(i, k)).fold(0.0, f64::max);
        for gamma in [1.0, -2.0] {
            let config = NegativeConfig {
                negatives: Negatives::Distance,
                gamma,
                far: Far::Undirected,
                ..Default::default()
            };
            check(&format!("{name}, gamma {gamma}"), &*sampler(&graph, &config), |i| {
                let d = |k| distance(i, k).unwrap_or(largest + 1.0);
                (i < n).then(|| powers(i, &(0..n).map(d).collect::<Vec<_>>(), gamma))
            });
        }
    }
}

#[test]
fn what_directed_graphs_do_not_support_is_refused_with_a_way_out() {
    let graph = directed(30, &random_pairs(30, 90, 1));
    let negatives = |config: NegativeConfig| {
        let plan = NegativePlan::new(&graph, &config, &Budget::default(), &Demand::default());
        plan.unwrap_err().to_string()
    };
    let far = NegativeConfig { far: Far::Undirected, ..Default::default() };
    let found = [
        negatives(NegativeConfig { negatives: Negatives::Landmark, ..Default::default() }),
        negatives(NegativeConfig { negatives: Negatives::LandmarkApprox, ..far.clone() }),
        negatives(NegativeConfig { strategy: Strategy::Levels, ..far.clone() }),
    ];
    assert_eq!(
        found,
        [
            "landmark is a law of undirected graphs; use --negatives landmark-approx or omit \
             --directed",
            "undirected distances between some pairs need exact distances; use --negatives distance \
             or --far auto",
            "undirected distances between some pairs need the table; use --strategy table or --far \
             auto",
        ]
    );
    let train = |train: TrainConfig| {
        let settings = Settings { train, ..Default::default() };
        TrainPlan::new(&settings, &graph, &Budget::default()).unwrap_err().to_string()
    };
    for model in [Model::Gcn, Model::Sage, Model::Gae, Model::Vgae, Model::Node2vec] {
        let error = train(TrainConfig { model, ..Default::default() });
        assert!(error.ends_with("omit --directed or use --model deepwalk"), "{error}");
    }
    for trainer in [Trainer::Batch, Trainer::Exact] {
        let error = train(TrainConfig { trainer: Some(trainer), ..Default::default() });
        assert!(error.contains("use --trainer stream"), "{error}");
    }
    let undirected =
        NegativePlan::new(&graph.clone(), &far, &Budget::default(), &Demand::default());
    assert!(undirected.is_ok());
    let karate = read("builtin:karate", &ReadOptions::default()).unwrap().graph;
    let error = NegativePlan::new(&karate, &far, &Budget::default(), &Demand::default());
    assert!(error.unwrap_err().to_string().contains("use --far auto"));
}

/// At a sink walks end: alone, and among others that go on.
#[test]
fn walks_follow_the_arcs_and_end_at_sinks() {
    for (name, graph) in graphs() {
        let walk = Walk::new(&graph);
        let n = graph.nodes();
        let mut counts = vec![vec![0_u32; n]; n];
        let mut nodes = [0; 12];
        for start in 0..n as Node {
            for repeat in 0..600 {
                let mut rng = Rng::new(5, Purpose::Walk, repeat, u64::from(start));
                let mut same = rng.clone();
                let length = walk.walk(start, &mut rng, &mut nodes);
                let last = nodes[length - 1];
                assert!(length == 12 || graph.degree(last) == 0, "{name}: ends at {last}");
                for step in nodes[..length].windows(2) {
                    counts[step[0] as usize][step[1] as usize] += 1;
                }
                let mut interleaved = [0; 12];
                walk.walks(&[start], std::slice::from_mut(&mut same), &mut interleaved);
                nodes[length..].fill(last);
                assert_eq!(interleaved, nodes);
            }
        }
        for (node, counts) in counts.iter().enumerate() {
            let row = graph.neighbours(node as Node);
            let p = |k: usize| {
                if row.contains(&(k as Node)) { 1.0 / row.len() as f64 } else { 0.0 }
            };
            let expected: Vec<f64> = (0..n).map(p).collect();
            let (chi2, freedom) = chi_square(counts, &expected);
            assert!(chi2 <= chi_square_bound(freedom), "{name}: from {node}: {chi2:.1}");
        }
        for context in [2, 5] {
            let (exact, mut row) = (Cooccurrence::new(&graph, context), CooccurrenceRow::default());
            for (start, expected) in cooccurrence(&graph, context).iter().enumerate() {
                exact.fill(start as Node, &mut row);
                let mut found = vec![0.0; n];
                row.iter().for_each(|(node, p)| found[node as usize] = p);
                let error = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
                assert!(error.fold(0.0, f64::max) < 1e-12, "{name}: from {start}");
            }
        }
    }
}

/// The loss of the last epoch.
#[derive(Default)]
struct LastLoss(f64);

impl Sink for LastLoss {
    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        if let Event::Epoch { loss, .. } = event {
            self.0 = *loss;
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[test]
fn the_stream_trainer_agrees_with_its_reference() {
    let base = || TrainConfig {
        dim: 20,
        walks: Some(4),
        l2: L2::Value(0.2),
        epochs: Some(3),
        smoothing: Some(0),
        ..Default::default()
    };
    let configs = [
        base(),
        TrainConfig { walk_length: Some(8), context: Some(4), ..base() },
        TrainConfig { model: Model::Line, ..base() },
    ];
    for graph in
        [directed(20, &[(0, 1), (1, 2), (3, 1)]), directed(300, &random_pairs(300, 900, 3))]
    {
        let graph = Arc::new(graph);
        for train in &configs {
            let negatives = NegativeConfig { negatives: Negatives::Distance, ..Default::default() };
            let settings = Settings { train: train.clone(), negatives };
            let mut last = LastLoss::default();
            let fast = embed(&graph, &settings, &Budget::default(), &mut last).unwrap();
            let plan = TrainPlan::new(&settings, &graph, &Budget::default()).unwrap();
            let negatives = plan.negatives.build(&graph).unwrap();
            let positives = Walk::with_centre_power(&graph, plan.centre_power);
            let (slow, loss) = reference::train(&plan, 0.2, &graph, &positives, &*negatives);
            let errors = fast.vectors().iter().zip(&slow).map(|(a, b)| (f64::from(*a) - b).abs());
            assert!(errors.fold(0.0, f64::max) < 1e-4, "{train:?}");
            assert!((last.0 - loss).abs() < 1e-5, "{} {loss}", last.0);
        }
    }
}

/// Papers of four fields that cite older ones of their own field.
fn citations() -> Graph {
    let mut rng = Rng::new(1, Purpose::Edge, 1, 0);
    let mut pairs = Vec::new();
    for paper in 8..600_u32 {
        for _ in 0..5 {
            let cited = rng.below(paper as usize / 4) as u32 * 4 + paper % 4;
            pairs.push((paper, cited));
        }
    }
    directed(600, &pairs)
}

/// One vector a node gives both directions the same score. A source and a target vector tell them
/// apart.
#[test]
fn order_two_tells_arcs_from_their_reverses() {
    let graph = citations();
    let auc = |order: usize| {
        let config = LinksConfig { seeds: 1, ..Default::default() };
        let scores = links(&graph, &config, 3, |rest: &Arc<Graph>, seed| {
            assert!(rest.is_directed());
            let train = TrainConfig { dim: 32, order, seed, ..Default::default() };
            let settings = Settings { train, ..Default::default() };
            embed(rest, &settings, &Budget::default(), &mut ())
        });
        let scores = scores.unwrap();
        (scores.dot.auc.mean, scores.reversed.unwrap().auc.mean)
    };
    assert!((auc(1).1 - 0.5).abs() < 1e-12, "{:?}", auc(1));
    let (random, reversed) = auc(2);
    assert!(random > 0.75 && reversed > 0.9, "{random} {reversed}");
}

#[test]
fn both_vectors_of_a_node_are_returned() {
    let graph = Arc::new(citations());
    let trained = |order, threads: usize| {
        let train = TrainConfig { dim: 8, epochs: Some(2), order, ..Default::default() };
        let settings = Settings { train, ..Default::default() };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| embed(&graph, &settings, &Budget::default(), &mut ()).unwrap())
    };
    assert!(trained(1, 1).contexts().is_none());
    let (one, three) = (trained(2, 1), trained(2, 3));
    let [a, b] = [&one, &three].map(|embedding| embedding.contexts().unwrap());
    assert_eq!((one.vectors(), a.vectors()), (three.vectors(), b.vectors()));
    assert_eq!((a.nodes(), a.dim()), (600, 8));
    assert_ne!(one.vectors(), a.vectors());
}

#[test]
fn files_are_read_with_their_directions_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str, text: &str, directed: bool| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let options = ReadOptions { directed, ..Default::default() };
        read(path.to_str().unwrap(), &options).unwrap()
    };
    let arcs = |graph: &Graph| {
        let arcs = graph.edges_once().map(|(a, b, _)| (graph.ids().get(a), graph.ids().get(b)));
        arcs.map(|(a, b)| format!("{a}{b}")).collect::<Vec<_>>().join(" ")
    };
    let list = "a b\nb a\nb c\nd c\nb c\n";
    let found = read("list.txt", list, true);
    assert_eq!((arcs(&found.graph), found.dropped.repeats), ("ab ba bc dc".to_owned(), 1));
    assert!(found.origin.directed && found.graph.edges() == 4);
    let found = read("list.txt", list, false);
    assert_eq!((arcs(&found.graph), found.graph.is_directed()), ("ab bc cd".to_owned(), false));
    let matrix = "%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 2\n2 1\n1 3\n";
    assert_eq!(read("m.mtx", matrix, true).graph.arcs(), 3);
    let matrix = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 1\n";
    assert_eq!(read("s.mtx", matrix, true).graph.arcs(), 4, "two arcs for an edge");
    assert_eq!(read("g.dot", "digraph { a -> b; c -> b }", true).graph.incoming(1), [0, 2]);
    assert_eq!(read("u.dot", "graph { a -- b; c -- b }", true).graph.arcs(), 4);
    let options = ReadOptions { directed: true, ..Default::default() };
    let error = nearfar::graph::read("builtin:karate", &options).unwrap_err().to_string();
    assert_eq!(error, "builtin:karate: built-in graphs are undirected; omit --directed");
    let ids = NodeIds::Range { start: 0, len: 3 };
    let (offsets, targets) = (vec![0, 2, 3, 3], vec![1, 2, 0]);
    let rows = nearfar::graph::CsrRows { offsets, targets, weights: None, ids };
    let found = rows.directed(Repeats::default()).unwrap().graph;
    assert_eq!((found.neighbours(0), found.incoming(0)), (&[1, 2][..], &[1][..]));
}
