//! Tests on real graphs, in the folder that `NEARFAR_DATA` names. `cargo test` ignores them; `./test`
//! runs them where the folder exists: `cargo test -p nearfar-cli --test it -- --ignored`.

use std::path::PathBuf;

use nearfar::graph::{ReadOptions, read};
use serde_json::Value;

use crate::chi_square::{chi_square, chi_square_bound};
use crate::{json, naive, text};

/// The folder of a dataset.
fn dataset(name: &str) -> PathBuf {
    let data = std::env::var_os("NEARFAR_DATA").expect("NEARFAR_DATA names a folder of datasets");
    let folder = PathBuf::from(data).join(name);
    assert!(folder.is_dir(), "NEARFAR_DATA: no dataset '{name}': {} is missing", folder.display());
    folder
}

/// Table 1 of the paper: nodes, directed edges, classes, largest distance, mean degree.
#[test]
#[ignore = "needs NEARFAR_DATA"]
fn table_1_of_the_paper() {
    let rows = [
        ("citeseer", 2120, 7358, 6, 28, 3.47),
        ("cora", 2485, 10_138, 7, 19, 4.08),
        ("pubmed", 19_717, 88_648, 3, 18, 4.5),
        ("ppi", 2339, 65_430, 121, 7, 27.97),
        ("synthetic-sparse", 2000, 4982, 7, 106, 2.49),
        ("synthetic-moderate", 2000, 12_062, 5, 82, 6.03),
        ("synthetic-dense", 2000, 30_472, 4, 4, 15.24),
    ];
    for (name, nodes, edges, classes, diameter, degree) in rows {
        let folder = dataset(name);
        let stats = json(&["stats", text(&folder), "--json"]);
        let field = |field: &str| stats[field].as_u64().unwrap();
        assert_eq!(field("nodes"), nodes, "{name}");
        assert_eq!(field("edges_directed"), edges, "{name}");
        assert_eq!(field("classes"), classes, "{name}");
        assert_eq!(field("diameter"), diameter, "{name}");
        assert!((stats["mean_degree"].as_f64().unwrap() - degree).abs() < 0.006, "{name}");
        assert_eq!(field("components"), 1, "{name}");
        let pairs = stats["distance_histogram"].as_object().unwrap();
        let pairs: u64 = pairs.values().map(|pairs| pairs.as_u64().unwrap()).sum();
        assert_eq!(pairs, nodes * (nodes - 1), "{name}");
    }
}

/// A million negatives of one node of Cora, compared with the exact distribution of each sampler.
#[test]
#[ignore = "needs NEARFAR_DATA"]
fn every_sampler_on_cora() {
    let folder = dataset("cora");
    let graph = read(text(&folder), &ReadOptions::default()).unwrap().graph;
    let distances = naive::Distances::new(&graph, None);
    let landmarks = naive::Landmarks::new(&graph, &distances, 249);
    let centre = 1000;
    let d = &distances;
    let laws: [(&[&str], Vec<f64>); 13] = [
        (&["uniform"], naive::uniform(graph.nodes(), centre)),
        (&["degree"], naive::degree(&graph, centre, 0.75)),
        (&["edge"], naive::edge(&graph, centre)),
        (&["distance", "--strategy", "table"], naive::distance(d, centre, 1.0)),
        (&["distance", "--strategy", "levels"], naive::distance(d, centre, 1.0)),
        (&["distance", "--gamma", "0.5"], naive::distance(d, centre, 0.5)),
        (&["distance", "--gamma", "-2"], naive::distance(d, centre, -2.0)),
        (&["distance-min"], naive::bounded(d, centre, 1.0, f64::min)),
        (&["distance-max"], naive::bounded(d, centre, 1.0, f64::max)),
        (&["landmark-approx"], naive::landmark_approx(d, &landmarks, centre, 1.0)),
        (
            &["landmark-approx", "--gamma", "1.25"],
            naive::landmark_approx(d, &landmarks, centre, 1.25),
        ),
        (
            &["landmark-approx", "--gamma", "-1"],
            naive::landmark_approx(d, &landmarks, centre, -1.0),
        ),
        (&["landmark"], naive::landmark(d, &landmarks, centre, 1.0)),
    ];
    for (options, law) in laws {
        let base =
            ["sample", text(&folder), "--node", "1000", "-n", "1000000", "--json", "--negatives"];
        let sample = json(&[&base, options].concat());
        let count = |node: usize| sample["counts"].get(node.to_string()).and_then(Value::as_u64);
        let counts: Vec<u32> =
            (0..law.len()).map(|node| count(node).unwrap_or(0).try_into().unwrap()).collect();
        assert_eq!(counts.iter().sum::<u32>(), 1_000_000);
        let (chi2, freedom) = chi_square(&counts, &law);
        let bound = chi_square_bound(freedom);
        assert!(chi2 <= bound, "{options:?}: chi-square {chi2:.0} over {bound:.0}");
    }
}

#[test]
#[ignore = "needs NEARFAR_DATA"]
fn disconnected_graphs_keep_every_node() {
    let folder = dataset("citeseer");
    let [edges, nodes] = ["edges_full.tsv", "labels_full.tsv"].map(|name| folder.join(name));
    let stats = json(&["stats", text(&edges), "--nodes", text(&nodes), "--json"]);
    assert_eq!((&stats["nodes"], &stats["components"]), (&3327.into(), &438.into()));
    assert_eq!((&stats["isolated"], &stats["diameter"]), (&48.into(), &28.into()));
    let draw = ["--node", "0", "-n", "1000", "--json"];
    let sample = json(&[&["sample", text(&edges), "--nodes", text(&nodes)][..], &draw].concat());
    assert_eq!(sample["far"], 29);
}

/// From graph to scores: node classification and link prediction on Cora.
#[test]
#[ignore = "needs NEARFAR_DATA"]
fn classification_and_link_prediction_on_cora() {
    let folder = dataset("cora");
    let work = tempfile::tempdir().unwrap();
    let vectors = work.path().join("cora.npy");
    crate::nearfar(&["embed", text(&folder), "-o", text(&vectors)]).assert().success();
    let scores = json(&["evaluate", text(&vectors), "--labels", text(&folder), "--json"]);
    let f1 = scores["f1_macro"]["mean"].as_f64().unwrap();
    assert!((0.74..0.79).contains(&f1), "F1-macro {f1}");
    assert_eq!((&scores["scored"], &scores["val"]["scored"]), (&915.into(), &459.into()));
    let scores = json(&["links", text(&folder), "--seeds", "1", "--json"]);
    let auc = scores["auc"]["mean"].as_f64().unwrap();
    assert!((0.95..0.99).contains(&auc), "AUC {auc}");
}
