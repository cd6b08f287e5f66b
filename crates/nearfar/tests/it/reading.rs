//! Edge lists as other programs write them, and how they are understood.

use std::fs;

use nearfar::graph::{Dataset, ReadOptions, ReadSummary, Repeats, read};

/// Writes a file and reads it.
fn dataset(name: &str, content: &str, options: &ReadOptions) -> nearfar::Result<Dataset> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    read(path.to_str().unwrap(), options)
}

/// What was read: the line for the user and the notes.
fn summary(name: &str, content: &str, options: &ReadOptions) -> String {
    let dataset = dataset(name, content, options).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut lines = vec![ReadSummary::new(name, &dataset, 0.0).to_string()];
    lines.extend(dataset.notes.iter().map(ToString::to_string));
    lines.join("\n")
}

fn options(json: &str) -> ReadOptions {
    serde_json::from_str(json).unwrap()
}

/// All weights in row order.
fn weights(dataset: &Dataset) -> Vec<f32> {
    dataset.graph.edges_once().filter_map(|(_, _, weight)| weight).collect()
}

#[test]
fn files_of_other_programs() {
    let auto = ReadOptions::default();
    for (name, content, expected) in [
        (
            "gephi.csv",
            "Source,Target,Type,Id,Label,Weight\na,b,Directed,0,,1.0\nb,c,Directed,1,,2.0\n",
            "3 nodes, 2 edges, directed edges read as undirected, weighted, 1 component, header in \
             line 1, columns Source and Target, weights from Weight (0.00 s)\nnot read: columns \
             Id, Label",
        ),
        (
            "pandas.csv",
            ",user_id,friend_id\n0,ann,bob\n1,bob,eve\n",
            "3 nodes, 2 edges, undirected, unweighted, 1 component, header in line 1, columns \
             user_id and friend_id (0.00 s)",
        ),
        (
            "snap-temporal.txt",
            "1 2 1082040961\n3 4 1082155839\n1 2 1082155840\n",
            "4 nodes, 2 edges, undirected, unweighted, 2 components, merged 1 repeated edge (0.00 s)\n\
             column 3 looks like time stamps, not weights; use --weight 3 or give --no-weights",
        ),
        (
            "snap.txt",
            "# Directed graph: a.txt\n# FromNodeId\tToNodeId\n0\t1\n1\t0\n2\t2\n",
            "3 nodes, 1 edge, undirected (listed in both directions), unweighted, 2 components, \
             dropped 1 self-loop (0.00 s)",
        ),
        (
            "r.txt",
            "source target\n1 a b\n2 b c\n",
            "3 nodes, 2 edges, undirected, unweighted, 1 component, header in line 1, columns \
             source and target (0.00 s)",
        ),
        (
            "interactions.csv",
            "u,i,ts,label\n1,7,5,a\n2,7,6,b\n",
            "3 nodes, 2 edges, undirected, unweighted, 1 component, header in line 1 (0.00 s)\n\
             not read: columns ts, label",
        ),
        (
            "triples.tsv",
            "head\trelation\ttail\na\tlikes\tb\nb\tlikes\tc\n",
            "3 nodes, 2 edges, undirected, unweighted, 1 component, header in line 1, columns head \
             and tail (0.00 s)\nnot read: column relation",
        ),
        (
            "general.mtx",
            "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 1\n2 1 50\n2 3 4\n",
            "3 nodes, 2 edges, asymmetric matrix read as undirected, weights w(i,j) + w(j,i), \
             weighted, 1 component, merged 1 repeated edge (weights added) (0.00 s)",
        ),
        (
            "symmetric.mtx",
            "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 2 5\n2 1 5\n2 3 4\n3 2 4\n",
            "3 nodes, 2 edges, undirected, weighted, 1 component (0.00 s)",
        ),
    ] {
        let expected = format!("read {name}: {expected}");
        assert_eq!(summary(name, content, &auto), expected, "{name}");
    }
}

#[test]
fn options_settle_what_names_do_not() {
    let table = "day,a,b,n\n1,x,y,5\n2,y,z,6\n";
    let chosen = options(r#"{"source": "a", "target": 3, "weight": "n"}"#);
    let dataset_ = dataset("a.csv", table, &chosen).unwrap();
    assert_eq!(weights(&dataset_), [5.0, 6.0]);
    assert_eq!(dataset_.graph.ids().get(0), "x");
    let none = options(r#"{"source": "a", "target": "b", "no-weights": true}"#);
    assert!(!dataset("a.csv", table, &none).unwrap().graph.is_weighted());
    let piped = "x y|z\nz|w\n";
    let nodes = dataset("a.txt", piped, &options(r#"{"sep": "|"}"#)).unwrap().graph.nodes();
    assert_eq!(nodes, 3);
    let temporal = "1 2 1082040961\n3 4 1082155839\n";
    let forced = dataset("a.txt", temporal, &options(r#"{"weight": 3}"#)).unwrap();
    assert_eq!(weights(&forced), [1_082_040_961.0, 1_082_155_839.0]);
    let words = "likes,loves\nann,bob\n";
    for (header, nodes) in [("true", 2), ("false", 4), ("\"yes\"", 2), ("\"no\"", 4)] {
        let header = options(&format!(r#"{{"header": {header}}}"#));
        assert_eq!(dataset("a.csv", words, &header).unwrap().graph.nodes(), nodes);
    }
    for (bad, message) in [
        (r#"{"source": "x", "target": "a"}"#, "--source x: no such column; the file has the"),
        (r#"{"source": "a", "target": "a"}"#, "column a is the source and the target"),
        (r#"{"source": "a", "target": "b", "weight": "a"}"#, "is an end and the weight"),
    ] {
        let error = dataset("a.csv", table, &options(bad)).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let matrix = "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n";
    let error = dataset("a.mtx", matrix, &chosen).unwrap_err().to_string();
    assert!(error.ends_with("this format has no columns to choose from; omit --source"), "{error}");
}

#[test]
fn weights_of_repeated_edges_are_merged() {
    let content = "a b 1\na b 50\nb a 7\nb c 2\n";
    for (repeats, expected) in
        [(Repeats::Sum, [58.0, 2.0]), (Repeats::Max, [50.0, 2.0]), (Repeats::First, [1.0, 2.0])]
    {
        let options = ReadOptions { repeats, ..ReadOptions::default() };
        let dataset = dataset("a.txt", content, &options).unwrap();
        assert_eq!(weights(&dataset), expected, "{repeats:?}");
        assert_eq!(dataset.dropped.repeats, 2);
    }
}

#[test]
fn entries_of_zero_are_no_edges_even_without_weights() {
    let matrix = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 -5\n2 3 0\n1 3 1\n";
    let none = options(r#"{"no-weights": true}"#);
    let dataset = dataset("a.mtx", matrix, &none).unwrap();
    assert_eq!((dataset.graph.edges(), dataset.dropped.zero_weights), (2, 1));
    assert!(!dataset.graph.is_weighted());
}

/// A folder with this file beside the edges a–b, b–c.
fn labelled(name: &str, content: &str) -> nearfar::Result<Dataset> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("edges.tsv"), "a\tb\nb\tc\n").unwrap();
    fs::write(folder.path().join(name), content).unwrap();
    read(folder.path().to_str().unwrap(), &ReadOptions::default())
}

/// The labels of a, b and c.
fn labels(content: &str) -> String {
    let labels = labelled("labels.tsv", content).unwrap().labels.unwrap();
    let of = |of: &Vec<u32>| {
        of.iter().map(|&label| labels.names[label as usize].as_str()).collect::<Vec<_>>().join("+")
    };
    labels.of.iter().map(of).collect::<Vec<_>>().join("|")
}

#[test]
fn labels_are_tables() {
    for (content, expected) in [
        ("a\tx\nb\ty\n", "x|y|"),
        ("a\tx,y\nb\ty\nc\t\n", "x+y|y|"),
        ("a x\nb Hello world\n", "x|Hello world|"),
        ("a,\"Hello, world\"\nb,y\n", "Hello, world|y|"),
        ("a\t\"Hello, world\",y\n", "Hello, world+y||"),
        ("node,label\na,x\nc,y\n", "x||y"),
        ("\"id\";\"class\"\n\"a\";\"x\"\n", "x||"),
        (",Id,Label,modularity\n0,a,x,3\n1,b,y,4\n", "x|y|"),
        ("a,x\na,y\n", "x+y||"),
        ("x,a\ny,b\n", "x|y|"),
        ("a\t10\nb\t9\nc\t10\n", "10|9|10"),
    ] {
        assert_eq!(labels(content), expected, "{content}");
    }
}

#[test]
fn labels_of_unknown_nodes_are_counted() {
    let notes = |content| labelled("labels.tsv", content).unwrap().notes;
    let found = notes("a\tx\nz\tp\ny\tp\n");
    let expected = "labels.tsv: 2 lines not read, of a node that is not in the graph, such as 'z' \
                    in line 2";
    assert_eq!(found[0].to_string(), expected);
    let names = labelled("labels.tsv", "a\tx\nz\tp\n").unwrap().labels.unwrap().names;
    assert_eq!(names, ["x"], "labels of unknown nodes only do not exist");
    let found = notes("a\tHello, world\n");
    let expected = "labels.tsv: 1 node has several labels, separated by commas; quote a label that \
                    holds a comma";
    assert_eq!(found[0].to_string(), expected);
    let error = labelled("labels.tsv", "y\tx\nz\tx\n").unwrap_err().to_string();
    let expected = "labels.tsv:1: node 'y' is not in the graph, nor is any other node of this file";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn splits_and_nodes_are_tables() {
    let splits = labelled("splits.tsv", "node,split\na,train\nc,test\n").unwrap().splits.unwrap();
    let names: Vec<_> = splits.iter().map(|split| split.map(nearfar::graph::Split::name)).collect();
    assert_eq!(names, [Some("train"), None, Some("test")]);
    for content in ["c\nb\na\nd\n", "id\tname\nc\tx\nb\t\na\ty\nd\tz\n"] {
        let graph = labelled("nodes.tsv", content).unwrap().graph;
        let ids: Vec<_> = (0..4).map(|row| graph.ids().get(row).into_owned()).collect();
        assert_eq!(ids, ["c", "b", "a", "d"], "{content}");
    }
}

#[test]
fn written_folders_are_read_as_they_were() {
    let content = "\"a\tb\",\"#c\"\n\"#c\",\"say \"\"hi\"\"\"\n\"\"\"q\",\"x, y\"\n";
    let mut before = dataset("a.csv", content, &ReadOptions::default()).unwrap();
    let names = |row: usize| vec!["p, q".to_owned(), format!("\"{row}\"")];
    let rows: Vec<_> = (0..before.graph.nodes()).map(names).collect();
    before.labels = Some(nearfar::graph::Labels::new(&rows));
    let folder = tempfile::tempdir().unwrap();
    before.write_folder(folder.path()).unwrap();
    let after = read(folder.path().to_str().unwrap(), &ReadOptions::default()).unwrap();
    let ids = |dataset: &Dataset| -> Vec<String> {
        (0..dataset.graph.nodes() as u32).map(|row| dataset.graph.ids().get(row).into()).collect()
    };
    assert_eq!(ids(&after), ids(&before));
    assert_eq!(after.graph.fingerprint(), before.graph.fingerprint());
    assert_eq!(after.labels, before.labels);
}
