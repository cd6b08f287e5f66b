//! `nearfar links`: output and error messages.

use std::fs;

use crate::{failure, json, messages, output, text};

const QUICK: [&str; 6] = ["--dim", "8", "--epochs", "4", "--seeds", "2"];

#[test]
fn edges_score_above_other_pairs() {
    // Few edges of the sparse graph close a cycle; its link prediction needs stronger L2
    // regularisation than classification does.
    let sparse = ["builtin:sparse", "--dim", "16", "--l2", "0.3"];
    let moderate = ["builtin:moderate", "--dim", "32"];
    check_scores(&sparse, 0.8);
    check_scores(&moderate, 0.9);
}

fn check_scores(graph: &[&str], least: f64) {
    let scores = json(&[&["links"], graph, &["--seeds", "2", "--json"]].concat());
    assert_eq!(scores["asked"], scores["held_out"]);
    assert_eq!(scores["auc"]["runs"].as_array().unwrap().len(), 2);
    for score in ["auc", "average_precision"] {
        let mean = scores[score]["mean"].as_f64().unwrap();
        assert!(mean > least && mean < 1.0, "{graph:?}: {score} {mean}");
    }
    for operator in ["hadamard", "average", "l1", "l2"] {
        let scores = &scores["operators"][operator];
        for score in ["auc", "average_precision", "mrr", "hits@10", "hits@50", "hits@100"] {
            let mean = scores[score]["mean"].as_f64().unwrap();
            assert!((0.0..=1.0).contains(&mean), "{operator} {score} {mean}");
        }
    }
}

#[test]
fn scores_do_not_depend_on_threads() {
    let scores = |threads: &str| {
        let arguments = ["links", "builtin:karate", "--json", "--threads", threads];
        output(&[&arguments[..], &QUICK].concat())
    };
    assert_eq!(scores("1"), scores("3"));
}

#[test]
fn table_output() {
    // The last digits differ between machines; the layout does not.
    let table = output(&[&["links", "builtin:karate"][..], &QUICK].concat());
    let shape = table.replace(|c: char| c.is_ascii_digit(), "0");
    insta::assert_snapshot!(shape, @"
    builtin:karate: 0 of 00 edges held out, the rest connected as before; as many pairs without an edge; 0 seeds

                   AUC                avg. precision     MRR                 Hits@00   Hits@00  Hits@000
      dot product  0.0000 ± 0.0000    0.0000 ± 0.0000    0.0000 ± 0.0000      0.0000    0.0000    0.0000
      hadamard     0.0000 ± 0.0000    0.0000 ± 0.0000    0.0000 ± 0.0000      0.0000    0.0000    0.0000
      average      0.0000 ± 0.0000    0.0000 ± 0.0000    0.0000 ± 0.0000      0.0000    0.0000    0.0000
      l0           0.0000 ± 0.0000    0.0000 ± 0.0000    0.0000 ± 0.0000      0.0000    0.0000    0.0000
      l0           0.0000 ± 0.0000    0.0000 ± 0.0000    0.0000 ± 0.0000      0.0000    0.0000    0.0000
    ");
}

/// A ring with a tail stays connected without one edge of the ring, and without no other.
#[test]
fn fewer_edges_than_requested() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ring.tsv");
    fs::write(&path, "a b\nb c\nc d\nd e\ne a\ne f\nf g\ng h\n").unwrap();
    let ring = ["links", text(&path), "--test-ratio", "0.5", "--dim", "4"];
    insta::assert_snapshot!(messages(&ring).lines().last().unwrap(), @"held out 1 edge instead of 4, so that the rest stays connected; use --keep-connected false to hold out more");
    let free = json(&[&ring[..], &["--keep-connected", "false", "--json"]].concat());
    assert_eq!((&free["asked"], &free["held_out"]), (&4.into(), &4.into()));
}

#[test]
fn wrong_input() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree.tsv");
    fs::write(&tree, "a b\nb c\nb d\n").unwrap();
    let full = folder.path().join("full.tsv");
    fs::write(&full, "a b\nb c\nc a\n").unwrap();
    let messages = [
        failure(&["links", text(&tree)]),
        failure(&["links", text(&full)]),
        failure(&["links", "builtin:karate", "--test-ratio", "0"]),
        failure(&["links", "builtin:karate", "--seeds", "0"]),
        failure(&["links", "builtin:karate", "--c", "0"]),
        failure(&["links", "builtin:karate", "--dim", "0"]),
        failure(&["links", "builtin:karate", "--q", "4"]),
    ];
    insta::assert_snapshot!(messages.concat(), @"
    error: the graph has no cycle: removing any edge disconnects it; use --keep-connected false
    error: the evaluation needs 3 node pairs without an edge, and the graph has only 0; link prediction needs a sparser graph
    error: --test-ratio 0: expected a fraction between 0 and 1
    error: --seeds 0: expected at least 1
    error: --c 0: expected a number above 0
    error: --dim 0: expected 1 to 4096
    error: p and q are parameters of node2vec; use --model node2vec
    ");
}
