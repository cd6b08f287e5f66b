//! Files that hold no vectors, and places where none can be saved: errors name the file and the
//! way out.

use std::fs;

use nearfar::embedding::{Embedding, Format, check_writable};
use nearfar::graph::NodeIds;

/// Loads a file with this content and checks what the error says after the file's name.
fn check(name: &str, content: impl AsRef<[u8]>, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    let error = Embedding::load(&path).expect_err(name).to_string();
    let (_, said) = error.split_once(name).unwrap_or_else(|| panic!("no {name} in: {error}"));
    assert!(said.starts_with(expected), "{name}: expected '{expected}' in '{said}'");
}

fn embedding(ids: &[&str]) -> Embedding {
    let vectors = (0..ids.len() * 2).map(|at| at as f32).collect();
    Embedding::new(NodeIds::StringIds(ids.iter().collect()), 2, vectors).unwrap()
}

#[test]
fn text_of_word2vec() {
    check("a.w2v", "", ": the file is empty");
    check("a.w2v", "ann 1 2\n", ":1: expected two numbers");
    check("a.w2v", "2 0\n", ":1: expected two numbers");
    check("a.w2v", "0 2\n", ": an embedding of 0 nodes");
    check("a.w2v", "2 2\na 1 2\n", ":1: this line promises 2 vectors, and 1 follow");
    check("a.w2v", "1 2\na 1 2\nb 1 2\n", ":1: this line promises 1 vectors, and 2 follow");
    check("a.w2v", "2 2\na 1 2\nb 1\n", ":3: expected 2 numbers as line 1 says, found 1");
    check("a.w2v", "2 2\r\na 1 2\r\nb 1 2 3\r\n", ":3: expected 2 numbers as line 1 says, found 3");
    check("a.w2v", "2 2\na 1 2\nann lee 1 2\n", ":3: 'lee' where a number should be");
    check("a.w2v", "2 2\na 1 2\na 1 2\n", ":3: node 'a' again, first in line 2");
    check("a.w2v", "2 2\na 1 2\n\nb 1 2\n", ":3: an empty id");
    check("a.w2v", b"2 2\na 1 2\n\xff 1 2\n", ":3: this is not UTF-8");
    check(
        "a.w2v",
        "18446744073709551615 9999999999999999\na 1\n",
        ":2: expected 9999999999999999 numbers",
    );
}

#[test]
fn tables_of_text() {
    check("a.tsv", "", ": the file is empty");
    check("a.tsv", "a 1 2\n", ":1: no number after the id");
    check("a.tsv", "node\tx\ty\na\t1\t2\n", ":1: 'x' where a number should be");
    check("a.tsv", "a\t1\t2\nb\t1\n", ":2: expected 2 numbers as line 1 says, found 1");
    check("a.tsv", "a\t1\t2\nb\t1\t\n", ":2: '' where a number should be");
    check("a.tsv", "a\t1\nb\t1\n\n", ":3: an empty id");
    let rows: Vec<String> = (0..200_000).map(|row| format!("{row}\t0.25\n")).collect();
    check("a.tsv", rows.concat() + "7\t0.5\n", ":200001: node '7' again, first in line 8");
}

#[test]
fn binary_of_word2vec() {
    check("a.bin", "", ": no file of word2vec");
    check("a.bin", "ann 1 2\n", ": no file of word2vec");
    let row = |id: &str| [id.as_bytes(), b" ", &[0; 8]].concat();
    let file = |head: &str, rows: &[Vec<u8>]| [head.as_bytes(), &rows.concat()].concat();
    check("a.bin", file("2 2\n", &[row("a")]), ": vector 2: the file ends before it");
    check("a.bin", &file("1 2\n", &[row("a")])[..9], ": vector 1: the file ends in the middle");
    check("a.bin", file("2 2\n", &[row("a"), row("a")]), ": vector 2: node 'a' again, as vector 1");
    check("a.bin", file("1 2\n", &[row("a"), row("b")]), ": more follows after the 1 vectors");
    check("a.bin", file("1 2\n", &[row("")]), ": vector 1: its id is empty");
    check("a.bin", file("1 4611686018427387904\n", &[row("a")]), ": vectors of 46116860184273879");
    check("a.bin", file("9 4611686018427387903\n", &[row("a")]), ": vector 1: the file ends in");
    check("a.bin", file("1 2\n", &[vec![b'a'; 100_000]]), ": vector 1: no blank after its id");
}

#[test]
fn arrays() {
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
        ("a\na\n", "x.nodes.tsv:2: node 'a' again, first in line 1"),
        ("a\n\n", "x.nodes.tsv:2: an empty id"),
    ] {
        fs::write(folder.path().join("x.nodes.tsv"), ids).unwrap();
        let error = Embedding::load(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn tensors() {
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
    check(name, ids(2, "U64", [1, 1]), ": its ids are not U8 'nodes' and 2 I64 'node_lengths'");
    check(name, ids(2, "I64", [1, 2]), ": the id of vector 2 ends beyond 'nodes'");
    check(name, ids(2, "I64", [1, u64::MAX]), ": the id of vector 2 ends beyond 'nodes'");
    check(name, ids(3, "I64", [1, 1]), ": 1 bytes of 'nodes' belong to no vector");
    check(name, ids(1, "I64", [0, 1]), ": node 0 has an empty id");
    check(name, ids(0, "I64", [0, 0]), ": node '' is vector 1 and vector 2");
}

#[cfg(feature = "parquet")]
#[test]
fn every_cut_of_a_parquet_file_is_an_error() {
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
fn parquet_without_vectors() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors-bad");
    for (name, expected) in [
        ("no-floats", "no column of floats or of lists of floats; it has: node, label"),
        ("ragged", "the vector in row 2 has not 3 numbers"),
        ("short-last", "the vector in row 3 has not 2 numbers"),
        ("null", "the vector in row 2 is empty, or null in part"),
        ("empty", "the vector in row 3 is empty, or null in part"),
        ("null-id", "column 'node' is null in row 2"),
        ("same-id", "rows 1 and 3 have the same id"),
        ("two-ids", "several columns may be the ids"),
        ("two-lists", "several columns of lists"),
        ("no-rows", "an embedding of 0 nodes"),
    ] {
        let error = Embedding::load(&folder.join(format!("{name}.parquet"))).expect_err(name);
        let error = error.to_string();
        assert!(error.contains(&format!("{name}.parquet: {expected}")), "{error}");
    }
}

#[test]
fn places_and_ids_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, format: Option<Format>, ids: &[&str]| {
        let path = folder.path().join(name);
        let embedding = embedding(ids);
        let early = check_writable(&path, format, embedding.ids()).expect_err(name).to_string();
        assert!(embedding.save(&path, format).is_err(), "{name}");
        early
    };
    let said = refused("x.gz", None, &["a"]);
    assert!(said.contains("end it in .npy, .w2v, .txt, .parquet, .safetensors, .tsv"), "{said}");
    assert!(said.contains("--format"), "{said}");
    assert!(refused("no/x.npy", None, &["a"]).contains("create it or choose another"));
    let said = refused("x.w2v", None, &["a", "ann lee"]);
    assert!(said.contains("node \"ann lee\" has a blank in its id"), "{said}");
    let said = refused("x.dat", Some(Format::Tsv), &["a", "b\tc"]);
    assert!(said.contains("node \"b\\tc\" has a tab"), "{said}");
    assert!(refused("x.npy", None, &["a\nb"]).contains("write .parquet or .safetensors"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was left behind");
}

/// Whatever byte is wrong, loading ends in vectors or in an error that names the file.
#[test]
fn files_with_a_wrong_byte_do_not_panic() {
    let folder = tempfile::tempdir().unwrap();
    let mut endings = vec!["npy", "w2v", "safetensors", "tsv"];
    if cfg!(feature = "parquet") {
        endings.push("parquet");
    }
    for ending in endings {
        let path = folder.path().join(format!("x.{ending}"));
        embedding(&["a", "b", "c"]).save(&path, None).unwrap();
        let bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            for wrong in [0, 0xff, bytes[at] ^ 1, bytes[at] ^ 0x80] {
                let mut bytes = bytes.clone();
                bytes[at] = wrong;
                fs::write(&path, bytes).unwrap();
                if let Err(error) = Embedding::load(&path) {
                    assert!(error.to_string().contains(&format!("x.{ending}")), "{error}");
                }
            }
        }
    }
}
