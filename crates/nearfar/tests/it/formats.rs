//! Every file in `tests/data` holds the same graph, written by other libraries (see
//! `scripts/make-fixtures`). File names state what differs between them.

use std::fs;
use std::path::{Path, PathBuf};

use nearfar::graph::{Dataset, Node, ReadOptions, read};

const EDGES: [(Node, Node, f32); 5] =
    [(0, 1, 1.0), (0, 2, 0.5), (1, 2, 2.0), (2, 3, 0.25), (3, 4, 3.0)];
const TEXT_IDS: [&str; 5] = ["ann", "bob, the 2nd", "carl \"c\"", "dörte", "eve"];

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Whether the format is one that the feature `parquet` reads.
fn needs_parquet(name: &str) -> bool {
    ["parquet", "arrow", "feather", "ipc"].iter().any(|format| name.contains(format))
}

fn check(dataset: &Dataset, name: &str) {
    let graph = &dataset.graph;
    let is_matrix = name.contains(".npz") || name.contains(".mtx");
    assert_eq!(graph.nodes(), if is_matrix { 6 } else { 5 }, "{name}: nodes");
    for (row, text) in (0..).zip(TEXT_IDS) {
        let id = match (name.contains("words"), name.contains(".mtx")) {
            (true, _) => text.to_owned(),
            (false, false) => row.to_string(),
            (false, true) => (row + 1).to_string(),
        };
        assert_eq!(graph.ids().get(row), id, "{name}: id of row {row}");
    }
    assert_eq!(graph.edges(), EDGES.len(), "{name}: edges");
    assert_eq!(graph.is_weighted(), name.contains("weights"), "{name}: weighted");
    for (a, b, weight) in EDGES {
        for (from, to) in [(a, b), (b, a)] {
            let at = graph.neighbours(from).binary_search(&to).expect(name);
            let found = graph.weights(from).map(|weights| weights[at].to_bits());
            assert!(found.is_none_or(|found| found == weight.to_bits()), "{name}: weight");
        }
    }
    let header = name.contains("header").then_some(1);
    assert_eq!(dataset.origin.header, header, "{name}");
    let mut notes = dataset.notes.iter().map(ToString::to_string);
    assert!(notes.all(|note| note.starts_with("not read: column")), "{name}");
}

#[test]
fn every_format_gives_the_same_graph() {
    let files = files();
    assert!(files.len() > 50, "test files are missing");
    for path in files {
        if cfg!(not(feature = "parquet")) && needs_parquet(&name(&path)) {
            continue;
        }
        let dataset = read(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
        check(&dataset, &name(&path));
    }
}

#[test]
fn upper_case_extensions_and_compressed_archives_are_recognised() {
    let folder = tempfile::tempdir().unwrap();
    for path in files() {
        let name = name(&path);
        let extension = name.rsplit('.').next().unwrap();
        let is_archive =
            extension == "npz" || (cfg!(feature = "parquet") && extension == "parquet");
        if !is_archive {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let upper_case = folder.path().join(name.to_uppercase());
        fs::write(&upper_case, &bytes).unwrap();
        check(&read(upper_case.to_str().unwrap(), &ReadOptions::default()).unwrap(), &name);
        let packed = folder.path().join(format!("{name}.zst"));
        fs::write(&packed, zstd::encode_all(&bytes[..], 1).unwrap()).unwrap();
        check(&read(packed.to_str().unwrap(), &ReadOptions::default()).unwrap(), &name);
    }
}

#[test]
fn nodes_files_add_isolated_nodes_to_edge_lists_but_not_to_matrices() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = folder.path().join("nodes.tsv");
    fs::write(&nodes, "4\n5\n3\n2\n1\n0\n").unwrap();
    let options = ReadOptions { nodes: Some(nodes), ..ReadOptions::default() };
    for path in files() {
        let name = name(&path);
        if name.contains("words") || (cfg!(not(feature = "parquet")) && needs_parquet(&name)) {
            continue;
        }
        let dataset = read(path.to_str().unwrap(), &options);
        if name.contains(".npz") || name.contains(".mtx") {
            let error = dataset.unwrap_err().to_string();
            assert!(error.contains(&name) && error.contains("omit --nodes"), "{error}");
        } else {
            let graph = dataset.unwrap().graph;
            assert_eq!((graph.nodes(), graph.edges(), graph.degree(5)), (6, 5, 0), "{name}");
        }
    }
}

#[test]
fn quotes_work_with_any_separator() {
    let folder = tempfile::tempdir().unwrap();
    for (extension, separator) in [("csv", ","), ("csv", " , "), ("csv", ";"), ("tsv", "\t")] {
        let path = folder.path().join(format!("a.{extension}"));
        let lines = ["\"a b\"|c", "c|\"d\"\"e\"", "\"a b\"|\"f\""].join("\n");
        fs::write(&path, lines.replace('|', separator)).unwrap();
        let graph = read(path.to_str().unwrap(), &ReadOptions::default()).unwrap().graph;
        let ids: Vec<_> = (0..graph.nodes() as Node).map(|node| graph.ids().get(node)).collect();
        assert_eq!(ids, ["a b", "c", "d\"e", "f"], "{separator:?}");
        assert_eq!(graph.edges(), 3, "{separator:?}");
    }
}

#[test]
fn ids_beyond_four_bytes_keep_their_digits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("big.npy");
    let mut bytes = npy("<u8", "(2, 2)");
    for id in [7, u64::MAX, u64::MAX, u64::from(u32::MAX)] {
        bytes.extend(id.to_le_bytes());
    }
    fs::write(&path, bytes).unwrap();
    let graph = read(path.to_str().unwrap(), &ReadOptions::default()).unwrap().graph;
    let names: Vec<_> = (0..3).map(|row| graph.ids().get(row)).collect();
    assert_eq!(names, ["7", "18446744073709551615", "4294967295"]);
    assert!(graph.has_edge(0, 1) && graph.has_edge(1, 2));
}

fn npy(descr: &str, shape: &str) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes
}
