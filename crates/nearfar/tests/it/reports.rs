//! The data of a report, decoded as by the page.

use std::io::Read;
use std::sync::Arc;

use base64::Engine;
use nearfar::embedding::Embedding;
use nearfar::graph::{EdgeList, Graph, Node, NodeIds, Origin, ReadOptions, read};
use nearfar::report::{ReportConfig, Subject, report};
use nearfar::rng::{Purpose, Rng};
use serde_json::Value;

struct Unpacked {
    header: Value,
    bytes: Vec<u8>,
}

impl Unpacked {
    fn new(page: &str) -> Self {
        let data = page.split("id=\"data\">").nth(1).unwrap().split('<').next().unwrap();
        let compressed = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
        let mut all = Vec::new();
        flate2::read::ZlibDecoder::new(&*compressed).read_to_end(&mut all).unwrap();
        let length = u32::from_le_bytes(all[..4].try_into().unwrap()) as usize;
        let header = serde_json::from_slice(&all[4..4 + length]).unwrap();
        Self { header, bytes: all.split_off((4 + length).next_multiple_of(4)) }
    }

    fn section(&self, name: &str) -> Option<&[u8]> {
        let range = self.header["sections"].get(name)?;
        let [start, length] = [0, 1].map(|at| range[at].as_u64().unwrap() as usize);
        assert_eq!(start % 4, 0);
        Some(&self.bytes[start..start + length])
    }
}

fn random(nodes: usize, dim: usize, ids: NodeIds) -> Embedding {
    let mut rng = Rng::new(2, Purpose::Start, 0, 0);
    let vectors = (0..nodes * dim).map(|_| rng.unit() as f32 - 0.5).collect();
    Embedding::new(ids, dim, vectors).unwrap()
}

fn edges(bytes: &[u8], nodes: usize) -> Vec<(Node, Node)> {
    let mut bytes = bytes.iter();
    let mut number = || {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = bytes.next().unwrap();
            value |= Node::from(byte & 127) << shift;
            shift += 7;
            if byte & 128 == 0 {
                return value;
            }
        }
    };
    let mut edges = Vec::new();
    for node in 0..nodes as Node {
        let mut other = node;
        for _ in 0..number() {
            other += number();
            edges.push((node, other));
        }
    }
    edges
}

#[test]
fn edges_labels_and_similarities_are_in_the_page() {
    let dataset = read("builtin:sparse", &ReadOptions::default()).unwrap();
    let graph: Arc<Graph> = Arc::new(dataset.graph);
    let embedding = random(2000, 8, graph.ids().clone());
    let labels = dataset.labels.unwrap();
    let subject = Subject {
        graph: Some(&graph),
        labels: Some(&labels),
        ..Subject::new("sparse", &embedding)
    };
    let config = ReportConfig { points: 50, ..Default::default() };
    let page = Unpacked::new(&report(&subject, &config).unwrap());
    let expected: Vec<(Node, Node)> = (0..2000)
        .flat_map(|a| graph.neighbours(a).iter().map(move |&b| (a, b)))
        .filter(|(a, b)| a < b)
        .collect();
    assert_eq!(edges(page.section("edges").unwrap(), 2000), expected);
    let columns = page.header["columns"].as_array().unwrap();
    let names: Vec<&str> = columns.iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["label", "community", "component", "degree", "core number"]);
    assert_eq!(columns[0]["groups"], serde_json::json!(labels.names));
    let first = page.section(columns[0]["section"].as_str().unwrap()).unwrap().as_chunks::<2>().0;
    for (bytes, of) in first.iter().zip(&labels.of) {
        assert_eq!(u32::from(u16::from_le_bytes(*bytes)), of[0]);
    }
    let degrees = page.section(columns[3]["section"].as_str().unwrap()).unwrap().as_chunks::<4>().0;
    for (node, bytes) in degrees.iter().enumerate() {
        assert!(f32::from_le_bytes(*bytes).total_cmp(&(graph.degree(node as Node) as f32)).is_eq());
    }
    assert_eq!(page.section("tsne").unwrap().len(), 8000);
    assert!(page.section("names").is_none(), "the ids 0, 1, 2, … are not stored");
    assert_eq!(page.header["similarity"]["dims"], 8);
    assert!(page.header["similarity"]["error"].as_f64().unwrap() < 0.01);
    assert_eq!(page.header["map"]["fitted"], 50);
}

/// The page of a directed graph has every arc, and colours by the graph without directions.
#[test]
fn arcs_are_in_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arcs.tsv");
    std::fs::write(&path, "0 1\n1 2\n2 0\n2 1\n3 0\n").unwrap();
    let options = ReadOptions { directed: true, ..Default::default() };
    let graph = Arc::new(read(path.to_str().unwrap(), &options).unwrap().graph);
    let embedding = random(4, 3, graph.ids().clone());
    let subject = Subject { graph: Some(&graph), ..Subject::new("arcs", &embedding) };
    let page = Unpacked::new(&report(&subject, &ReportConfig::default()).unwrap());
    assert_eq!(page.header["directed"], true);
    // Per node, the number of arcs, and their targets, delta-encoded.
    assert_eq!(page.section("edges").unwrap(), [1, 1, 1, 2, 2, 0, 1, 1, 0]);
    let columns = page.header["columns"].as_array().unwrap();
    let degree = columns.iter().find(|column| column["name"] == "degree").unwrap();
    let degrees = page.section(degree["section"].as_str().unwrap()).unwrap().as_chunks::<4>().0;
    let degrees: Vec<f32> = degrees.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    assert_eq!(degrees, [3.0, 2.0, 2.0, 1.0]);
    assert!(page.header["notes"].to_string().contains("Edges have directions"));
}

/// Too many nodes and dimensions for a page: a sample of nodes, in fewer dimensions.
#[test]
fn large_embeddings_are_sampled() {
    let ids = NodeIds::StringIds((0..100_500).map(|node| format!("node {node}")).collect());
    let embedding = random(100_500, 128, ids);
    let config = ReportConfig { points: 10, map_nodes: 100_000, ..Default::default() };
    let page = report(&Subject::new("large", &embedding), &config).unwrap();
    assert!(page.len() < 12_000_000, "{}", page.len());
    let page = Unpacked::new(&page);
    assert_eq!((&page.header["nodes"], &page.header["shown"]), (&100_500.into(), &100_000.into()));
    let ids: Vec<String> = serde_json::from_slice(page.section("names").unwrap()).unwrap();
    assert_eq!(ids.len(), 100_500, "nodes that are not on the map are found as well");
    assert!(page.section("rows").is_some(), "which nodes are on the map");
    let dims = page.header["similarity"]["dims"].as_u64().unwrap();
    assert!((32..128).contains(&dims), "{dims}");
}

#[test]
fn rows_must_be_in_the_order_of_the_graph() {
    let graph = Arc::new(read("builtin:karate", &ReadOptions::default()).unwrap().graph);
    let ids = NodeIds::StringIds((0..34).rev().map(|node| node.to_string()).collect());
    let embedding = random(34, 4, ids);
    let subject = Subject { graph: Some(&graph), ..Subject::new("karate", &embedding) };
    let error = report(&subject, &ReportConfig::default()).unwrap_err().to_string();
    assert!(error.contains("not in the same order"), "{error}");
}

/// Numbers follow the arcs and lengths; the page itself searches by hops, along the arcs.
#[test]
fn the_page_says_what_distances_are() {
    let ids = NodeIds::Range { start: 0, len: 5 };
    let pairs = vec![(0, 1), (2, 1), (3, 2), (4, 3), (4, 0)];
    let page = |directed: bool, lengths: bool| {
        let weights = lengths.then(|| vec![0.5, 2.0, 1.0, 4.0, 8.0]);
        let list = EdgeList { pairs: pairs.clone(), weights, ids: ids.clone() };
        let graph = list.dataset(Origin { directed, ..Origin::default() }).unwrap().graph;
        let graph = Arc::new(if lengths { graph.with_weights_as_lengths() } else { graph });
        let embedding = random(5, 4, ids.clone());
        let subject = Subject { graph: Some(&graph), ..Subject::new("x", &embedding) };
        Unpacked::new(&report(&subject, &ReportConfig::default()).unwrap())
    };
    let by_length = "are the lengths of shortest paths; those of the maps";
    let along_arcs = "measures and hops from a selected node follow them";
    for (directed, lengths, says, unreachable) in [
        (false, false, vec![], 0),
        (true, false, vec![along_arcs], 12),
        (false, true, vec![by_length], 0),
        (true, true, vec![by_length, along_arcs], 12),
    ] {
        let page = page(directed, lengths);
        let notes = page.header["notes"].as_array().unwrap();
        assert_eq!(notes.len(), says.len(), "{notes:?}");
        for (note, says) in notes.iter().zip(says) {
            assert!(note.as_str().unwrap().contains(says), "{note}");
        }
        let bytes = page.section("edges").unwrap();
        if directed {
            // Per node, the number of arcs, and their targets, delta-encoded.
            assert_eq!(bytes, [1, 1, 0, 1, 1, 1, 2, 2, 0, 3]);
        } else {
            assert_eq!(edges(bytes, 5), [(0, 1), (0, 4), (1, 2), (2, 3), (3, 4)]);
        }
        let graph = &page.header["graph"];
        assert_eq!(graph["unreachable_pairs"], unreachable);
        assert_eq!(graph["directed"] == true, directed);
        assert_eq!(graph["lengths"].is_object(), lengths);
        assert_eq!(page.header["measures"]["length"].is_array(), lengths);
    }
}

#[test]
fn the_page_says_what_an_update_moved() {
    let embedding = random(3, 4, NodeIds::Range { start: 0, len: 3 });
    let updated = serde_json::json!({"new": 1, "removed": 2, "moved": 3, "kept": 4});
    let record = [("updated".to_owned(), updated)].into_iter().collect();
    let embedding = embedding.with_provenance(record);
    let page =
        Unpacked::new(&report(&Subject::new("x", &embedding), &ReportConfig::default()).unwrap());
    let notes = page.header["notes"].to_string();
    assert!(notes.contains("1 new nodes, 2 removed, 3 moved, 4 as before"), "{notes}");
}
