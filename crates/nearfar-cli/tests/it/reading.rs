//! What commands say about the files that they read.

use std::fs;

use crate::{json, messages, nearfar, text};

/// Messages of `stats` for a file, without the folder and the time.
fn read(name: &str, content: &str, options: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    let messages = messages(&[&["stats", text(&path)], options].concat());
    let messages = messages.replace(&format!("{}/", text(folder.path())), "");
    let line = |line: &str| match line.rsplit_once(" (") {
        Some((start, end)) if end.ends_with(" s)") => format!("{start}\n"),
        _ => format!("{line}\n"),
    };
    messages.lines().map(line).collect()
}

#[test]
fn the_first_line_says_what_was_read() {
    let gephi = "Source,Target,Type,Id,Label,Weight\na,b,Directed,0,,1\nb,c,Directed,1,,2\n";
    let text = [
        read("plain.tsv", "a\tb\nb\tc\n", &[]),
        read("repeats.tsv", "a b 1\na b 50\nb b 3\nb c 0\n", &[]),
        read("repeats.tsv", "a b 1\na b 50\n", &["--repeats", "max"]),
        read("gephi.csv", gephi, &[]),
        read("gephi.csv", gephi, &["--source", "1", "--target", "Target", "--no-weights"]),
        read("times.txt", "1 2 1082040961\n2 3 1082155839\n", &[]),
        read("names.csv", "user,likes\nann,bob\nbob,eve\neve,ann\nann,zoe\nzoe,eve\n", &[]),
        read("names.csv", "user,likes\nann,bob\n", &["--header", "no"]),
        read("piped.txt", "a b|c\nc|d\n", &["--sep", "|"]),
    ];
    insta::assert_snapshot!(text.concat(), @"
    read plain.tsv: 3 nodes, 2 edges, undirected, unweighted, 1 component
    read repeats.tsv: 3 nodes, 1 edge, undirected, weighted, 2 components, merged 1 repeated edge (weights added), dropped 1 self-loop and 1 zero-weight edge
    read repeats.tsv: 2 nodes, 1 edge, undirected, weighted, 1 component, merged 1 repeated edge (largest weights)
    read gephi.csv: 3 nodes, 2 edges, directed edges read as undirected, weighted, 1 component, header in line 1, columns Source and Target, weights from Weight
    gephi.csv: not read: columns Id, Label
    read gephi.csv: 3 nodes, 2 edges, directed edges read as undirected, unweighted, 1 component, header in line 1
    gephi.csv: not read: columns Id, Label, Weight
    read times.txt: 3 nodes, 2 edges, undirected, unweighted, 1 component
    times.txt: column 3 looks like time stamps, not weights; use --weight 3 or give --no-weights
    read names.csv: 4 nodes, 5 edges, undirected, unweighted, 1 component, header in line 1
    names.csv: line 1 (user, likes) may be an edge, and was taken as the header; use --header yes or --header no
    read names.csv: 4 nodes, 2 edges, undirected, unweighted, 2 components
    read piped.txt: 3 nodes, 2 edges, undirected, unweighted, 1 component
    ");
}

#[test]
fn embed_describes_its_run_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.npy");
    let arguments = ["embed", "builtin:karate", "-o", text(&path), "--epochs", "2", "--dim", "8"];
    let run = json(&[&arguments[..], &["--json"]].concat());
    let keys: Vec<_> = run.as_object().unwrap().keys().map(String::as_str).collect();
    let expected =
        ["read", "plan", "nodes", "dim", "pairs", "loss", "seconds", "peak_memory", "output"];
    assert_eq!(keys, expected);
    assert_eq!(
        (&run["nodes"], &run["dim"], &run["read"]["edges"]),
        (&34.into(), &8.into(), &78.into())
    );
    assert_eq!(
        (&run["plan"]["epochs"], &run["plan"]["negatives"]),
        (&2.into(), &"distance".into())
    );
    assert_eq!(run["output"], text(&path));
    assert!(run["loss"].as_f64().is_some_and(|loss| loss > 0.0));
    assert!(run["pairs"].as_u64().is_some_and(|pairs| pairs > 0));
    let seconds = run["seconds"].as_object().unwrap();
    let of = |stage: &str| seconds[stage].as_f64().unwrap();
    let stages: f64 = ["read", "prepare", "train", "save"].into_iter().map(of).sum();
    assert!(stages > 0.0 && stages <= of("total"), "{seconds:?}");
    nearfar(&[&arguments[..], &["-q"]].concat()).assert().success().stdout("");
}

#[test]
fn labels_of_unknown_nodes_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let [edges, labels] = ["edges.tsv", "labels.csv"].map(|name| folder.path().join(name));
    fs::write(&edges, "a\tb\nb\tc\n").unwrap();
    fs::write(&labels, "node,label\na,\"x, y\"\nz,w\nb,v\n").unwrap();
    let arguments = ["stats", text(&edges), "--labels", text(&labels)];
    let expected = "note: labels.csv: 1 line not read, of a node that is not in the graph, such as \
                    'z' in line 3\n";
    assert!(messages(&arguments).ends_with(expected), "{}", messages(&arguments));
    let stats = json(&[&arguments[..], &["--json"]].concat());
    assert_eq!(stats["classes"], 2);
    assert_eq!(stats["read"]["notes"].as_array().map(Vec::len), Some(1));
}
