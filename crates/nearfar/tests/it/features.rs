//! Features of nodes: what they add, networks applied to other graphs, and files.

use std::sync::Arc;

use nearfar::embedding::Embedding;
use nearfar::encode::{Features, NetworkModel};
use nearfar::evaluate::{ClassifyConfig, classify};
use nearfar::graph::{EdgeList, Graph, Labels, Node, NodeIds, ReadOptions};
use nearfar::negative::{NegativeConfig, Negatives};
use nearfar::rng::{Purpose, Rng};
use nearfar::train::{Model, Settings, TrainConfig};
use nearfar::{Budget, Parts, embed_with};

const CLASSES: usize = 4;
const WIDTH: usize = 12;

/// A stochastic block model in which most nodes have two neighbours of their class and one of another,
/// and features that are noisy centroids of the classes.
fn blocks(nodes: usize, seed: u64) -> (Arc<Graph>, Arc<Features>, Labels) {
    let mut rng = Rng::new(seed, Purpose::Edge, 3, 0);
    let mut pairs = Vec::new();
    for node in 0..nodes as Node {
        let same = rng.below(nodes / CLASSES) * CLASSES + node as usize % CLASSES;
        pairs.push((node, same as Node));
        if node % 2 == 0 {
            pairs.push((node, rng.below(nodes) as Node));
        }
    }
    let ids = NodeIds::Range { start: 0, len: nodes };
    let graph = EdgeList { pairs, weights: None, ids }.build().unwrap().0;
    let centroid = |class: usize, at: usize| if at % CLASSES == class { 1.0 } else { 0.0 };
    let mut values = Vec::new();
    for node in 0..nodes {
        values
            .extend((0..WIDTH).map(|at| centroid(node % CLASSES, at) + 1.2 * rng.normal() as f32));
    }
    let features = Features::dense(nodes, WIDTH, values).unwrap();
    let names = (0..CLASSES).map(|class| class.to_string()).collect();
    let of = (0..nodes).map(|node| vec![(node % CLASSES) as u32]).collect();
    (Arc::new(graph), Arc::new(features), Labels { names, of })
}

fn settings(model: Model, epochs: usize) -> Settings {
    let train = TrainConfig { model, dim: 16, epochs: Some(epochs), ..Default::default() };
    let negatives = NegativeConfig { negatives: Negatives::Uniform, ..Default::default() };
    Settings { train, negatives }
}

fn train(
    graph: &Arc<Graph>,
    settings: &Settings,
    features: Option<&Arc<Features>>,
) -> (Embedding, Option<NetworkModel>) {
    let mut model = None;
    let features = features.cloned();
    let parts = Parts { features, model: Some(&mut model), ..Default::default() };
    let embedding = embed_with(graph, settings, &Budget::default(), parts, &mut ()).unwrap();
    (embedding, model)
}

fn f1(vectors: &Embedding, labels: &Labels) -> f64 {
    let config = ClassifyConfig { train_ratio: Some(0.1), repeats: 3, ..Default::default() };
    classify(vectors, labels, None, &config).unwrap().test.f1_macro.mean
}

#[test]
fn features_improve_networks_and_models_apply_to_other_graphs() {
    let (graph, features, labels) = blocks(600, 1);
    let (other, other_features, other_labels) = blocks(500, 2);
    for model in [Model::Gcn, Model::Sage] {
        let settings = settings(model, 60);
        let (without, none) = train(&graph, &settings, None);
        assert!(none.is_none(), "a model without features knows its own nodes alone");
        let (with, network) = train(&graph, &settings, Some(&features));
        let scores = (f1(&without, &labels), f1(&with, &labels));
        assert!(scores.1 > scores.0 + 0.05, "{model:?}: {scores:?}");
        let network = network.unwrap();
        let again = network.apply(&graph, &features).unwrap();
        assert_eq!(again.vectors(), with.vectors(), "the same nodes have the same vectors");
        // Saved and read again, on a graph that it has not seen.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        network.save(&path).unwrap();
        let network = NetworkModel::load(&path).unwrap();
        let unseen = network.apply(&other, &other_features).unwrap();
        let score = f1(&unseen, &other_labels);
        assert!(score > scores.1 - 0.1, "{model:?}: {score} on another graph, {scores:?}");
        let narrow = Arc::new(Features::dense(500, 3, vec![0.5; 1500]).unwrap());
        let error = network.apply(&other, &narrow).unwrap_err().to_string();
        assert_eq!(error, "nodes have 3 features, and the model takes 12");
        let few = Arc::new(Features::dense(3, WIDTH, vec![0.5; 3 * WIDTH]).unwrap());
        let error = network.apply(&other, &few).unwrap_err().to_string();
        assert_eq!(error, "there are 3 rows of features for 500 nodes");
        let directed = Arc::new(crate::graphs::directed(500, &[(0, 1)]));
        let error = network.apply(&directed, &other_features).unwrap_err().to_string();
        assert!(error.ends_with("omit --directed"), "{error}");
        std::fs::write(&path, &std::fs::read(&path).unwrap()[..200]).unwrap();
        assert!(NetworkModel::load(&path).unwrap_err().to_string().contains("--save-model"));
    }
}

#[test]
fn every_network_reads_features_on_any_number_of_threads() {
    let (graph, features, _) = blocks(400, 3);
    for model in [Model::Gcn, Model::Sage, Model::Gae, Model::Vgae] {
        let settings = settings(model, 3);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| train(&graph, &settings, Some(&features)).0)
        };
        let one = on(1);
        assert_eq!(one.vectors(), on(3).vectors(), "{model:?}");
        assert_eq!(one.provenance()["features"]["width"], WIDTH);
        assert_ne!(one.vectors(), train(&graph, &settings, None).0.vectors(), "{model:?}");
    }
    let parts = Parts { features: Some(features), ..Default::default() };
    let deepwalk = settings(Model::Deepwalk, 1);
    let error = embed_with(&graph, &deepwalk, &Budget::default(), parts, &mut ()).unwrap_err();
    let text = error.to_string();
    assert_eq!(text, "deepwalk reads no features; use --model sage or omit --features");
}

/// A sparse matrix in a `.npz`, as SciPy writes it, is tested from Python.
#[test]
fn features_are_matched_by_id_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let graph = {
        let path = folder.path().join("graph.tsv");
        std::fs::write(&path, "ann\tbob\nbob\teve\n").unwrap();
        nearfar::graph::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap().graph
    };
    let read = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        Features::read(&path, &graph)
    };
    let all = read("f.csv", "node,x,y\neve,5,6\nann,1,2\nzoe,9,9\nbob,3,4\n").unwrap();
    let ordered = Features::dense(3, 2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let network = |features: Features| {
        let graph = Arc::new(graph.clone());
        train(&graph, &settings(Model::Gcn, 2), Some(&Arc::new(features))).0.into_vectors()
    };
    assert_eq!(network(all), network(ordered), "in the order of the graph");
    let fails = |name: &str, text: &str| read(name, text).unwrap_err().to_string();
    let missing = fails("m.csv", "node,x,y\nann,1,2\nzoe,9,9\n");
    assert!(missing.contains("2 of 3 nodes have no features, for example 'bob'"), "{missing}");
    let width = fails("w.csv", "node,x,y\nann,1,2\nbob,3\neve,5,6\n");
    assert!(width.contains("w.csv:3"), "{width}");
    let nan = fails("n.csv", "node,x,y\nann,1,2\nbob,nan,3\neve,5,6\n");
    assert!(nan.ends_with("n.csv:3: feature nan; features are finite numbers"), "{nan}");
    let text = fails("t.tsv", "ann\t1\nbob\tx\neve\t3\n");
    assert!(text.ends_with("t.tsv:2: feature 'x' is not a number"), "{text}");
    let twice = fails("d.tsv", "ann\t1\nann\t2\n");
    assert!(twice.ends_with("d.tsv:2: 'ann' again; expected a line for each node"), "{twice}");
}

/// A model file with these claims.
fn model(kind: &str, features: u64, dim: u64, parameters: &[f32]) -> Vec<u8> {
    let (count, bytes) = (parameters.len(), 4 * parameters.len());
    let header = format!(
        r#"{{"__metadata__": {{"kind": "{kind}", "features": "{features}", "dim": "{dim}"}},
        "parameters": {{"dtype": "F32", "shape": [{count}], "data_offsets": [0, {bytes}]}}}}"#
    );
    let values = parameters.iter().flat_map(|value| value.to_le_bytes());
    let length = (header.len() as u64).to_le_bytes();
    length.into_iter().chain(header.into_bytes()).chain(values).collect()
}

/// One feature and one dimension take four numbers: two of each layer. Claims whose product is more
/// than 64 bits are no smaller ones.
#[test]
fn models_that_no_network_has_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let load = |bytes: Vec<u8>| {
        std::fs::write(&path, bytes).unwrap();
        NetworkModel::load(&path)
    };
    let large = load(model("gcn", 1, 1, &[3e38; 4])).unwrap();
    for (kind, features, dim, parameters) in [
        ("gcn", 1, 1 << 63, [].as_slice()),
        ("sage", 1 << 63, 1, &[]),
        ("vgae", u64::MAX, u64::MAX, &[]),
        ("gcn", 0, 1, &[1.0; 4]),
        ("gcn", 1, 2, &[1.0; 4]),
        ("gat", 1, 1, &[1.0; 4]),
        ("gcn", 1, 1, &[1.0, f32::NAN, 1.0, 1.0]),
    ] {
        let error = load(model(kind, features, dim, parameters)).unwrap_err().to_string();
        assert!(error.contains("--save-model"), "{error}");
    }
    let (graph, ..) = blocks(8, 1);
    let features = Arc::new(Features::dense(8, 1, vec![1.0; 8]).unwrap());
    let error = large.apply(&graph, &features).unwrap_err().to_string();
    assert_eq!(error, "the vector of node '0' has inf; scale the features");
}
