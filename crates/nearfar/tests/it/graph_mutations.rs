//! Graph formats of other software, by chance: random graphs are read as they were written, and
//! broken files end in an error or a graph, quickly.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use nearfar::graph::{Node, ReadOptions};
use nearfar::rng::{Purpose, Rng};
use proptest::prelude::*;

use super::graph_examples::{FORMS, WRITTEN};
use super::graph_formats::read_as;

/// Edges with weights that are exact in binary.
type Edges = BTreeMap<(u32, u32), u32>;

fn weight(weight: u32) -> f64 {
    f64::from(weight) / 4.0
}

/// Every format, with a writer for nodes with these names and edges.
fn written(names: &[String], edges: &Edges) -> Vec<(&'static str, String)> {
    let mut files = Vec::new();
    let each = |line: &dyn Fn(u32, u32, f64) -> String| -> String {
        edges.iter().map(|(&(a, b), &w)| line(a, b, weight(w))).collect::<Vec<_>>().concat()
    };
    let nodes = |line: &dyn Fn(usize, &str) -> String| -> String {
        names.iter().enumerate().map(|(at, name)| line(at, name)).collect::<Vec<_>>().concat()
    };
    let name = |at: u32| names[at as usize].as_str();
    let xml = |at: u32| name(at).replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    let quoted = |at: u32| format!("\"{}\"", name(at).replace('"', "\\\""));
    let json = |at: u32| serde_json::to_string(name(at)).unwrap();

    let declared = nodes(&|at, _| format!("<node id=\"{}\"/>", xml(at as u32)));
    let lines = each(&|a, b, w| {
        let (a, b) = (xml(a), xml(b));
        format!("<edge source=\"{a}\" target=\"{b}\"><data key=\"w\">{w}</data></edge>\n")
    });
    files.push((
        "a.graphml",
        format!("<graphml><key id=\"w\" attr.name=\"weight\"/><graph>{declared}{lines}</graph></graphml>"),
    ));
    let lines = each(&|a, b, w| {
        format!("<edge source=\"{}\" target=\"{}\" weight=\"{w}\"/>\n", xml(a), xml(b))
    });
    files.push(("a.gexf", format!("<gexf><graph>{declared}{lines}</graph></gexf>")));
    let declared = nodes(&|at, _| format!("node [ id {at} label \"{}\" ]\n", xml(at as u32)));
    let lines = each(&|a, b, w| format!("edge [ source {a} target {b} weight {w} ]\n"));
    files.push(("a.gml", format!("graph [\n{declared}{lines}]")));
    let declared = nodes(&|at, name| format!("{} \"{}\"\n", at + 1, name.replace('"', "'")));
    let lines = each(&|a, b, w| format!("{} {} {w}\n", a + 1, b + 1));
    files.push(("a.net", format!("*Vertices {}\n{declared}*Edges\n{lines}", names.len())));
    let declared = nodes(&|at, _| format!("{};\n", quoted(at as u32)));
    let lines = each(&|a, b, w| format!("{} -- {} [weight={w}];\n", quoted(a), quoted(b)));
    files.push(("a.dot", format!("graph {{\n{declared}{lines}}}")));
    let declared: Vec<String> =
        (0..names.len() as u32).map(|at| format!("{{\"id\": {}}}", json(at))).collect();
    let lines = each(&|a, b, w| {
        format!("{{\"source\": {}, \"weight\": {w}, \"target\": {}}},\n", json(a), json(b))
    });
    let (declared, lines) = (declared.join(","), lines.trim_end_matches(",\n"));
    files.push(("a.json", format!("{{\"links\": [{lines}], \"nodes\": [{declared}]}}")));

    // Formats that know nodes by number, or not at all.
    let mut lists = vec![String::new(); names.len()];
    for (&(a, b), &w) in edges {
        let _ = write!(lists[a as usize], "{} {} ", b + 1, weight(w));
        let _ = write!(lists[b as usize], "{} {} ", a + 1, weight(w));
    }
    let header = format!("{} {} 1\n", names.len(), edges.len());
    files.push(("a.metis", header + &lists.join("\n") + "\n"));
    let lines = each(&|a, b, w| format!("[{a}, {b}, {w}]\n"));
    files.push(("a.jsonl", lines));
    files.push(("a.edgelist", each(&|a, b, w| format!("{a} {b} {{'weight': {w}}}\n"))));
    files
}

/// Names of nodes: distinct, and not only digits.
fn names() -> impl Strategy<Value = Vec<String>> {
    let name = "[a-z<&\" é{}\\[\\]/*=;:#-]{0,5}[a-z]";
    prop::collection::btree_set(name, 2..12)
        .prop_map(|names: BTreeSet<String>| {
            names.into_iter().map(|name| name.trim().to_owned()).collect::<BTreeSet<_>>()
        })
        .prop_map(|names| names.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_graphs_are_read_as_they_were_written(
        names in names().prop_filter("two nodes", |names| names.len() > 1),
        pairs in prop::collection::vec((0_usize..12, 0_usize..12, 1_u32..40), 1..30),
    ) {
        let mut edges = Edges::new();
        for (a, b, w) in pairs {
            let (a, b) = ((a % names.len()) as u32, (b % names.len()) as u32);
            if a != b {
                edges.insert((a.min(b), a.max(b)), w);
            }
        }
        prop_assume!(!edges.is_empty());
        let ones = edges.values().all(|&w| w == 4);
        for (file, content) in written(&names, &edges) {
            let graph = read_as(file, content.as_bytes(), &ReadOptions::default());
            let graph = graph.map_err(|error| TestCaseError::fail(format!("{error}\n{content}")))?.graph;
            let id = |at: u32| match file {
                "a.metis" => (at + 1).to_string(),
                "a.jsonl" | "a.edgelist" => at.to_string(),
                "a.net" => names[at as usize].replace('"', "'"),
                _ => names[at as usize].clone(),
            };
            let mut expected: Vec<(BTreeSet<String>, f64)> =
                edges.iter().map(|(&(a, b), &w)| ([id(a), id(b)].into(), weight(w))).collect();
            let text = |row: Node| graph.ids().get(row).into_owned();
            let mut found: Vec<(BTreeSet<String>, f64)> = graph
                .edges_once()
                .map(|(a, b, w)| ([text(a), text(b)].into(), f64::from(w.unwrap_or(1.0))))
                .collect();
            expected.sort_by(|a, b| a.0.cmp(&b.0));
            found.sort_by(|a, b| a.0.cmp(&b.0));
            prop_assert_eq!(found, expected, "{}:\n{}", file, content);
            if !matches!(file, "a.jsonl" | "a.edgelist") {
                prop_assert_eq!(graph.nodes(), names.len(), "{}:\n{}", file, content);
            }
            let unweighted = ones && file != "a.metis";
            prop_assert_eq!(graph.is_weighted(), !unweighted, "{}", file);
        }
    }
}

/// Every example, damaged in many ways: bytes replaced, removed, repeated, moved, or cut off.
#[test]
fn damaged_files_end_in_a_graph_or_an_error() {
    const TIMES: u64 = 300;
    for (file, (name, content, _)) in WRITTEN.iter().chain(FORMS).enumerate() {
        for time in 0..TIMES {
            let mut rng = Rng::new(7, Purpose::Walk, file as u64, time);
            let mut bytes = content.as_bytes().to_vec();
            for _ in 0..=rng.below(3) {
                damage(&mut bytes, &mut rng);
            }
            let start = Instant::now();
            if let Err(error) = read_as(name, &bytes, &ReadOptions::default()) {
                assert!(error.starts_with(name), "{error}");
            }
            let text = String::from_utf8_lossy(&bytes);
            assert!(start.elapsed() < Duration::from_secs(20), "{name} takes long:\n{text}");
        }
    }
}

fn damage(bytes: &mut Vec<u8>, rng: &mut Rng) {
    /// What formats are made of.
    const PIECES: [&str; 16] = [
        "\"",
        "<",
        ">",
        "&",
        "[",
        "]",
        "{",
        "}",
        "\n",
        "*",
        "--",
        "4000000000",
        "-1",
        "é",
        "/*",
        "\0",
    ];
    let at = rng.below(bytes.len().max(1)).min(bytes.len());
    let end = (at + 1 + rng.below(40)).min(bytes.len());
    match rng.below(6) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..end)),
        2 => {
            let piece = bytes[at..end].repeat(2);
            bytes.splice(at..end, piece);
        }
        3 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = rng.below(256) as u8;
            }
        }
        4 => {
            let piece: Vec<u8> = bytes.drain(at..end).collect();
            let to = rng.below(bytes.len() + 1);
            bytes.splice(to..to, piece);
        }
        _ => {
            let piece = PIECES[rng.below(PIECES.len())];
            bytes.splice(at..at, piece.bytes());
        }
    }
}
