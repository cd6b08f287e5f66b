//! Updates: vectors of a graph that changed. And runs that start from given vectors.

use std::sync::Arc;

use nearfar::embedding::Embedding;
use nearfar::graph::{EdgeList, Graph, Node, NodeIds, Origin, ReadOptions, read};
use nearfar::negative::{NegativeConfig, Negatives};
use nearfar::train::{L2, Model, Settings, TrainConfig, Trainer, Updated};
use nearfar::{Budget, Error, Parts, Result, embed_with};

use crate::graphs::directed;

fn settings() -> Settings {
    let train = TrainConfig { dim: 16, ..Default::default() };
    Settings { train, ..Default::default() }
}

fn train(graph: &Arc<Graph>, settings: &Settings) -> Embedding {
    nearfar::embed(graph, settings, &Budget::default(), &mut ()).unwrap()
}

fn update(
    old: &Embedding,
    graph: &Arc<Graph>,
    before: Option<&Graph>,
    settings: &Settings,
) -> Result<(Embedding, Updated)> {
    nearfar::update(old, graph, before, settings, &Budget::default(), &mut ())
}

/// Two groups of thirty nodes, each node joined to eight others of its group, and a bridge; but for
/// the nodes that `without` names.
fn groups(without: &[Node]) -> Arc<Graph> {
    let mut edges = vec![("0".to_owned(), "30".to_owned())];
    for node in 0..60 {
        let (group, place) = (node / 30, node % 30);
        for step in [1, 3, 7, 12] {
            let other = 30 * group + (place + step) % 30;
            if !without.contains(&node) && !without.contains(&other) {
                edges.push((node.to_string(), other.to_string()));
            }
        }
    }
    let mut ids: Vec<String> = edges.iter().flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
    ids.sort();
    ids.dedup();
    let row = |id: &str| ids.iter().position(|other| other == id).unwrap() as Node;
    let pairs = edges.iter().map(|(a, b)| (row(a), row(b))).collect();
    let ids = NodeIds::StringIds(ids.iter().collect());
    Arc::new(EdgeList { pairs, weights: None, ids }.build().unwrap().0)
}

fn row<'a>(embedding: &'a Embedding, id: &str) -> &'a [f32] {
    embedding.vector(embedding.ids().find(id).unwrap())
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn an_unchanged_graph_gives_the_same_bytes() {
    let graph = groups(&[]);
    let old = train(&graph, &settings());
    for before in [None, Some(&*graph)] {
        let (new, updated) = update(&old, &graph, before, &settings()).unwrap();
        assert_eq!(updated, Updated { new: 0, removed: 0, moved: 0, kept: 60 });
        assert_eq!(new.vectors(), old.vectors());
    }
}

/// Node 5 comes and node 40 goes. Node 5 has eight edges, each to a node with eight then.
#[test]
fn new_nodes_join_their_group_and_others_keep_their_vectors() {
    let (before, now) = (groups(&[5]), groups(&[40]));
    let old = train(&before, &settings());
    let (new, updated) = update(&old, &now, None, &settings()).unwrap();
    assert_eq!(updated, Updated { new: 1, removed: 1, moved: 8, kept: 50 });
    let five = now.ids().find("5").unwrap();
    let mut moved = 0;
    for node in (0..now.nodes() as Node).filter(|&node| node != five) {
        let id = now.ids().get(node);
        let (was, is) = (row(&old, &id), new.vector(node));
        if now.has_edge(node, five) {
            assert!(was != is && cosine(was, is) > 0.95, "{id}: {}", cosine(was, is));
            moved += 1;
        } else {
            assert_eq!(was, is, "{id}");
        }
    }
    assert_eq!(moved, 8);
    let mean = |first: u32| {
        let others = (first..first + 30).filter(|&other| other != 5 && other != 40);
        let all: Vec<f32> =
            others.map(|other| cosine(row(&new, "5"), row(&new, &other.to_string()))).collect();
        all.iter().sum::<f32>() / all.len() as f32
    };
    assert!(mean(0) > mean(30) + 0.5, "{} {}", mean(0), mean(30));
    // As long as the others.
    let length = |id: &str| row(&new, id).iter().map(|x| x * x).sum::<f32>().sqrt();
    assert!((0.7..1.4).contains(&(length("5") / length("6"))), "{} {}", length("5"), length("6"));
}

/// A new group with one edge to an old node: its own edges tell its nodes from that one.
#[test]
fn a_new_group_is_not_only_where_it_is_attached() {
    let second: Vec<Node> = (31..60).collect();
    let (before, now) = (groups(&second), groups(&[]));
    let (new, _) = update(&train(&before, &settings()), &now, None, &settings()).unwrap();
    let mean = |a: u32, first: u32| {
        let all: Vec<f32> = (first..first + 30)
            .filter(|&b| b != a)
            .map(|b| cosine(row(&new, &a.to_string()), row(&new, &b.to_string())))
            .collect();
        all.iter().sum::<f32>() / all.len() as f32
    };
    let (within, between) = (mean(45, 30), mean(45, 0));
    assert!(within > between + 0.3, "{within} {between}");
}

#[test]
fn with_the_old_graph_changed_edges_between_old_nodes_count() {
    let graph = groups(&[]);
    let edges: Vec<(Node, Node)> = graph.edges_once().map(|(a, b, _)| (a, b)).collect();
    let with = |more: &[(Node, Node)]| {
        let pairs = edges.iter().chain(more).copied().collect();
        let ids = graph.ids().clone();
        Arc::new(EdgeList { pairs, weights: None, ids }.build().unwrap().0)
    };
    let find = |id: &str| graph.ids().find(id).unwrap();
    // Half of the edges of node 10 then lead to the other group.
    let others: Vec<String> = (50..58).map(|other: u32| other.to_string()).collect();
    let more: Vec<(Node, Node)> = others.iter().map(|id| (find("10"), find(id))).collect();
    let now = with(&more);
    let old = train(&graph, &settings());
    let (same, _) = update(&old, &now, None, &settings()).unwrap();
    assert_eq!(same.vectors(), old.vectors(), "not noticed without it");
    let (new, updated) = update(&old, &now, Some(&graph), &settings()).unwrap();
    assert_eq!(updated, Updated { new: 0, removed: 0, moved: 9, kept: 51 });
    // It moves away from its own group as far: its vector becomes shorter, not another direction.
    let product = |all: &Embedding| {
        row(all, "10").iter().zip(row(all, "50")).map(|(a, b)| a * b).sum::<f32>()
    };
    let (before, after) = (product(&old), product(&new));
    assert!(before < 0.0 && after > 0.7 * before, "the edges bring them nearer: {before} {after}");
}

#[test]
fn the_same_bytes_on_any_number_of_threads_with_every_law() {
    let (before, now) = (groups(&[3, 4, 44]), groups(&[]));
    let old = train(&before, &settings());
    for law in [Negatives::Distance, Negatives::Uniform, Negatives::LandmarkApprox] {
        let negatives = NegativeConfig { negatives: law, ..Default::default() };
        let settings = Settings { negatives, ..settings() };
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| update(&old, &now, None, &settings).unwrap().0.into_vectors())
        };
        let one = on(1);
        assert!(one.iter().all(|value| value.is_finite()));
        assert_eq!(one, on(3), "{law:?}");
    }
}

/// Isolated new nodes, node2vec, sliding windows, a fixed λ and no smoothing.
#[test]
fn other_settings_and_nodes_without_edges() {
    let (before, now) = (groups(&[3, 44]), groups(&[]));
    let base = || settings().train;
    for train_config in [
        TrainConfig { model: Model::Node2vec, p: 0.5, ..base() },
        TrainConfig { walk_length: Some(9), l2: L2::Value(0.1), ..base() },
        TrainConfig { smoothing: Some(0), ..base() },
    ] {
        let settings = Settings { train: train_config, ..settings() };
        let (new, updated) = update(&train(&before, &settings), &now, None, &settings).unwrap();
        assert_eq!(updated.new, 2);
        let near = cosine(row(&new, "3"), row(&new, "4"));
        assert!(near > cosine(row(&new, "3"), row(&new, "45")) + 0.3, "{settings:?}");
    }
    let ids = (0..61).map(|id: u32| id.to_string());
    let ids = NodeIds::StringIds(ids.collect());
    let to = |node: Node| ids.find(&now.ids().get(node)).unwrap();
    let pairs = now.edges_once().map(|(a, b, _)| (to(a), to(b))).collect();
    let lonely = Arc::new(EdgeList { pairs, weights: None, ids }.build().unwrap().0);
    let (new, _) = update(&train(&before, &settings()), &lonely, None, &settings()).unwrap();
    assert!(row(&new, "60").iter().all(|value| value.is_finite()));
}

/// Arcs lead from the nodes 0 to 19 to the others, which no arc leaves.
#[test]
fn sinks_of_directed_graphs_get_finite_vectors() {
    let graph = |arcs: Node| {
        let pairs: Vec<(Node, Node)> =
            (0..arcs).map(|k| (k % 20, 20 + (k + k / 20 * 7) % 20)).collect();
        Arc::new(directed(40, &pairs))
    };
    let (before, now) = (graph(100), graph(80));
    let old = train(&before, &settings());
    for before in [None, Some(&*before)] {
        let (new, updated) = update(&old, &now, before, &settings()).unwrap();
        assert_eq!(updated.moved > 0, before.is_some());
        assert!(new.check_finite().is_ok());
    }
}

#[test]
fn what_cannot_be_updated_is_an_error() {
    let graph = groups(&[]);
    let old = train(&graph, &settings());
    let fails = |old: &Embedding, train: TrainConfig| {
        let settings = Settings { train, ..settings() };
        update(old, &graph, None, &settings).unwrap_err().to_string()
    };
    let base = || settings().train;
    let order = fails(&old, TrainConfig { order: 2, ..base() });
    assert!(order.contains("context vectors"), "{order}");
    let network = fails(&old, TrainConfig { model: Model::Gcn, ..base() });
    assert!(network.contains("apply the trained network"), "{network}");
    let exact = fails(&old, TrainConfig { trainer: Some(Trainer::Exact), ..base() });
    assert!(exact.contains("only the stream trainer updates vectors"), "{exact}");
    let width = fails(&old, TrainConfig { dim: 8, ..base() });
    assert!(width.starts_with("--dim 8: the given vectors have 16 dimensions"), "{width}");
    let karate = Arc::new(read("builtin:karate", &ReadOptions::default()).unwrap().graph);
    let ids = NodeIds::StringIds(["x", "y"].into_iter().collect());
    let strangers = Embedding::new(ids, 16, vec![0.5; 32]).unwrap();
    let error = update(&strangers, &karate, None, &settings()).unwrap_err().to_string();
    assert!(error.starts_with("no node of the graph has a given vector"), "{error}");
    let mut vectors = old.vectors().to_vec();
    vectors[16 * 3 + 2] = f32::NAN;
    let broken = Embedding::new(old.ids().clone(), 16, vectors).unwrap();
    let nan = fails(&broken, base());
    assert!(nan.contains("(row 3) has NaN in dimension 2"), "{nan}");
}

fn start_from(
    init: &Embedding,
    graph: &Arc<Graph>,
    train: TrainConfig,
) -> Result<Embedding, Error> {
    let parts = Parts { init: Some(init), ..Default::default() };
    let settings = Settings { train, ..Settings::default() };
    embed_with(graph, &settings, &Budget::default(), parts, &mut ())
}

/// With steps of nearly no size, vectors stay where they start, in every trainer of a table.
#[test]
fn training_starts_from_given_vectors() {
    let (before, now) = (groups(&[5]), groups(&[]));
    let old = train(&before, &settings());
    for trainer in [Trainer::Stream, Trainer::Exact, Trainer::Batch] {
        let config = TrainConfig {
            trainer: Some(trainer),
            dim: 16,
            lr: Some(1e-9),
            epochs: Some(1),
            smoothing: Some(0),
            ..Default::default()
        };
        let new = start_from(&old, &now, config).unwrap();
        for node in (0..60).filter(|node| *node != 5) {
            let id = node.to_string();
            let pairs = row(&new, &id).iter().zip(row(&old, &id));
            pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-5, "{trainer:?}, {id}"));
        }
        assert!(cosine(row(&new, "5"), row(&new, "6")) > 0.8, "from its neighbours");
        assert!(new.provenance()["init"].is_string());
    }
    assert!(old.provenance().get("init").is_none());
}

#[test]
fn networks_and_other_widths_do_not_start_from_vectors() {
    let graph = groups(&[]);
    let old = train(&graph, &settings());
    let network = TrainConfig { model: Model::Gcn, dim: 16, ..Default::default() };
    let error = start_from(&old, &graph, network).unwrap_err().to_string();
    assert!(error.starts_with("gcn computes its vectors and starts from none"), "{error}");
    let error = start_from(&old, &graph, TrainConfig::default()).unwrap_err().to_string();
    assert!(error.starts_with("--dim 128: the given vectors have 16 dimensions"), "{error}");
}

#[test]
fn settings_of_a_record_are_those_of_the_run() {
    let train_config =
        TrainConfig { context: Some(3), q: 2.0, model: Model::Node2vec, ..settings().train };
    let old = train(&groups(&[]), &Settings { train: train_config, ..settings() });
    let Settings { train, negatives } = Settings::recorded(&old);
    assert_eq!((train.dim, train.context, train.model), (16, Some(3), Model::Node2vec));
    assert!((train.q - 2.0).abs() < f64::EPSILON);
    assert_eq!(negatives.negatives, Negatives::Distance);
    let bare = Embedding::new(old.ids().clone(), 16, old.vectors().to_vec()).unwrap();
    let defaults = TrainConfig { dim: 16, ..Default::default() };
    assert_eq!(Settings::recorded(&bare).train, defaults);
}

/// Arcs from the first half of the ids to the second, and new nodes: one with arcs into it alone, one with
/// arcs from it alone.
#[test]
fn directed_graphs_are_updated_and_their_new_sinks_too() {
    let ids = |count: u32| NodeIds::StringIds((0..count).map(|id| id.to_string()).collect());
    let mut pairs: Vec<(Node, Node)> =
        (0..40).flat_map(|a| [1, 2, 5].map(|step| (a, a / 20 * 20 + (a + step) % 20))).collect();
    let graph = |pairs: &[(Node, Node)], count, directed| {
        let list = EdgeList { pairs: pairs.to_vec(), weights: None, ids: ids(count) };
        Arc::new(list.dataset(Origin { directed, ..Origin::default() }).unwrap().graph)
    };
    let before = graph(&pairs, 40, true);
    pairs.extend([(0, 40), (3, 40), (7, 40), (41, 22), (41, 25), (41, 31)]);
    let now = graph(&pairs, 42, true);
    let old = train(&before, &settings());
    for (before, moved) in [(None, 6), (Some(&*before), 6)] {
        let (new, updated) = update(&old, &now, before, &settings()).unwrap();
        assert_eq!(updated, Updated { new: 2, removed: 0, moved, kept: 34 });
        assert!(new.vectors().iter().all(|value| value.is_finite()));
        for (node, own, other) in [("40", "3", "25"), ("41", "25", "3")] {
            let near = |to: &str| cosine(row(&new, node), row(&new, to));
            assert!(near(own) > near(other) + 0.3, "{node}: {} {}", near(own), near(other));
        }
    }
    // A reversed arc is a change of both of its ends.
    let mut reversed = pairs.clone();
    reversed[0] = (reversed[0].1, reversed[0].0);
    let (_, updated) =
        update(&train(&now, &settings()), &graph(&reversed, 42, true), Some(&now), &settings())
            .unwrap();
    assert_eq!(updated, Updated { new: 0, removed: 0, moved: 2, kept: 40 });
    let unseen = old.transform(&now).unwrap();
    assert_eq!(unseen.nodes(), 2);
    let both = graph(&pairs, 42, false);
    let error = update(&old, &both, None, &settings()).unwrap_err().to_string();
    assert_eq!(error, "the vectors are those of a directed graph; give --directed");
    let error = update(&train(&both, &settings()), &now, None, &settings()).unwrap_err();
    let error = error.to_string();
    assert_eq!(error, "the vectors are those of an undirected graph; omit --directed");
}
