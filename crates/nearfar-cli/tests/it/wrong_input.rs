//! Wrong input: exit code 1, no output, and a message with the file, the line and what to change.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::{failure, nearfar, text};

/// A folder with one file.
fn file(name: &str, bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// The error message of `nearfar stats` for a bad file, without the name of the folder.
fn stats_error(name: &str, bytes: &[u8]) -> String {
    let (folder, path) = file(name, bytes);
    failure(&["stats", text(&path)]).replace(&format!("{}/", text(folder.path())), "")
}

#[test]
fn malformed_graph_files() {
    let mut gzip =
        fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../nearfar/tests/data/plain.tsv.gz"))
            .expect("a fixture");
    gzip.truncate(gzip.len() - 9);
    let cases: [(&str, &[u8]); 16] = [
        ("empty.tsv", b""),
        ("comments.tsv", b"# nothing\n% here\n"),
        ("one-column.tsv", b"a\nb\n"),
        ("header-only.csv", b"source,target\n"),
        ("weight.tsv", b"a\tb\t1\nb\tc\theavy\n"),
        ("first-weight.tsv", b"a\tb\theavy\nb\tc\t1\n"),
        ("nan.tsv", b"a b 1\na c 2\nb c NaN\n"),
        ("infinite.tsv", b"a b inf\n"),
        ("negative.csv", b"a,b,-1\n"),
        ("ragged.tsv", b"a\tb\nb\tc\t1\n"),
        ("four.tsv", b"a\tb\t1\t2\n"),
        ("cut-off.tsv.gz", &gzip),
        ("binary.dat", b"\x7fELF\x02\x01\x01\x00\x00\x00"),
        ("latin-1.tsv", b"a\tb\nM\xfcller\ta\n"),
        ("one-node.tsv", b"a\ta\n"),
        ("empty-id.csv", b"a,b\n,c\n"),
    ];
    let messages: String =
        cases.into_iter().map(|(name, bytes)| stats_error(name, bytes)).collect();
    insta::assert_snapshot!(messages, @"
    error: empty.tsv: the file is empty
    error: comments.tsv: no edges found; expected lines 'source target [weight]'
    error: one-column.tsv:1: found 1 column separated by blanks, expected 'source target [weight]'; give --sep
    error: header-only.csv: no edges found; expected lines 'source target [weight]'
    error: weight.tsv:2: 'heavy' is not a weight; write a number, or leave the third column out
    error: first-weight.tsv:1: 'heavy' is not a weight; write a number, or leave the third column out
    error: nan.tsv:3: weight NaN; weights must be finite and ≥ 0
    error: infinite.tsv:1: weight inf; weights must be finite and ≥ 0
    error: negative.csv:1: weight -1; weights must be finite and ≥ 0
    error: ragged.tsv:2: found 3 columns, expected 2 as in earlier lines, separated by tabs
    error: four.tsv:1: found 4 columns, expected 'source target [weight]'; use --source 1 and --target 2
    error: cut-off.tsv.gz: cannot read: the file is truncated; download or write it again
    error: binary.dat: a binary file; expected text (.tsv, .csv, also .gz or .zst), .mtx, .npy, .npz or .parquet
    error: latin-1.tsv:2: this is not UTF-8 text; save the file as UTF-8
    error: one-node.tsv: the graph needs at least two nodes
    error: empty-id.csv:2: an empty id; expected a source and a target
    ");
}

/// A device may never end.
#[cfg(unix)]
#[test]
fn no_reader_takes_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.npy");
    let embed = ["embed", "builtin:karate", "-o", text(&out)];
    let apply = ["apply", "/dev/zero", "builtin:karate", "-o", text(&out), "--features", "f.csv"];
    for command in [
        &["stats", "/dev/zero"][..],
        &["neighbors", "/dev/zero", "1"],
        &["evaluate", "/dev/zero", "--labels", "labels.tsv"],
        &apply,
        &[&embed[..], &["--features", "/dev/zero", "--model", "gcn"]].concat(),
        &[&embed[..], &["--config", "/dev/zero"]].concat(),
    ] {
        let message = failure(command);
        assert!(message.contains("/dev/zero: this is a device"), "{command:?}: {message}");
    }
}

#[test]
fn missing_files_and_folders() {
    let missing = failure(&["stats", "no-such-graph.tsv"]);
    insta::assert_snapshot!(missing, @"error: no-such-graph.tsv: cannot read: no such file; check the name");
    insta::assert_snapshot!(failure(&["stats", "builtin:chess"]), @"error: unknown graph builtin:chess; expected builtin:karate, builtin:sparse, builtin:moderate or builtin:dense");
    let folder = tempfile::tempdir().unwrap();
    let message = failure(&["stats", text(folder.path())]);
    assert!(message.contains("edges.tsv"), "{message}");
}

#[test]
fn malformed_labels_and_splits() {
    let (folder, _) = file("edges.tsv", b"a\tb\nb\tc\n");
    let message = |name: &str, bytes: &[u8]| {
        fs::write(folder.path().join(name), bytes).unwrap();
        let message = failure(&["stats", text(folder.path())]);
        fs::remove_file(folder.path().join(name)).unwrap();
        message.replace(&format!("{}/", text(folder.path())), "")
    };
    let messages = [
        message("labels.tsv", b"y\t1\nz\t2\n"),
        message("labels.tsv", b"a\n"),
        message("splits.tsv", b"a\ttrain\nb\tvalidation\n"),
        message("nodes.tsv", b"\n"),
    ]
    .concat();
    insta::assert_snapshot!(messages, @"
    error: labels.tsv:1: node 'y' is not in the graph, nor is any other node of this file
    error: labels.tsv:1: found one column; expected a node id, a tab and a value
    error: splits.tsv:2: 'validation' is not a split; expected train, val or test
    error: nodes.tsv: no node ids found; expected one per line
    ");
}

#[test]
fn a_cluster_needs_the_python_package() {
    let message = failure(&["embed", "builtin:karate", "--cluster", "local"]);
    insta::assert_snapshot!(message, @"error: --cluster needs the Python package: pip install 'nearfar[ray]', then the same command");
}

#[test]
fn invalid_options() {
    let sample = |options: &[&str]| {
        failure(&[&["sample", "builtin:karate", "--node", "0"], options].concat())
    };
    let messages = [
        sample(&["--gamma", "NaN"]),
        sample(&["--gamma=-100"]),
        sample(&["--negatives", "degree", "--degree-power", "nan"]),
        sample(&["--negatives", "landmark", "--landmarks", "35"]),
        sample(&["--negatives", "landmark", "--landmarks", "1"]),
        sample(&["--negatives", "landmark-approx", "--landmarks", "1.5"]),
        sample(&["--negatives", "landmark-approx", "--landmarks", "0"]),
        sample(&["-n", "0"]),
        sample(&["--threads", "0"]),
        failure(&["sample", "builtin:karate", "--node", "Kim"]),
        failure(&["stats", "builtin:karate", "--sources", "0"]),
    ]
    .concat();
    insta::assert_snapshot!(messages, @"
    error: --gamma NaN: expected −64 to 64
    error: --gamma -100: expected −64 to 64
    error: --degree-power NaN: expected 0 to 64
    error: --landmarks 35: the graph has 34 nodes
    negatives: landmark (1 landmark, 0.5 kB)
    error: the graph has one landmark, and a draw needs another; use --landmarks 2
    error: --landmarks 1.5: a fraction is above 0 and at most 1
    error: --landmarks 0: expected at least 1
    error: -n 0: expected 1 to 4 294 967 295
    error: --threads 0: expected at least 1
    error: --node Kim: no such node in builtin:karate; the first id is '0'
    error: --sources 0: expected 'all' or a number ≥ 1
    ");
}

#[test]
fn usage_errors_have_exit_code_2() {
    for arguments in [
        &["sample", "builtin:karate"][..],
        &["stats"],
        &["sample", "builtin:karate", "--node", "0", "--negatives", "nearest"],
        &["sample", "builtin:karate", "--node", "0", "--far", "0"],
        &["sample", "builtin:karate", "--node", "0", "--max-memory", "lots"],
        &["synth", "-o", "x"],
        &["synth", "sparse", "--exponent", "2", "-o", "x"],
        &["frobnicate"],
    ] {
        nearfar(arguments).assert().code(2);
    }
}

#[test]
fn errors_leave_no_files() {
    let (folder, path) = file("a-file", b"a file");
    let inside = path.join("out");
    let message = failure(&["synth", "sparse", "-o", text(&inside)]);
    assert!(message.contains("cannot write") && message.contains("choose a folder"), "{message}");
    let target = folder.path().join("new");
    for arguments in [
        &["synth", "--exponent", "nan", "-o", text(&target)][..],
        &["synth", "sparse", "--nodes", "1", "-o", text(&target)],
        &["synth", "sparse", "--classes", "0", "-o", text(&target)],
        &["outliers", "no-such-folder", "--count", "3", "-o", text(&target)],
    ] {
        failure(arguments);
        assert!(!target.exists(), "{arguments:?}");
    }
}

#[test]
fn a_node_adjacent_to_all_others_has_no_negatives_by_edge() {
    let (_folder, path) = file("star.tsv", b"hub\ta\nhub\tb\nhub\tc\n");
    let sample =
        |node| failure(&["sample", text(&path), "--node", node, "--negatives", "edge", "-q"]);
    assert!(sample("hub").contains("has an edge to every other node"));
    let (_folder, path) = file("complete.tsv", b"a\tb\nb\tc\na\tc\n");
    let message = failure(&["sample", text(&path), "--node", "a", "--negatives", "edge"]);
    assert!(message.contains("no pair lacks an edge"), "{message}");
}

/// The library that decodes Parquet panics on some broken files.
#[test]
fn a_decoder_that_panics_prints_nothing() {
    let whole =
        fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../nearfar/tests/data/int64.parquet"));
    let mut broken = whole.expect("a fixture");
    // The length of a column becomes negative.
    broken[312] = 0xff;
    let message = stats_error("broken.parquet", &broken);
    let expected = "error: broken.parquet: cannot read: a page cannot be decoded; the file is truncated \
                    or not Parquet: download or write it again\n";
    assert_eq!(message, expected);
}
