//! Graph formats of other software: what is read from each, by content and by options.

use std::path::Path;

use nearfar::graph::{Dataset, InputFormat, Node, ReadOptions, UsedColumns, read};

use super::graph_examples::{FORMS, WRITTEN};

/// The format, the direction, the ids in row order, the edges with their weights, and the notes.
pub(crate) fn describe(dataset: &Dataset) -> String {
    let graph = &dataset.graph;
    let ids: Vec<_> = (0..graph.nodes() as Node).map(|row| graph.ids().get(row)).collect();
    let mut parts = vec![format!(
        "{}, {:?}: {}",
        dataset.origin.format.unwrap_or("edge list"),
        dataset.origin.direction,
        ids.join(", ")
    )];
    for (a, b, weight) in graph.edges_once() {
        let weight = weight.map_or(String::new(), |weight| format!(" {weight}"));
        parts.push(format!("{}–{}{weight}", ids[a as usize], ids[b as usize]));
    }
    if let Some(UsedColumns { source, target, weight, .. }) = &dataset.origin.columns {
        let weight = weight.as_ref().map_or(String::new(), |weight| format!(", {weight}"));
        parts.push(format!("columns {source}, {target}{weight}"));
    }
    parts.extend(dataset.notes.iter().map(ToString::to_string));
    parts.join("; ")
}

/// Writes a file and reads it. Errors are without the folder.
pub(crate) fn read_as(
    name: &str,
    content: &[u8],
    options: &ReadOptions,
) -> Result<Dataset, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    read(path.to_str().unwrap(), options).map_err(|error| {
        let folder = format!("{}/", folder.path().display());
        error.to_string().replace(&folder, "")
    })
}

fn described(name: &str, content: &str, options: &ReadOptions) -> String {
    read_as(name, content.as_bytes(), options).map_or_else(|error| error, |found| describe(&found))
}

#[test]
fn files_of_other_software() {
    for (name, content, expected) in WRITTEN {
        assert_eq!(described(name, content, &ReadOptions::default()), *expected, "{name}");
    }
}

#[test]
fn other_forms_of_each_format() {
    for (name, content, expected) in FORMS {
        assert_eq!(
            described(name, content, &ReadOptions::default()),
            *expected,
            "{name}: {content}"
        );
    }
}

/// All but adjacency lists and, as it is one array of edges or several lines, JSON.
#[test]
fn content_says_what_the_extension_does_not() {
    for (name, content, expected) in WRITTEN {
        if name.ends_with("adjlist") {
            continue;
        }
        for other in ["graph", "graph.txt", "graph.dat", "graph.net", "graph.mtx"] {
            assert_eq!(described(other, content, &ReadOptions::default()), *expected, "{name}");
        }
    }
}

#[test]
fn an_option_says_what_the_content_does_not() {
    let options = |format| ReadOptions { input_format: Some(format), ..ReadOptions::default() };
    let metis = "3 2\n2\n1 3\n2\n";
    assert_eq!(
        described("a.txt", metis, &options(InputFormat::Metis)),
        "METIS, Unstated: 1, 2, 3; 1–2; 2–3"
    );
    assert_eq!(
        described("a.txt", "a b c\n", &options(InputFormat::Adjacency)),
        "adjacency list, Unstated: a, b, c; a–b; a–c"
    );
}

/// METIS graphs and edge lists, whatever their names say.
#[test]
fn metis_is_told_from_edge_lists_by_its_counts() {
    let read = |name: &str, text: &str| described(name, text, &ReadOptions::default());
    let path = "METIS, Unstated: 1, 2, 3; 1–2; 2–3";
    let weighted = "METIS, Unstated: 1, 2, 3, 4; 1–2 0.5; 2–3 2";
    for name in ["a.txt", "a", "a.dat", "a.net", "a.graph"] {
        assert_eq!(read(name, "% a path\n3 2\n2\n1 3\n2\n"), path, "{name}");
        assert_eq!(read(name, "4 2 001\n2 0.5\n1 0.5 3 2\n2 2\n\n"), weighted, "{name}");
        for (edges, expected) in [
            ("3 2\n2 1\n", "edge list, Unstated: 3, 2, 1; 3–2; 2–1"),
            ("# x\n0 1\n1 2\n", "edge list, Unstated: 0, 1, 2; 0–1; 1–2"),
            ("a,b\nb,c\n", "edge list, Unstated: a, b, c; a–b; b–c"),
            // The counts fit; the neighbours do not.
            ("3 3\n2 3\n1 3\n1 3\n", "edge list, Unstated: 3, 2, 1; 3–2; 3–1"),
        ] {
            assert_eq!(read(name, edges), expected, "{name}: {edges}");
        }
    }
    // Beyond the first lines.
    let line = |k| format!("{} {}\n", k % 2000 + 1, (k + 1998) % 2000 + 1);
    let cycle = (1..=2000).map(line).collect::<Vec<_>>().concat();
    assert!(read("a.txt", &format!("2000 2000\n{cycle}")).starts_with("METIS"));
    assert!(read("a.txt", &format!("2000 2000\n{cycle}7 8\n")).starts_with("edge list"));
}

#[test]
fn a_metis_graph_that_may_be_an_edge_list_is_noted() {
    let notes = |options: &ReadOptions| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        std::fs::write(&path, "3 3\n2 3\n1 3\n1 2\n").unwrap();
        let dataset = nearfar::graph::read(path.to_str().unwrap(), options).unwrap();
        dataset.notes.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let found = notes(&ReadOptions::default());
    assert!(
        found[0].starts_with("may be an edge list, and was read as a METIS graph"),
        "{found:?}"
    );
    assert!(found[0].ends_with("use --input-format edges"), "{found:?}");
    let options = ReadOptions { input_format: Some(InputFormat::Metis), ..Default::default() };
    assert!(notes(&options).is_empty());
}

/// Formats whose weights have names.
#[test]
fn weights_are_chosen_by_name_or_left_out() {
    for (name, content) in [
        (
            "a.graphml",
            "<graphml><key id='k' for='edge' attr.name='n' attr.type='int'/><graph>\
            <node id='a'/><node id='b'/><edge source='a' target='b'><data key='k'>7</data></edge>\
            </graph></graphml>",
        ),
        (
            "a.gexf",
            "<gexf><graph><attributes class='edge'><attribute id='0' title='n'/></attributes>\
            <nodes><node id='a'/><node id='b'/></nodes><edges><edge source='a' target='b' \
            weight='3'><attvalues><attvalue for='0' value='7'/></attvalues></edge></edges></graph>\
            </gexf>",
        ),
        (
            "a.gml",
            "graph [ node [id 0 label \"a\"] node [id 1 label \"b\"] \
            edge [source 0 target 1 weight 3 n 7] ]",
        ),
        ("a.dot", "graph { a -- b [weight=3, n=7] }"),
        (
            "a.json",
            "{\"links\": [{\"source\": \"a\", \"target\": \"b\", \"weight\": 3, \"n\": 7}]}",
        ),
        ("a.jsonl", "{\"source\": \"a\", \"target\": \"b\", \"weight\": 3, \"n\": 7}"),
        ("a.edgelist", "a b {'weight': 3, 'n': 7}"),
    ] {
        let weight = |name: &str| ReadOptions { weight: name.parse().ok(), ..Default::default() };
        let found = described(name, content, &weight("n"));
        assert!(found.contains("a–b 7"), "{name}: {found}");
        let found = described(name, content, &weight("x"));
        let expected = format!("{name}: no edge has the attribute 'x'; omit --weight");
        assert_eq!(found, expected);
        let none = ReadOptions { no_weights: true, ..ReadOptions::default() };
        let found = described(name, content, &none);
        assert!(found.contains("a–b") && !found.contains("a–b "), "{name}: {found}");
        if !matches!(name, "a.json" | "a.jsonl") {
            let source = ReadOptions { source: "n".parse().ok(), ..ReadOptions::default() };
            let found = described(name, content, &source);
            let expected =
                format!("{name}: this format has no columns to choose from; omit --source");
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn ends_of_json_lines_are_chosen_by_name_or_number() {
    let options = |source: &str, target: &str, weight: &str| ReadOptions {
        source: source.parse().ok(),
        target: target.parse().ok(),
        weight: weight.parse().ok(),
        ..ReadOptions::default()
    };
    let objects = "{\"who\": 5, \"whom\": 6, \"n\": 2}\n{\"whom\": 7, \"n\": 3, \"who\": 5}\n";
    assert_eq!(
        described("a.jsonl", objects, &options("who", "whom", "n")),
        "JSON Lines, Unstated: 5, 6, 7; 5–6 2; 5–7 3; columns who, whom, n"
    );
    let arrays = "[2020, \"a\", \"b\", 5]\n[2021, \"b\", \"c\", 6]\n";
    assert_eq!(
        described("a.jsonl", arrays, &options("2", "3", "4")),
        "JSON Lines, Unstated: a, b, c; a–b 5; b–c 6; columns 2, 3, 4"
    );
    assert_eq!(
        described("a.jsonl", arrays, &ReadOptions::default()),
        "a.jsonl:1: an array of 4 values; expected [source, target] or [source, target, weight]"
    );
}

/// Isolated nodes of a nodes file are kept, before those of the graph.
#[test]
fn nodes_files_add_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = folder.path().join("nodes.tsv");
    std::fs::write(&nodes, "zoe\nb\n").unwrap();
    let options = ReadOptions { nodes: Some(nodes), ..ReadOptions::default() };
    assert_eq!(described("a.dot", "graph { a -- b }", &options), "DOT, Undirected: zoe, b, a; b–a");
}

#[test]
fn a_pipe_is_read_once() {
    #[cfg(unix)]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let read_pipe = |content: &'static str| {
            let to = path.clone();
            let writer = std::thread::spawn(move || std::fs::write(to, content).unwrap());
            let found = read(path.to_str().unwrap(), &ReadOptions::default());
            writer.join().unwrap();
            found.map(|found| describe(&found)).map_err(|error| error.to_string())
        };
        let expected = "DOT, Undirected: a, b; a–b".to_owned();
        assert_eq!(read_pipe("graph { a -- b }"), Ok(expected));
        let error = read_pipe("graph {").unwrap_err();
        assert!(Path::new(error.split(':').next().unwrap()) == path, "{error}");
    }
}
