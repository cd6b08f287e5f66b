//! Files of vectors: round trips in every format, and files of other libraries, written to
//! `tests/vectors` by `scripts/make-fixtures`.

use std::fs;
use std::path::{Path, PathBuf};

use nearfar::embedding::{Embedding, Format, check_writable};
use nearfar::graph::{Node, NodeIds};
use proptest::prelude::*;

const EXTENSIONS: [(&str, Format); 7] = [
    ("npy", Format::Npy),
    ("w2v", Format::Word2vec),
    ("txt", Format::Word2vec),
    ("parquet", Format::Parquet),
    ("safetensors", Format::Safetensors),
    ("tsv", Format::Tsv),
    ("csv", Format::Csv),
];
const WORDS: [&str; 5] = ["ann", "bob, the 2nd", "carl \"c\"", "dörte", "eve"];
const ONE_WORD: [&str; 5] = ["ann", "bob", "carl", "dörte", "eve"];

/// The file extensions that this build writes.
fn extensions() -> impl Iterator<Item = (&'static str, Format)> {
    let parquet = cfg!(feature = "parquet");
    EXTENSIONS.into_iter().filter(move |&(_, format)| parquet || format != Format::Parquet)
}

fn ids(embedding: &Embedding) -> Vec<String> {
    (0..embedding.nodes() as Node).map(|row| embedding.ids().get(row).into_owned()).collect()
}

fn bits(embedding: &Embedding) -> Vec<u32> {
    embedding.vectors().iter().map(|value| value.to_bits()).collect()
}

fn same(a: &Embedding, b: &Embedding, name: &str) {
    assert_eq!(a.dim(), b.dim(), "{name}");
    assert_eq!(ids(a), ids(b), "{name}");
    assert_eq!(bits(a), bits(b), "{name}");
}

fn embedding_of(ids: &[&str], dim: usize) -> Embedding {
    let vectors = (0..ids.len() * dim).map(|at| (at as f32).sin()).collect();
    Embedding::new(NodeIds::StringIds(ids.iter().collect()), dim, vectors).unwrap()
}

/// Finite floats: random bits and edge cases.
fn finite() -> impl Strategy<Value = f32> {
    let edge_cases = prop::sample::select(vec![
        0.0,
        -0.0,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        f32::MAX,
        f32::MIN,
        0.1,
        1e-7,
        16_777_217.0,
    ]);
    let any = any::<u32>().prop_map(f32::from_bits).prop_filter("finite", |f| f.is_finite());
    prop_oneof![edge_cases, any]
}

/// Embeddings with ids that match a pattern.
fn embeddings(id: &'static str) -> impl Strategy<Value = Embedding> {
    (1_usize..6, prop::collection::hash_set(id, 1..20)).prop_flat_map(|(dim, ids)| {
        let ids: Vec<String> = ids.into_iter().collect();
        prop::collection::vec(finite(), dim * ids.len()).prop_map(move |vectors| {
            Embedding::new(NodeIds::StringIds(ids.iter().collect()), dim, vectors).unwrap()
        })
    })
}

fn round_trip(embedding: &Embedding, extension: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("x.{extension}"));
    check_writable(&path, None, embedding.ids()).unwrap();
    embedding.save(&path, None).unwrap();
    same(&Embedding::load(&path).unwrap(), embedding, extension);
    let files = if extension == "npy" { 2 } else { 1 };
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), files, "{extension}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ids_without_whitespace_survive_in_every_format(embedding in embeddings("[^\\s\u{feff}]{1,5}")) {
        for (extension, _) in extensions() {
            round_trip(&embedding, extension);
        }
    }

    #[test]
    fn ids_without_line_breaks_survive_in_line_formats(
        embedding in embeddings("[^\t\r\n\u{feff}]{1,5}"),
    ) {
        round_trip(&embedding, "npy");
        round_trip(&embedding, "tsv");
    }

    #[test]
    fn any_id_survives_in_binary_formats(
        embedding in embeddings("(?s).{1,5}|[\n\r\t \u{feff}]{1,3}"),
    ) {
        if cfg!(feature = "parquet") {
            round_trip(&embedding, "parquet");
        }
        round_trip(&embedding, "safetensors");
    }
}

#[test]
fn many_rows_survive() {
    let n = 30_000;
    let ids = NodeIds::Range { start: 5, len: n };
    let vectors = (0..n * 33).map(|at| (at as f32 * 0.37).sin() * 1e-3).collect();
    let embedding = Embedding::new(ids, 33, vectors).unwrap();
    for (extension, _) in extensions() {
        round_trip(&embedding, extension);
    }
}

#[test]
fn formats_are_recognised_by_content() {
    let folder = tempfile::tempdir().unwrap();
    let embedding = embedding_of(&ONE_WORD, 3);
    for (extension, format) in extensions() {
        let path = folder.path().join(format!("{extension}.dat"));
        embedding.save(&path, Some(format)).unwrap();
        match Embedding::load(&path) {
            Ok(loaded) => same(&loaded, &embedding, extension),
            Err(error) => {
                assert!(["tsv", "csv"].contains(&extension), "{extension}");
                let error = error.to_string();
                assert!(error.contains("unknown file extension and content"), "{error}");
            }
        }
    }
}

#[test]
fn compressed_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let embedding = embedding_of(&ONE_WORD, 3);
    for (extension, _) in extensions() {
        let path = folder.path().join(format!("x.{extension}"));
        embedding.save(&path, None).unwrap();
        let compressed = folder.path().join(format!("x.{extension}.zst"));
        fs::write(&compressed, zstd::encode_all(&fs::read(&path).unwrap()[..], 1).unwrap())
            .unwrap();
        same(&Embedding::load(&compressed).unwrap(), &embedding, extension);
    }
}

#[test]
fn text_files_are_as_other_libraries_expect() {
    let folder = tempfile::tempdir().unwrap();
    let ids = NodeIds::StringIds(["ann", "7"].into_iter().collect());
    let vectors = vec![1.0, -0.1, 1e-9, 1e20, f32::NAN, f32::INFINITY];
    let embedding = Embedding::new(ids, 3, vectors).unwrap();
    let text = |extension: &str| {
        let path = folder.path().join(format!("x.{extension}"));
        embedding.save(&path, None).unwrap();
        let loaded = Embedding::load(&path).unwrap();
        assert!(loaded.check_finite().is_err() && loaded.vector(1)[1].is_nan());
        fs::read_to_string(path).unwrap()
    };
    assert_eq!(text("w2v"), "2 3\nann 1.0 -0.1 1e-9\n7 1e20 NaN inf\n");
    assert_eq!(text("tsv"), "ann\t1.0\t-0.1\t1e-9\n7\t1e20\tNaN\tinf\n");
    embedding.save(&folder.path().join("x.npy"), None).unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("x.nodes.tsv")).unwrap(), "ann\n7\n");
}

#[test]
fn files_of_other_libraries() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 20, "tests/vectors is incomplete");
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.ends_with(".nodes.tsv")
            || (cfg!(not(feature = "parquet")) && name.ends_with("parquet"))
        {
            continue;
        }
        let loaded = Embedding::load(&path).unwrap();
        let expected: Vec<String> = match name {
            _ if name.contains("one-word") => ONE_WORD.map(str::to_owned).to_vec(),
            _ if name.contains("words") => WORDS.map(str::to_owned).to_vec(),
            _ => (0..5).map(|row| row.to_string()).collect(),
        };
        assert_eq!(ids(&loaded), expected, "{name}");
        assert_eq!(loaded.dim(), 3, "{name}");
        let values: Vec<f32> = (0_i16..15).map(|at| f32::from(at - 7) / 8.0).collect();
        assert_eq!(loaded.vectors(), values, "{name}");
    }
}
