//! Invalid files of vectors, and paths that cannot be written: error messages name the file and the
//! remedy.

use std::fs;

use nearfar::embedding::{Embedding, Format, check_writable};
use nearfar::graph::NodeIds;

/// Loads a file with this content and checks the error message after the file name.
fn check(name: &str, content: impl AsRef<[u8]>, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    let error = Embedding::load(&path).expect_err(name).to_string();
    let (_, message) = error.split_once(name).unwrap_or_else(|| panic!("no {name} in: {error}"));
    assert!(message.starts_with(expected), "{name}: expected '{expected}' in '{message}'");
}

fn embedding(ids: &[&str]) -> Embedding {
    let vectors = (0..ids.len() * 2).map(|at| at as f32).collect();
    Embedding::new(NodeIds::StringIds(ids.iter().collect()), 2, vectors).unwrap()
}

#[test]
fn word2vec_text() {
    check("a.w2v", "", ": the file is empty");
    check("a.w2v", "ann 1 2\n", ":1: expected two integers");
    check("a.w2v", "2 0\n", ":1: expected two integers");
    for header in ["7 2\r", "7 2", "7 2\r\n", "7 2\n"] {
        check("a.w2v", header, ":1: the header says 7 vectors, found 0");
    }
    check("a.w2v", "0 2\n", ": an embedding of 0 nodes");
    check("a.w2v", "2 2\na 1 2\n", ":1: the header says 2 vectors, found 1");
    check("a.w2v", "1 2\na 1 2\nb 1 2\n", ":1: the header says 1 vectors, found 2");
    check("a.w2v", "2 2\na 1 2\nb 1\n", ":3: expected 2 values as in line 1, found 1");
    check("a.w2v", "2 2\r\na 1 2\r\nb 1 2 3\r\n", ":3: expected 2 values as in line 1, found 3");
    check("a.w2v", "2 2\na 1 2\nann lee 1 2\n", ":3: 'lee' is not a number");
    check("a.w2v", "2 2\na 1 2\na 1 2\n", ":3: duplicate node 'a', first in line 2");
    check("a.w2v", "2 2\na 1 2\n\nb 1 2\n", ":3: an empty id");
    check("a.w2v", b"2 2\na 1 2\n\xff 1 2\n", ":3: this is not UTF-8");
    check(
        "a.w2v",
        "18446744073709551615 9999999999999999\na 1\n",
        ":2: expected 9999999999999999 values",
    );
}

#[test]
fn tsv() {
    check("a.tsv", "", ": the file is empty");
    check("a.tsv", "a 1 2\n", ":1: no value after the id");
    check("a.tsv", "node\tx\ty\na\t1\t2\n", ":1: 'x' is not a number");
    check("a.tsv", "a\t1\t2\nb\t1\n", ":2: expected 2 values as in line 1, found 1");
    check("a.tsv", "a\t1\t2\nb\t1\t\n", ":2: '' is not a number");
    check("a.tsv", "a\t1\nb\t1\n\n", ":3: an empty id");
    let rows: Vec<String> = (0..200_000).map(|row| format!("{row}\t0.25\n")).collect();
    check("a.tsv", rows.concat() + "7\t0.5\n", ":200001: duplicate node '7', first in line 8");
}

#[test]
fn word2vec_binary() {
    check("a.bin", "", ": not in word2vec format");
    check("a.bin", "ann 1 2\n", ": not in word2vec format");
    let row = |id: &str| [id.as_bytes(), b" ", &[0; 8]].concat();
    let file = |head: &str, rows: &[Vec<u8>]| [head.as_bytes(), &rows.concat()].concat();
    check("a.bin", file("2 2\n", &[row("a")]), ": vector 2: the file ends before it");
    check("a.bin", &file("1 2\n", &[row("a")])[..9], ": vector 1: the file is truncated");
    check(
        "a.bin",
        file("2 2\n", &[row("a"), row("a")]),
        ": vector 2: duplicate node 'a', first in vector 1",
    );
    check("a.bin", file("1 2\n", &[row("a"), row("b")]), ": data after the 1 vectors");
    check("a.bin", file("1 2\n", &[row("")]), ": vector 1: the id is empty");
    check(
        "a.bin",
        file("1 4611686018427387904\n", &[row("a")]),
        ": 4611686018427387904 dimensions are",
    );
    check(
        "a.bin",
        file("9 4611686018427387903\n", &[row("a")]),
        ": vector 1: the file is truncated",
    );
    check("a.bin", file("1 2\n", &[vec![b'a'; 100_000]]), ": vector 1: no space after the id");
}

#[test]
fn npy() {
    let header = |descr: &str, shape: &str, fortran: &str| {
        let text =
            format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
        [&b"\x93NUMPY\x01\x00"[..], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat()
    };
    let array = |descr, shape, values| [header(descr, shape, "False"), vec![0; values]].concat();
    check("a.npy", "", ": cannot read: the file is truncated");
    check("a.npy", array("<f4", "(2, 2)", 15), ": cannot read: the file is truncated");
    check("a.npy", array("<f4", "(4,)", 16), ": an array of floats of shape [4]");
    check("a.npy", array("<i4", "(2, 2)", 16), ": an array of integers of shape [2, 2]");
    check("a.npy", array("<f4", "(2, 0)", 0), ": an embedding of 2 nodes in 0 dimensions");
    check("a.npy", array("<f4", "(0, 2)", 0), ": an embedding of 0 nodes in 2 dimensions");
    check("a.npy", [header("<f4", "(0, 0)", "True")].concat(), ": an embedding of 0 nodes");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    embedding(&["a", "b"]).save(&path, None).unwrap();
    for (ids, expected) in [
        ("a\n", "x.nodes.tsv: 1 ids for the 2 vectors"),
        ("a\nb\nc\n", "x.nodes.tsv: 3 ids for the 2 vectors"),
        ("a\na\n", "x.nodes.tsv:2: duplicate node 'a', first in line 1"),
        ("a\n\n", "x.nodes.tsv:2: an empty id"),
    ] {
        fs::write(folder.path().join("x.nodes.tsv"), ids).unwrap();
        let error = Embedding::load(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn safetensors() {
    let file = |header: &str, data: usize| {
        [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; data]].concat()
    };
    let tensor = |name: &str, dtype: &str, shape: &str, from: usize, to: usize| {
        format!(r#""{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{from},{to}]}}"#)
    };
    let vectors = tensor("vectors", "F32", "[2,1]", 0, 8);
    let name = "a.safetensors";
    check(name, "", ": cannot read: ");
    check(name, "not a file of tensors", ": cannot read: ");
    check(name, file(&format!("{{{vectors}}}"), 7), ": cannot read: ");
    check(name, file(&format!("{{{}}}", tensor("x", "F32", "[2]", 0, 8)), 8), ": no tensor 'vec");
    let integers = tensor("vectors", "I32", "[2,1]", 0, 8);
    check(name, file(&format!("{{{integers}}}"), 8), ": vectors of I32");
    let flat = tensor("vectors", "F32", "[2]", 0, 8);
    check(name, file(&format!("{{{flat}}}"), 8), ": 'vectors' has shape [2]");
    let ids = |bytes: usize, dtype: &str, lengths: [u64; 2]| {
        let nodes = tensor("nodes", "U8", &format!("[{bytes}]"), 24, 24 + bytes);
        let count = tensor("node_lengths", dtype, "[2]", 8, 24);
        let lengths = lengths.map(u64::to_le_bytes).concat();
        let header = format!("{{{vectors},{count},{nodes}}}");
        [file(&header, 8), lengths, b"abcdef"[..bytes].to_vec()].concat()
    };
    check(
        name,
        ids(2, "U64", [1, 1]),
        ": invalid ids; expected U8 'nodes' and 2 I64 'node_lengths'",
    );
    check(name, ids(2, "I64", [1, 2]), ": the id of vector 2 ends beyond 'nodes'");
    check(name, ids(2, "I64", [1, u64::MAX]), ": the id of vector 2 ends beyond 'nodes'");
    check(name, ids(3, "I64", [1, 1]), ": 'nodes' has 1 bytes after the last id");
    check(name, ids(1, "I64", [0, 1]), ": node 0 has an empty id");
    check(name, ids(0, "I64", [0, 0]), ": duplicate node '' in vectors 1 and 2");
}

#[cfg(feature = "parquet")]
#[test]
fn every_truncated_parquet_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    embedding(&["a", "b"]).save(&path, None).unwrap();
    let bytes = fs::read(&path).unwrap();
    for cut in 0..bytes.len() {
        check("a.parquet", &bytes[..cut], ": cannot read: ");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_without_valid_vectors() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors-bad");
    for (name, expected) in [
        ("no-floats", "no column of floats or lists of floats; found: node, label"),
        ("ragged", "the vector in row 2 does not have 3 values"),
        ("short-last", "the vector in row 3 does not have 2 values"),
        ("null", "the vector in row 2 is empty or has nulls"),
        ("empty", "the vector in row 3 is empty or has nulls"),
        ("null-id", "column 'node' is null in row 2"),
        ("same-id", "rows 1 and 3 have the same id"),
        ("two-ids", "several columns may hold the ids"),
        ("two-lists", "several columns are lists"),
        ("no-rows", "an embedding of 0 nodes"),
    ] {
        let error = Embedding::load(&folder.join(format!("{name}.parquet"))).expect_err(name);
        let error = error.to_string();
        assert!(error.contains(&format!("{name}.parquet: {expected}")), "{error}");
    }
}

#[test]
fn paths_and_ids_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let rejected = |name: &str, format: Option<Format>, ids: &[&str]| {
        let path = folder.path().join(name);
        let embedding = embedding(ids);
        let message = check_writable(&path, format, embedding.ids()).expect_err(name).to_string();
        assert!(embedding.save(&path, format).is_err(), "{name}");
        message
    };
    let message = rejected("x.gz", None, &["a"]);
    assert!(message.contains("unknown file extension '.gz'; use one of .npy, .w2v"), "{message}");
    assert!(message.contains("--format"), "{message}");
    assert!(rejected("x", None, &["a"]).contains("no file extension"));
    assert!(rejected("no/x.npy", None, &["a"]).contains("create it or choose another"));
    let message = rejected("x.w2v", None, &["a", "ann lee"]);
    assert!(message.contains("node id \"ann lee\" contains whitespace"), "{message}");
    let message = rejected("x.dat", Some(Format::Tsv), &["a", "b\tc"]);
    assert!(message.contains("node id \"b\\tc\" contains a tab"), "{message}");
    assert!(rejected("x.npy", None, &["a\nb"]).contains("write .parquet or .safetensors"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "no file is left");
}

/// Whatever byte is corrupt, loading returns vectors or an error that names the file.
#[test]
fn files_with_a_corrupt_byte_do_not_panic() {
    let folder = tempfile::tempdir().unwrap();
    let mut extensions = vec!["npy", "w2v", "safetensors", "tsv"];
    if cfg!(feature = "parquet") {
        extensions.push("parquet");
    }
    for extension in extensions {
        let path = folder.path().join(format!("x.{extension}"));
        embedding(&["a", "b", "c"]).save(&path, None).unwrap();
        let bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            for corrupt in [0, 0xff, bytes[at] ^ 1, bytes[at] ^ 0x80] {
                let mut bytes = bytes.clone();
                bytes[at] = corrupt;
                fs::write(&path, bytes).unwrap();
                if let Err(error) = Embedding::load(&path) {
                    assert!(error.to_string().contains(&format!("x.{extension}")), "{error}");
                }
            }
        }
    }
}
