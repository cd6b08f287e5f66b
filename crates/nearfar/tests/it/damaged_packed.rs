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

/// Changes the bytes of a section, and the checksums with them.
fn forged(whole: &[u8], section: &str, change: impl Fn(&mut [u8])) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap()) as usize;
    let is_it = |entry: &usize| bytes[*entry..].starts_with(&[section.as_bytes(), &[0]].concat());
    let entry = (64..4096).step_by(64).find(is_it).expect("a section");
    let start = number(&bytes[entry + 32..entry + 40]);
    let end = start + number(&bytes[entry + 40..entry + 48]);
    change(&mut bytes[start..end]);
    let checksum = crc32fast::hash(&bytes[start..end]);
    bytes[entry + 48..entry + 52].copy_from_slice(&checksum.to_le_bytes());
    bytes[24..28].fill(0);
    let checksum = crc32fast::hash(&bytes[..4096]);
    bytes[24..28].copy_from_slice(&checksum.to_le_bytes());
    bytes
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

/// What checksums cannot tell: arrays that are not those of a graph.
#[test]
fn forged_contents_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, whole) = packed(folder.path());
    assert!(is_same(&open(folder.path(), &forged(&whole, "targets", |_| {})).unwrap(), &graph));
    let set = |at: usize, value: u32| {
        move |bytes: &mut [u8]| bytes[4 * at..4 * at + 4].copy_from_slice(&value.to_le_bytes())
    };
    let says = |section: &str, change: &dyn Fn(&mut [u8])| {
        open(folder.path(), &forged(&whole, section, change)).unwrap_err()
    };
    let row = |node: Node| graph.neighbours(node);
    // Node 0 has several neighbours, in increasing order; the last one may be another node.
    let [.., before, last] = *row(0) else { panic!("several neighbours") };
    let (at, n) = (row(0).len() - 1, graph.nodes() as Node);
    for (other, is_of_node_0) in
        [(n, true), (u32::MAX, true), (0, true), (before, true), (last + 1, false)]
    {
        let error = says("targets", &set(at, other));
        assert_eq!(error.contains("the neighbours of node 0"), is_of_node_0, "{other}: {error}");
        assert!(error.contains("not those of a graph"), "{other}: {error}");
    }
    for value in [0.0_f32, -1.0, f32::NAN, f32::INFINITY, 77.0] {
        let error = says("weights", &set(at, value.to_bits()));
        assert!(error.contains("the edges are not those of a graph"), "{value}: {error}");
    }
    // Lower or upper halves of offsets.
    for (at, value) in [(2, u32::MAX), (3, 1), (3, u32::MAX), (2, 0)] {
        let error = says("offsets", &set(at, value));
        assert!(error.contains("not those of a graph"), "{at}, {value}: {error}");
    }
    for (at, value) in [(0, u32::MAX), (1, 1), (2, 0)] {
        let error = says("ids.ends", &set(at, value));
        assert!(error.contains("the ids are not texts"), "{at}, {value}: {error}");
    }
    assert!(says("ids.text", &|bytes| bytes[0] = 0xff).contains("the ids are not texts"));
    // An index that finds no id, or another one, is harmless.
    for value in [u32::MAX, n, 0] {
        let bytes = forged(&whole, "ids.slots", |bytes| {
            bytes.as_chunks_mut::<4>().0.fill(value.to_le_bytes());
        });
        let found = open(folder.path(), &bytes).unwrap();
        assert!(found.ids().find("node 7").is_none(), "{value}");
    }
}

/// In a directed graph, the arcs into a node are those of all rows.
#[test]
fn forged_sources_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (edges, file) = (folder.path().join("edges.tsv"), folder.path().join("graph.nfg"));
    fs::write(&edges, "0 1\n1 2\n2 3\n3 0\n0 2\n").unwrap();
    let options = ReadOptions { directed: true, ..ReadOptions::default() };
    read(edges.to_str().unwrap(), &options).unwrap().graph.write_packed(&file).unwrap();
    let whole = fs::read(file).unwrap();
    assert!(open(folder.path(), &whole).unwrap().is_directed());
    // The only arc into node 1 came from node 0.
    let other = forged(&whole, "incoming.sources", |bytes| bytes[4] = 2);
    let error = open(folder.path(), &other).unwrap_err();
    assert!(error.contains("the edges are not those of a graph"), "{error}");
}
