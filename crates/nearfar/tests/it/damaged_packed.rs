//! Packed graphs that are damaged, cut, or something else.

use std::fs;
use std::path::Path;

use nearfar::graph::{Graph, Node, ReadOptions, read};
use nearfar::rng::{Purpose, Rng};

/// A packed graph with texts as ids and with weights, and its bytes.
fn packed(folder: &Path) -> (Graph, Vec<u8>) {
    let line = |node: u32| format!("node {node}\tnode {}\t{}\n", node * 2 / 3, node % 7 + 1);
    let text: String = (1..200).map(line).collect();
    let (edges, file) = (folder.join("edges.tsv"), folder.join("graph.nfg"));
    fs::write(&edges, text).unwrap();
    let graph = read(edges.to_str().unwrap(), &ReadOptions::default()).unwrap().graph;
    graph.write_packed(&file).unwrap();
    (graph, fs::read(file).unwrap())
}

/// Reads bytes as a packed graph; the error without the name of the file.
fn open(folder: &Path, bytes: &[u8]) -> Result<Graph, String> {
    let path = folder.join("damaged.nfg");
    fs::write(&path, bytes).unwrap();
    let path = path.to_str().unwrap();
    read(path, &ReadOptions::default())
        .map(|dataset| dataset.graph)
        .map_err(|error| error.to_string().strip_prefix(path).expect("the file's name").to_owned())
}

fn is_same(a: &Graph, b: &Graph) -> bool {
    let row = |graph: &Graph, node: Node| {
        let weights = graph.weights(node).map(<[f32]>::to_vec);
        (graph.ids().get(node).into_owned(), graph.neighbours(node).to_vec(), weights)
    };
    a.nodes() == b.nodes() && (0..a.nodes() as Node).all(|node| row(a, node) == row(b, node))
}

/// Bits between two sections belong to neither, and change nothing.
#[test]
fn a_flipped_bit_is_refused_or_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, whole) = packed(folder.path());
    assert!(is_same(&open(folder.path(), &whole).unwrap(), &graph));
    let mut rng = Rng::new(1, Purpose::Edge, 0, 0);
    let mut refused = 0;
    for _ in 0..300 {
        let mut flipped = whole.clone();
        flipped[rng.below(whole.len())] ^= 1 << rng.below(8);
        match open(folder.path(), &flipped) {
            Ok(found) => assert!(is_same(&found, &graph)),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 270, "{refused} of 300");
}

#[test]
fn what_is_cut_or_longer_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (_, whole) = packed(folder.path());
    let says = |bytes: &[u8]| open(folder.path(), bytes).unwrap_err();
    for length in (0..whole.len()).step_by(97) {
        says(&whole[..length]);
    }
    let length = whole.len();
    let longer = says(&[&whole[..], b"\0"].concat());
    assert!(longer.contains(&format!("{} bytes and should have {length}", length + 1)), "{longer}");
    let cut = says(&whole[..length - 64]);
    assert!(cut.contains("copy it again"), "{cut}");
}

#[test]
fn other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (_, whole) = packed(folder.path());
    let says = |bytes: &[u8]| open(folder.path(), bytes).unwrap_err();
    assert!(says(b"").contains("empty"));
    assert!(says(b"1\t2\n2\t3\n").contains("not a packed graph"));
    assert!(says(&[0; 5000]).contains("not a packed graph"));
    let mut newer = whole;
    newer[8] = 2;
    assert!(says(&newer).contains("version 2; this program reads version 1"));
}
