//! Output of `stats`, `sample`, `synth` and `outliers`.

use std::fs;

use crate::{failure, json, messages, nearfar, output, text};

#[test]
fn stats_of_a_builtin_graph() {
    insta::assert_snapshot!(output(&["stats", "builtin:karate"]), @"
    builtin:karate
      nodes              34
      edges              78 (156 directed)
      weights            no
      classes            2
      mean degree        4.59
      largest degree     17
      components         1
      largest component  34 nodes
      isolated nodes     0
      diameter           5
      mean distance      2.408

    pairs by distance
          1  156   13.9 %  █████████
          2  530   47.2 %  ████████████████████████████████
          3  274   24.4 %  █████████████████
          4  146   13.0 %  █████████
          5   16    1.4 %  █
    ");
}

/// A path of 301 nodes has 300 distances: they are shown in ranges, and JSON has all of them.
#[test]
fn many_distances_are_shown_in_ranges() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("path.tsv");
    let edges = (0..300).map(|node| format!("{node}\t{}\n", node + 1));
    fs::write(&path, edges.collect::<String>()).unwrap();
    let stats = output(&["stats", text(&path)]);
    let lines: Vec<&str> = stats.lines().skip_while(|line| !line.starts_with("pairs")).collect();
    assert_eq!(lines.len(), 1 + 30, "{stats}");
    let words = |line: &str| line.split_whitespace().take(3).map(str::to_owned).collect::<Vec<_>>();
    // Of distance d there are 2 (301 − d) ordered pairs.
    assert_eq!(words(lines[1]), ["1–10", "5", "910"]);
    assert_eq!(words(lines[30])[..2], ["291–300", "110"]);
    let json = json(&["stats", text(&path), "--json"]);
    assert_eq!(json["distance_histogram"].as_object().unwrap().len(), 300);
}

#[test]
fn stats_as_json() {
    let stats = output(&["stats", "builtin:karate", "--json"]);
    insta::assert_snapshot!(stats, @r#"{"nodes":34,"edges_undirected":78,"edges_directed":156,"mean_degree":4.588235294117647,"max_degree":17,"components":1,"largest_component":34,"isolated":0,"weighted":false,"classes":2,"diameter":5,"diameter_exact":true,"mean_distance":2.408199643493761,"distance_histogram":{"1":156,"2":530,"3":274,"4":146,"5":16},"unreachable_pairs":0,"distance_sources":34,"read":{"source":"builtin:karate","nodes":34,"edges":78,"weighted":false,"components":1,"format":null,"direction":"unstated","storage":"once","header":null,"columns":null,"repeats":"sum","dropped":{"self_loops":0,"repeats":0,"zero_weights":0},"notes":[]}}"#);
}

#[test]
fn sample_table() {
    let sample = output(&["sample", "builtin:karate", "--node", "0", "-n", "10000"]);
    insta::assert_snapshot!(sample, @"
    10 000 negatives of node 0, sampled by distance

    by distance
          1  2 784   27.8 %  █████████████████████
          2  3 064   30.6 %  ████████████████████████
          3  4 152   41.5 %  ████████████████████████████████

    most frequent of 33 nodes drawn
      20                          554   5.540 %
      18                          538   5.380 %
      23                          517   5.170 %
      15                          516   5.160 %
      22                          516   5.160 %
      14                          510   5.100 %
      29                          501   5.010 %
      26                          500   5.000 %
      28                          362   3.620 %
      33                          355   3.550 %
    ");
}

#[test]
fn sample_json_counts_every_draw() {
    let sample = json(&["sample", "builtin:karate", "--node", "5", "-n", "5000", "--json"]);
    let sum = |field: &str| -> u64 {
        sample[field].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum()
    };
    assert_eq!((sum("counts"), sum("by_distance")), (5000, 5000));
    assert_eq!(sample["negatives"], "distance");
    assert!(sample["counts"].get("5").is_none(), "a node is never its own negative");
}

#[test]
fn samples_depend_on_the_seed_and_not_on_threads() {
    for law in ["distance", "landmark-approx", "landmark", "degree", "edge"] {
        let draw = |seed: &str, threads: &str| {
            let arguments = format!(
                "sample builtin:sparse --node 3 -n 999 --negatives {law} --strategy table \
                 --seed {seed} --threads {threads} --json"
            );
            output(&arguments.split(' ').collect::<Vec<_>>())
        };
        assert_eq!(draw("1", "1"), draw("1", "3"), "{law}");
        assert_ne!(draw("1", "2"), draw("2", "2"), "{law}");
    }
}

#[test]
fn graph_and_plan_are_reported_unless_quiet() {
    let sample = ["sample", "builtin:karate", "--node", "0"];
    let messages = messages(&sample);
    let (read, plan) = messages.split_once('\n').unwrap();
    let (read, seconds) = read.rsplit_once(" (").unwrap();
    insta::assert_snapshot!(read, @"read builtin:karate: 34 nodes, 78 edges, undirected, unweighted, 1 component");
    assert!(seconds.strip_suffix(" s)").unwrap().parse::<f64>().is_ok(), "{seconds}");
    insta::assert_snapshot!(plan, @"negatives: distance (breadth-first search per centre, 0.3 kB)");
    nearfar(&[&sample[..], &["-q"]].concat()).assert().success().stderr("");
}

#[test]
fn every_command_that_reads_a_graph_says_what_it_read() {
    let folder = tempfile::tempdir().unwrap();
    let [vectors, dataset, page] =
        ["v.npy", "dataset", "page.html"].map(|name| folder.path().join(name));
    let graph = "builtin:karate";
    let (vectors, page) = (text(&vectors), text(&page));
    let read = |arguments: &[&str]| {
        let messages = messages(arguments);
        let expected = format!("read {graph}: 34 nodes, 78 edges, undirected, unweighted, ");
        assert!(messages.starts_with(&expected), "{arguments:?}: {messages}");
    };
    read(&["embed", graph, "--dim", "4", "--epochs", "1", "-o", vectors]);
    read(&["links", graph, "--dim", "4", "--epochs", "1", "--seeds", "1"]);
    read(&["measure", vectors, graph]);
    read(&["stats", graph]);
    read(&["outliers", graph, "--count", "2", "-o", text(&dataset)]);
    read(&["report", vectors, "--graph", graph, "-o", page]);
}

#[test]
fn exceeding_the_memory_limit_names_the_options_to_change() {
    let tight = ["sample", "builtin:sparse", "--node", "0", "--max-memory", "1MB"];
    // One centre needs one breadth-first search, which fits.
    nearfar(&tight).assert().success();
    let message = failure(&[&tight[..], &["--strategy", "table"]].concat());
    assert!(message.starts_with("error: negatives by distance need 4.1 MB"), "{message}");
    let remedies = "1.0 MB are allowed; use --strategy levels, --negatives landmark-approx or raise \
                    --max-memory\n";
    assert!(message.ends_with(remedies), "{message}");
}

#[test]
fn isolated_nodes_and_dropped_edges() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("edges.tsv"), "a\tb\nb\ta\nc\tc\nb\td\n").unwrap();
    fs::write(folder.path().join("nodes.tsv"), "a\nb\nc\nd\nlonely\n").unwrap();
    let messages = messages(&["stats", text(folder.path())]);
    let expected =
        ["5 nodes, 2 edges", "3 components, merged 1 repeated edge, dropped 1 self-loop ("];
    assert!(expected.iter().all(|text| messages.contains(text)), "{messages}");
    let stats = json(&["stats", text(folder.path()), "--json"]);
    assert_eq!((&stats["nodes"], &stats["isolated"]), (&5.into(), &2.into()));
    assert_eq!(stats["components"], 3);
    assert_eq!(stats["unreachable_pairs"], 14);
    let largest = json(&["stats", text(folder.path()), "--largest-component", "--json"]);
    assert_eq!(largest["nodes"], 3);
    // The diameter is 2, so that nodes without a path are at 3 hops.
    let sample = json(&["sample", text(folder.path()), "--node", "lonely", "-n", "99", "--json"]);
    assert_eq!(sample["far"], 3);
    assert_eq!(sample["by_distance"]["3"], 99);
}

#[test]
fn synth_writes_a_dataset_that_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
    for path in [&one, &two] {
        nearfar(&["synth", "dense", "-o", text(path), "--seed", "7"]).assert().success();
    }
    for file in ["edges.tsv", "nodes.tsv", "labels.tsv", "splits.tsv"] {
        assert_eq!(fs::read(one.join(file)).unwrap(), fs::read(two.join(file)).unwrap());
    }
    let stats = json(&["stats", text(&one), "--json"]);
    assert_eq!((&stats["nodes"], &stats["classes"]), (&2000.into(), &4.into()));
    assert_eq!(stats["components"], 1);
    let splits = fs::read_to_string(one.join("splits.tsv")).unwrap();
    assert_eq!(splits.lines().filter(|line| line.ends_with("\ttrain")).count(), 200);
}

#[test]
fn synth_with_another_exponent() {
    let folder = tempfile::tempdir().unwrap();
    let path = text(folder.path());
    nearfar(&["synth", "--exponent", "2.5", "--nodes", "500", "-o", path]).assert().success();
    assert_eq!(json(&["stats", path, "--json"])["nodes"], 500);
}

#[test]
fn outliers_are_added() {
    let folder = tempfile::tempdir().unwrap();
    let path = text(folder.path());
    nearfar(&["outliers", "builtin:moderate", "--count", "30", "-o", path]).assert().success();
    let stats = json(&["stats", path, "--json"]);
    assert_eq!((&stats["nodes"], &stats["classes"]), (&2030.into(), &5.into()));
    let labels = fs::read_to_string(folder.path().join("labels.tsv")).unwrap();
    assert_eq!(labels.lines().filter(|line| line.starts_with("outlier-")).count(), 30);
}

#[test]
fn standard_input_is_a_graph_in_any_format() {
    let stats = |content: &[u8]| {
        let run = nearfar(&["stats", "-", "--json"]).write_stdin(content).assert().success();
        let stats: serde_json::Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
        stats["edges_undirected"].as_u64().unwrap()
    };
    assert_eq!(stats(b"a b\nb c\n"), 2);
    assert_eq!(stats(b"graph { a -- b -- c -- d }"), 3);
    // A file of the tests of the library: a compressed edge list.
    let packed = include_bytes!("../../../nearfar/tests/data/plain.tsv.bz2");
    assert_eq!(stats(packed), 5);
    let run = nearfar(&["stats", "-"]).write_stdin("graph {").assert().code(1);
    let error = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(error.contains("standard input:1: the file ends before the last '}'"), "{error}");
}

/// Every command reads a packed graph as it reads the file that was packed.
#[test]
fn a_packed_graph_is_the_graph() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (edges, packed) = (path("edges.tsv"), path("graph.nfg"));
    fs::write(&edges, "ann\tbob\nbob\teve\neve\tann\neve\tdan\n").unwrap();
    let said = messages(&["pack", text(&edges), "-o", text(&packed)]);
    assert!(said.ends_with("graph.nfg: 4 nodes, 4 edges\n"), "{said}");
    let embed = |graph: &std::path::Path, name: &str| {
        let vectors = path(name);
        let arguments = ["embed", text(graph), "-q", "--epochs", "2", "-o", text(&vectors)];
        nearfar(&arguments).assert().success();
        fs::read(vectors).unwrap()
    };
    assert_eq!(embed(&edges, "a.tsv"), embed(&packed, "b.tsv"));
    let error = failure(&["pack", text(&packed), "-o", text(&packed)]);
    assert!(error.contains("graph.nfg"), "{error}");
    fs::write(&packed, &fs::read(&packed).unwrap()[..100]).unwrap();
    assert!(failure(&["stats", text(&packed)]).contains("graph.nfg"));
}
