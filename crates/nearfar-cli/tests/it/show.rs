//! `nearfar show`: how a file was made.

use nearfar::graph::{PackConfig, ReadOptions, pack};
use tempfile::TempDir;

use crate::{failure, json, output, text};

/// A folder with vectors of karate in a format, trained with settings of which some are not defaults.
fn vectors(extension: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = text(&folder.path().join("x").with_extension(extension)).to_owned();
    let options = ["--dim", "4", "--epochs", "2", "--seed", "7", "--kernel", "scalar", "-q"];
    output(&[&["embed", "builtin:karate", "-o", &path], &options[..]].concat());
    (folder, path)
}

/// What is shown, without the folder and the version.
fn shown(folder: &TempDir, path: &str) -> String {
    let shown = output(&["show", path]).replace(&format!("{}/", text(folder.path())), "");
    shown.replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

#[test]
fn settings_of_vectors() {
    let (folder, path) = vectors("parquet");
    insta::assert_snapshot!(shown(&folder, &path), @"
    x.parquet: vectors, 34 nodes, 4 dimensions
      version          VERSION
      graph            607cdf6777e37df4
      seed             7
      model            deepwalk
      trainer          stream
      dim              4
      context          5
      walk-length      5
      walks            2
      centre-power     0.5
      k                15
      p                1.0
      q                1.0
      order            1
      start            spectral
      epochs           2
      lr               0.5
      l2               auto
      smoothing        2
      pmi              0.3
      negative-weight  1.0
      kernel           scalar
      device           cpu
      negatives        distance
      gamma            1.0
      degree-power     0.75
      far              auto
      strategy         table
    ");
    let (other, same) = vectors("safetensors");
    let lines = |text: String| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines(shown(&other, &same)), lines(shown(&folder, &path)));
}

#[test]
fn formats_without_a_record_say_so() {
    for extension in ["npy", "w2v", "tsv", "csv"] {
        let (folder, path) = vectors(extension);
        let expected = format!(
            "x.{extension}: vectors, 34 nodes, 4 dimensions\n  this format has no place for a record; \
             write .parquet or .safetensors to keep one\n"
        );
        assert_eq!(shown(&folder, &path), expected);
        let json = json(&["show", &path, "--json"]);
        assert!(json["version"].is_null() && json["note"].is_string(), "{json}");
    }
}

#[test]
fn json_has_what_the_run_printed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.safetensors");
    let embed =
        ["embed", "builtin:karate", "--dim", "4", "--epochs", "2", "--json", "-o", text(&path)];
    let mut plan = json(&embed)["plan"].as_object().unwrap().clone();
    plan.retain(|_, value| !value.is_null());
    let shown = json(&["show", text(&path), "--json"]);
    for name in ["version", "graph", "seed"] {
        assert_eq!(plan.remove(name).as_ref(), Some(&shown[name]), "{name}");
    }
    assert_eq!(shown["settings"].as_object(), Some(&plan));
    assert_eq!(
        (&shown["kind"], &shown["nodes"], &shown["dim"]),
        (&"vectors".into(), &34.into(), &4.into())
    );
}

#[test]
fn reports_networks_and_packed_graphs() {
    let (folder, path) = vectors("parquet");
    let of_vectors = json(&["show", &path, "--json"]);
    let file = |name: &str| text(&folder.path().join(name)).to_owned();

    output(&["report", &path, "-o", &file("x.html"), "-q"]);
    let report = json(&["show", &file("x.html"), "--json"]);
    assert_eq!(report["kind"], "report");
    for name in ["version", "graph", "seed", "settings", "nodes", "dim"] {
        assert_eq!(report[name], of_vectors[name], "{name}");
    }

    let edges = file("edges.tsv");
    std::fs::write(&edges, "a\tb\t2\nb\tc\t1\nb\ta\t3\n").unwrap();
    let options = ReadOptions { no_weights: true, ..Default::default() };
    pack(&edges, &options, file("x.nfg").as_ref(), &PackConfig::default()).unwrap();
    insta::assert_snapshot!(shown(&folder, &file("x.nfg")), @"
    x.nfg: graph, 3 nodes, 2 edges
      version     VERSION
      graph       2670f985903d89a7
      no-weights  true
    ");
    let options = ReadOptions { directed: true, ..Default::default() };
    pack(&edges, &options, file("y.nfg").as_ref(), &PackConfig::default()).unwrap();
    insta::assert_snapshot!(shown(&folder, &file("y.nfg")), @"
    y.nfg: graph, 3 nodes, 3 edges
      version   VERSION
      graph     62302c1796ee7d20
      directed  true
    ");

    std::fs::write(file("features.csv"), "a,1,0\nb,0,1\nc,1,1\n").unwrap();
    let network = file("network.safetensors");
    let train = ["embed", &edges, "--model", "sage", "--dim", "2", "--epochs", "1", "-q"];
    let files =
        ["--features", &file("features.csv"), "--save-model", &network, "-o", &file("z.npy")];
    output(&[&train[..], &files].concat());
    let network = json(&["show", &network, "--json"]);
    assert_eq!((&network["kind"], &network["dim"]), (&"network".into(), &2.into()));
    assert_eq!(network["settings"]["model"], "sage");
}

#[test]
fn other_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    std::fs::write(&page, "<p>no report</p>").unwrap();
    let message = failure(&["show", text(&page)]);
    assert!(message.contains("not a report; expected a page of nearfar report"), "{message}");
    assert!(failure(&["show", "missing.npy"]).contains("missing.npy"));
}
