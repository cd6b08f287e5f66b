//! Distances that are lengths: shortest paths, laws, landmarks, measures, files.

use std::sync::Arc;

use nearfar::Budget;
use nearfar::distance::{Far, LengthRows, Routes, lengths};
use nearfar::graph::{Components, EdgeList, Graph, Node, NodeIds, Origin, ReadOptions, Repeats};
use nearfar::negative::{Demand, LandmarkCount, NegativeConfig, NegativePlan, Negatives, Strategy};
use nearfar::rng::{Purpose, Rng};
use proptest::prelude::*;

use crate::graphs::random_pairs;
use crate::naive;
use crate::naive::Distances;
use crate::naive_routes::powers;
use crate::negatives::{check, sampler};

/// A graph of edges with lengths; of repeated ones, the shortest counts.
fn with_lengths(nodes: usize, edges: &[(Node, Node, f32)], directed: bool) -> Graph {
    let ids = NodeIds::Range { start: 0, len: nodes };
    let pairs = edges.iter().map(|&(a, b, _)| (a, b)).collect();
    let weights = Some(edges.iter().map(|edge| edge.2).collect());
    let origin = Origin { directed, repeats: Repeats::Min, ..Origin::default() };
    let dataset = EdgeList { pairs, weights, ids }.dataset(origin).unwrap();
    dataset.graph.with_weights_as_lengths()
}

/// Lengths of an eighth to 16, of which sums are exact in 32 bits.
fn random_lengths(pairs: &[(Node, Node)], seed: u64) -> Vec<(Node, Node, f32)> {
    let mut rng = Rng::new(seed, Purpose::Edge, 7, 0);
    pairs.iter().map(|&(a, b)| (a, b, (1 + rng.below(128)) as f32 / 8.0)).collect()
}

/// The distances of all pairs by Floyd and Warshall's algorithm, and the longest edge.
fn floyd(graph: &Graph) -> (Vec<Vec<f64>>, f64) {
    let n = graph.nodes();
    let mut d = vec![vec![f64::INFINITY; n]; n];
    let mut longest = 0.0_f64;
    for a in 0..n as Node {
        d[a as usize][a as usize] = 0.0;
        for (&b, &length) in graph.neighbours(a).iter().zip(graph.lengths(a).unwrap()) {
            d[a as usize][b as usize] = f64::from(length);
            longest = longest.max(f64::from(length));
        }
    }
    for via in 0..n {
        for a in 0..n {
            for b in 0..n {
                d[a][b] = d[a][b].min(d[a][via] + d[via][b]);
            }
        }
    }
    (d, longest)
}

/// The same with `far` where there is no path: by default, one longest edge more than the diameter.
fn distances(graph: &Graph, far: Option<f64>) -> Distances {
    let (mut d, longest) = floyd(graph);
    let finite = d.iter().flatten().filter(|d| d.is_finite());
    let far = far.unwrap_or(finite.fold(0.0, |a: f64, &b| a.max(b)) + longest);
    let connected = d.iter().map(|row| row.iter().map(|d| d.is_finite()).collect()).collect();
    d.iter_mut().flatten().filter(|d| d.is_infinite()).for_each(|d| *d = far);
    Distances { d, connected }
}

/// Connected, disconnected, directed and both.
fn graphs() -> Vec<(&'static str, Arc<Graph>)> {
    let path: Vec<(Node, Node)> = (1..12).map(|b| (b - 1, b)).collect();
    let ring: Vec<(Node, Node)> = (0..30).map(|a| (a, (a + 1) % 30)).collect();
    let grid = |at: Node| (at % 6, at / 6);
    let grid: Vec<(Node, Node)> = (0..36)
        .flat_map(|a| [(a, a + 1), (a, a + 6)])
        .filter(|&(a, b)| b < 36 && (grid(a).0 == grid(b).0 || grid(a).1 == grid(b).1))
        .collect();
    let tail: Vec<(Node, Node)> = (0..20).map(|a| (a + 14, a + 15)).collect();
    let comet = [(1..15).map(|leaf| (0, leaf)).collect(), tail].concat();
    let islands = [random_pairs(12, 20, 3), vec![(12, 13), (13, 14), (17, 16)]].concat();
    let graph = |n, pairs: &[(Node, Node)], directed| {
        Arc::new(with_lengths(n, &random_lengths(pairs, 5), directed))
    };
    vec![
        ("path", graph(12, &path, false)),
        ("ring", graph(30, &ring, false)),
        ("grid", graph(36, &grid, false)),
        ("comet", graph(35, &comet, false)),
        ("islands", graph(20, &islands, false)),
        ("pair", graph(2, &[(0, 1)], false)),
        ("directed ring", graph(30, &ring, true)),
        ("directed islands", graph(20, &islands, true)),
        ("directed random", graph(40, &random_pairs(40, 90, 2), true)),
    ]
}

proptest! {
    #[test]
    fn shortest_paths_agree_with_floyd(
        n in 2_usize..25,
        edges in prop::collection::vec((0_u32..25, 0_u32..25, 0.001_f32..1e4), 1..120),
        directed: bool,
    ) {
        let n32 = n as u32;
        let edges: Vec<_> = edges.into_iter().map(|(a, b, l)| (a % n32, b % n32, l)).collect();
        let graph = with_lengths(n, &edges, directed);
        let all: Vec<Node> = (0..n as Node).collect();
        let found = lengths(&graph, &all);
        let rows = LengthRows::new(&graph);
        for (i, row) in floyd(&graph).0.iter().enumerate() {
            for (k, &d) in row.iter().enumerate() {
                let found = found[i * n + k];
                prop_assert!(found.to_bits() == d.to_bits() || (found - d).abs() <= 1e-12 * d, "{} {}", found, d);
                // Cells of tables: a relative error of 2⁻²⁴.
                let cell = f64::from(rows.row(i)[k]);
                prop_assert!(cell.to_bits() == found.to_bits() || (cell - found).abs() <= found * 2_f64.powi(-24));
            }
        }
    }

    /// d ≤ d̂ ≤ d + 2 to(i) + 2 from(k), up to the rounding of 32-bit numbers.
    #[test]
    fn routes_are_within_their_bounds(
        n in 2_usize..30,
        edges in prop::collection::vec((0_u32..30, 0_u32..30, 0.01_f32..100.0), 1..90),
        count in 1_usize..6,
    ) {
        let n32 = n as u32;
        let edges: Vec<_> = edges.into_iter().map(|(a, b, l)| (a % n32, b % n32, l)).collect();
        let graph = with_lengths(n, &edges, false);
        let chosen = Routes::choose(&graph, &Components::new(&graph), count.min(n));
        let routes = Routes::new(&graph, chosen);
        for (i, row) in floyd(&graph).0.iter().enumerate() {
            for (k, &d) in row.iter().enumerate() {
                let Some(route) = routes.route(i as Node, k as Node) else {
                    prop_assert!(d.is_infinite() || i == k, "a path without a route");
                    continue;
                };
                let depths = f64::from(routes.to[i].1) + f64::from(routes.from[k].1);
                let rounding = 1e-6 * (route + 1.0);
                prop_assert!(d <= route + rounding && route <= d + 2.0 * depths + rounding);
            }
        }
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
        for far in [Far::Auto, Far::Hops(3), Far::Length(612.5)] {
            let given = match far {
                Far::Hops(hops) => Some(f64::from(hops)),
                Far::Length(length) => Some(length),
                Far::Auto | Far::Undirected => None,
            };
            let distances = distances(&graph, given);
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

/// Pairs without a path along the arcs take the length without directions, and those that have none either
/// are one longest edge farther apart than all others.
#[test]
fn far_nodes_can_take_the_undirected_length() {
    for (name, graph) in graphs().into_iter().filter(|(_, graph)| graph.is_directed()) {
        let ((along, longest), (both, _)) = (floyd(&graph), floyd(&graph.to_undirected()));
        let n = graph.nodes();
        let distance = |i: usize, k: usize| {
            [along[i][k], both[i][k]].into_iter().find(|distance| distance.is_finite())
        };
        let pairs = || (0..n).flat_map(|i| (0..n).map(move |k| (i, k)));
        let largest = pairs().filter_map(|(i, k)| distance(i, k)).fold(0.0, f64::max);
        for (negatives, gamma) in
            [(Negatives::Distance, 1.0), (Negatives::Distance, -2.0), (Negatives::DistanceMax, 1.0)]
        {
            let config =
                NegativeConfig { negatives, gamma, far: Far::Undirected, ..Default::default() };
            let d = |i, k| distance(i, k).unwrap_or(largest + longest);
            let row = |i| (0..n).map(|k| d(i, k)).collect();
            let distances = Distances { d: (0..n).map(row).collect(), connected: Vec::new() };
            let clamp: fn(f64, f64) -> f64 =
                if negatives == Negatives::DistanceMax { f64::max } else { |p, _| p };
            check(&format!("{name}, {negatives:?}, {gamma}"), &*sampler(&graph, &config), |i| {
                (i < n).then(|| naive::bounded(&distances, i, gamma, clamp))
            });
        }
    }
}

/// Laws that know no distances are the same with lengths as without.
#[test]
fn laws_without_distances_ignore_lengths() {
    for (name, graph) in graphs() {
        let n = graph.nodes();
        check(name, &*sampler(&graph, &exact(Negatives::Uniform)), |i| {
            (i < n).then(|| naive::uniform(n, i))
        });
        if name != "pair" {
            check(name, &*sampler(&graph, &exact(Negatives::Edge)), |i| {
                (i < n).then(|| naive::edge(&graph, i))
            });
        }
        let arcs = |k| graph.incoming(k as Node).len() as f64;
        check(name, &*sampler(&graph, &exact(Negatives::Degree)), |i| {
            (i < n).then(|| naive::law(i, (0..n).map(|k| arcs(k).powf(0.75)).collect()))
        });
    }
}

/// Landmarks by definition: the nodes with most arcs, of those with equally many rows at equal steps,
/// and one in every component of an undirected graph.
fn landmarks(graph: &Graph, distances: &Distances, count: usize) -> Vec<usize> {
    let n = graph.nodes();
    let arcs = |node: usize| {
        let node = node as Node;
        let back = if graph.is_directed() { graph.incoming(node).len() } else { 0 };
        graph.degree(node) + back
    };
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&node| (usize::MAX - arcs(node), node));
    let fewest = arcs(order[count - 1]);
    let (mut chosen, rest): (Vec<usize>, Vec<usize>) =
        order.iter().filter(|&&node| arcs(node) >= fewest).partition(|&&node| arcs(node) > fewest);
    let missing = count - chosen.len();
    chosen.extend((0..missing).map(|at| rest[at * rest.len() / missing]));
    for &node in order.iter().filter(|&&node| arcs(node) > 0 && !graph.is_directed()) {
        if !chosen.iter().any(|&other| distances.connected[node][other]) {
            chosen.push(node);
        }
    }
    chosen.sort_unstable();
    chosen
}

#[test]
fn routes_through_landmarks() {
    for (name, graph) in graphs() {
        let distances = distances(&graph, None);
        let (all, longest) = floyd(&graph);
        let diameter =
            all.iter().flatten().filter(|d| d.is_finite()).fold(0.0, |a: f64, &b| a.max(b));
        let n = graph.nodes();
        for count in [1, 3, 12].into_iter().filter(|&count| count <= n) {
            let chosen = landmarks(&graph, &distances, count);
            let nearest = |distance: &dyn Fn(usize) -> f64| {
                let reached =
                    chosen.iter().map(|&l| (distance(l), l)).filter(|(d, _)| d.is_finite());
                reached.min_by(|a, b| a.partial_cmp(b).unwrap()).map(|(_, l)| l)
            };
            let to: Vec<_> = (0..n).map(|i| nearest(&|l| all[i][l])).collect();
            let from: Vec<_> = (0..n).map(|k| nearest(&|l| all[l][k])).collect();
            for far in [None, Some(700.25)] {
                for gamma in [1.0, 1e-4, 64.0, -3.0] {
                    let config = NegativeConfig {
                        negatives: Negatives::LandmarkApprox,
                        gamma,
                        landmarks: Some(LandmarkCount::Count(count)),
                        far: far.map_or(Far::Auto, Far::Length),
                        ..Default::default()
                    };
                    let far = far.unwrap_or(diameter + longest);
                    let route = |i: usize, k: usize| {
                        let (p, q) = (to[i]?, from[k]?);
                        Some(all[i][p] + all[p][q] + all[q][k]).filter(|d| d.is_finite())
                    };
                    let what = format!("{name}, {count} landmarks, gamma {gamma}, far {far}");
                    check(&what, &*sampler(&graph, &config), |i| {
                        let row = || (0..n).map(|k| route(i, k).unwrap_or(far)).collect::<Vec<_>>();
                        (i < n).then(|| powers(i, &row(), gamma))
                    });
                }
            }
        }
    }
}

/// Lengths that 32 bits do not hold exactly: probabilities with a relative error of 2⁻²³.
#[test]
fn tables_are_within_their_relative_error() {
    let pairs = random_pairs(60, 150, 9);
    let mut rng = Rng::new(1, Purpose::Edge, 8, 0);
    let edges: Vec<_> = pairs.iter().map(|&(a, b)| (a, b, rng.unit() as f32 + 1e-3)).collect();
    let graph = Arc::new(with_lengths(60, &edges, true));
    let distances = distances(&graph, None);
    let config = NegativeConfig { strategy: Strategy::Table, ..exact(Negatives::Distance) };
    let sampler = sampler(&graph, &config);
    let mut found = vec![0.0; 60];
    for centre in 0..60 {
        sampler.probabilities(centre, &mut found);
        let expected = naive::distance(&distances, centre as usize, 1.0);
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= expected * 2_f64.powi(-23), "{found} {expected}");
        }
    }
}

fn exact(negatives: Negatives) -> NegativeConfig {
    NegativeConfig { negatives, ..Default::default() }
}

/// Edges of length 1 are hops.
#[test]
fn lengths_of_one_give_the_distances_of_hops() {
    let pairs = random_pairs(50, 120, 4);
    let edges: Vec<_> = pairs.iter().map(|&(a, b)| (a, b, 1.0)).collect();
    let by_length = Arc::new(with_lengths(50, &edges, false));
    let by_hops = Arc::new(crate::graphs::graph(50, &pairs));
    let mut rows = [vec![0.0; 50], vec![0.0; 50]];
    let samplers = [&by_length, &by_hops].map(|graph| sampler(graph, &exact(Negatives::Distance)));
    for centre in 0..50 {
        for (sampler, row) in samplers.iter().zip(&mut rows) {
            sampler.probabilities(centre, row);
        }
        let [a, b] = &rows;
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12), "{centre}");
    }
}

#[test]
fn what_lengths_do_not_support_is_refused_with_a_way_out() {
    let graph = with_lengths(30, &random_lengths(&random_pairs(30, 60, 1), 1), false);
    let plan = |graph: &Graph, config: &NegativeConfig| {
        let plan = NegativePlan::new(graph, config, &Budget::default(), &Demand::default());
        plan.unwrap_err().to_string()
    };
    assert_eq!(
        plan(&graph, &exact(Negatives::Landmark)),
        "landmark is a law of distances in hops; use --negatives landmark-approx or --distance hops"
    );
    let far = NegativeConfig { far: Far::Length(2.5), ..Default::default() };
    let hops = crate::graphs::graph(3, &[(0, 1)]);
    assert_eq!(
        plan(&hops, &far),
        "distances are numbers of hops, which are whole; use --far 3 or --distance length"
    );
    let wide = with_lengths(3, &[(0, 1, 1e38), (1, 2, 1.0)], false);
    assert!(plan(&wide, &exact(Negatives::Distance)).ends_with("scale the lengths"));
    // By default, laws are exact where that fits, else by landmarks.
    let large = with_lengths(3000, &random_lengths(&random_pairs(3000, 9000, 1), 1), false);
    let small = Budget { memory: 20_000_000, ..Budget::default() };
    let plan = |budget: &Budget| {
        let demand = Demand::default();
        NegativePlan::new(&large, &NegativeConfig::default(), budget, &demand).unwrap()
    };
    assert_eq!(plan(&small).law, Negatives::LandmarkApprox);
    assert_eq!(plan(&Budget::default()).law, Negatives::Distance);
    assert!(plan(&Budget::default()).summary().contains("exact table of lengths"));
}

#[test]
fn draws_do_not_depend_on_threads() {
    let pairs = random_pairs(300, 700, 5);
    let graph = Arc::new(with_lengths(300, &random_lengths(&pairs, 2), false));
    for (negatives, strategy) in [
        (Negatives::Distance, Strategy::Table),
        (Negatives::Distance, Strategy::Levels),
        (Negatives::LandmarkApprox, Strategy::Auto),
    ] {
        let config = NegativeConfig { negatives, strategy, ..Default::default() };
        let draw = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let sampler = sampler(&graph, &config);
                let mut out = [0; 500];
                sampler.fill(7, &mut Rng::new(3, Purpose::Negative, 0, 7), &mut out);
                out
            })
        };
        assert_eq!(draw(1), draw(3), "{negatives:?}");
    }
}

fn read(name: &str, text: &str, options: &ReadOptions) -> nearfar::Result<nearfar::graph::Dataset> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    nearfar::graph::read(path.to_str().unwrap(), options)
}

fn options(json: &str) -> ReadOptions {
    serde_json::from_str(json).unwrap()
}

/// (from, to, length, weight) of every edge.
fn edges(graph: &Graph) -> Vec<(Node, Node, f32, Option<f32>)> {
    let edge = |(a, b, weight): (Node, Node, Option<f32>)| {
        let at = graph.neighbours(a).binary_search(&b).unwrap();
        (a, b, graph.lengths(a).unwrap()[at], weight)
    };
    graph.edges_once().map(edge).collect()
}

#[test]
fn lengths_are_read_from_files() {
    let table = "source,target,weight,length\n0,1,3,2.5\n1,2,4,1\n2,1,1,0.5\n";
    let by_name = read("t.csv", table, &options(r#"{"distance": "length"}"#)).unwrap();
    assert_eq!(edges(&by_name.graph), [(0, 1, 2.5, None), (1, 2, 0.5, None)]);
    let both = read("t.csv", table, &options(r#"{"length": "length", "weight": "weight"}"#));
    assert_eq!(edges(&both.unwrap().graph), [(0, 1, 2.5, Some(3.0)), (1, 2, 0.5, Some(5.0))]);
    let third = read("t.tsv", "0\t1\t8\n1\t2\t2\n", &options(r#"{"distance": "length"}"#));
    assert_eq!(edges(&third.unwrap().graph), [(0, 1, 8.0, None), (1, 2, 2.0, None)]);
    let inverse = read("t.tsv", "0\t1\t8\n1\t2\t2\n", &options(r#"{"distance": "1/weight"}"#));
    let inverse = inverse.unwrap();
    assert_eq!(edges(&inverse.graph), [(0, 1, 0.125, Some(8.0)), (1, 2, 0.5, Some(2.0))]);
    let directed = options(r#"{"distance": "length", "directed": true}"#);
    let directed = read("t.tsv", "0 1 8\n1 0 2\n1 2 1\n", &directed).unwrap().graph;
    assert_eq!(edges(&directed), [(0, 1, 8.0, None), (1, 0, 2.0, None), (1, 2, 1.0, None)]);
    let both_ways = Arc::new(directed).to_undirected();
    assert_eq!(edges(&both_ways), [(0, 1, 2.0, None), (1, 2, 1.0, None)]);
    let matrix = "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 0.5\n3 1 4\n";
    let matrix = read("m.mtx", matrix, &options(r#"{"distance": "length"}"#)).unwrap();
    assert_eq!(edges(&matrix.graph), [(0, 1, 0.5, None), (0, 2, 4.0, None)]);
    let json = r#"{"nodes": [{"id": 0}, {"id": 1}],
                   "links": [{"source": 0, "target": 1, "length": 1, "weight": 7}]}"#;
    let json = read("g.json", json, &options(r#"{"distance": "length"}"#)).unwrap();
    assert_eq!(edges(&json.graph), [(0, 1, 1.0, None)]);
    let summary = nearfar::graph::ReadSummary::new("t.tsv", &inverse, 0.0).text();
    assert!(summary.contains("weighted, lengths 1/weight"), "{summary}");
    let table = "id,source,target,flow,km,name\n9,0,1,3,2.5,x\n8,1,2,4,1,y\n";
    let both = read("r.csv", table, &options(r#"{"length": "km", "weight": "flow"}"#)).unwrap();
    let summary = nearfar::graph::ReadSummary::new("r.csv", &both, 0.0).text();
    let columns = "columns source and target, weights from flow, lengths from km";
    assert!(summary.contains("weighted, with lengths") && summary.ends_with(columns), "{summary}");
    assert_eq!(
        both.notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["not read: columns id, name"]
    );
}

#[test]
fn lengths_that_are_none_are_errors_with_their_line() {
    let length = options(r#"{"distance": "length"}"#);
    for (bad, says) in [
        ("0", "length 0; lengths must be finite and > 0"),
        ("-1.5", "length -1.5; lengths must be finite and > 0"),
        ("NaN", "length NaN; lengths must be finite and > 0"),
        ("inf", "length inf; lengths must be finite and > 0"),
        ("x", "'x' is not a length; expected a number > 0"),
    ] {
        let error = read("t.tsv", &format!("a\tb\t1\nb\tc\t{bad}\n"), &length).unwrap_err();
        assert!(error.to_string().ends_with(&format!("t.tsv:2: {says}")), "{error}");
    }
    let refused = |name: &str, text: &str, options: &ReadOptions| {
        read(name, text, options).unwrap_err().to_string()
    };
    let none = refused("t.tsv", "a b\nb c\n", &length);
    assert!(none.ends_with("no lengths found; use --length COLUMN or --distance hops"), "{none}");
    let column = refused("t.csv", "u,v,km\na,b,1\n", &options(r#"{"length": "mi"}"#));
    assert!(column.contains("--length mi: no such column"), "{column}");
    let matrix = "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 0\n3 1 4\n";
    let zero = refused("m.mtx", matrix, &length);
    assert!(zero.ends_with("edge 1 has length 0; lengths must be finite and > 0"), "{zero}");
    let missing = refused(
        "g.gml",
        "graph [ node [ id 1 ] node [ id 2 ] node [ id 3 ] \
        edge [ source 1 target 2 length 2 ] edge [ source 2 target 3 ] ]",
        &length,
    );
    assert!(missing.contains("1 edge without a length"), "{missing}");
    let inverse = options(r#"{"distance": "1/weight"}"#);
    let none = refused("t.tsv", "a b\nb c\n", &inverse);
    assert!(none.contains("no weights to take 1/weight of"), "{none}");
    let error = nearfar::graph::read("builtin:karate", &length).unwrap_err().to_string();
    assert!(error.contains("use --distance hops"), "{error}");
}
