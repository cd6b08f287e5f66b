//! Graph formats of other software: what is wrong, where, and what is not supported.

use nearfar::graph::ReadOptions;

use super::graph_formats::read_as;

fn error_in(name: &str, content: &str) -> String {
    read_as(name, content.as_bytes(), &ReadOptions::default()).expect_err(content)
}

#[track_caller]
fn check(name: &str, content: &str, expected: &str) {
    assert_eq!(error_in(name, content), format!("{name}{expected}"), "{content}");
}

/// A GraphML file with this in its graph.
fn graphml(content: &str) -> String {
    format!(
        "<graphml>\n<key id='w' attr.name='weight'/>\n<graph>\n<node id='a'/><node id='b'/>\n\
         {content}\n</graph></graphml>"
    )
}

#[test]
fn graphml_and_gexf() {
    let one = "a second graph; only files of one graph are supported: store each in its own file";
    for (content, expected) in [
        ("<edge source='a'/>", ":5: <edge> without the attribute 'target'"),
        ("<node id='a'/>", ":5: node 'a' is declared twice"),
        (
            "\n<edge source='a' target='c'/>",
            ":6: an edge of node 'c', which the file does not declare",
        ),
        (
            "<edge source='a' target='b'><data key='w'>x</data></edge>",
            ":5: 'x' is not a weight; expected a number ≥ 0",
        ),
        (
            "<edge source='a' target='b'><data key='w'>-1</data></edge>",
            ":5: weight -1; weights must be finite and ≥ 0",
        ),
        (
            "<hyperedge/>",
            ":5: a hyperedge: this is GraphML's hypergraph part, which is not supported",
        ),
        (
            "<node id='c'><graph/></node>",
            ":5: a graph nested in a node, which is not supported; flatten the groups",
        ),
        ("</graph><graph>", &format!(":5: {one}")),
        ("<edge source='&x;' target='b'/>", ":5: invalid XML: "),
        ("<node id='c'></edge>", ":5: invalid XML: "),
    ] {
        let found = error_in("a.graphml", &graphml(content));
        assert!(found.starts_with(&format!("a.graphml{expected}")), "{found}");
    }
    check("a.graphml", "<graphml><graph>", ":1: the file ends in the middle of the document");
    check("a.graphml", "<graphml/>", ":1: no <graph> in this GraphML file");
    check("a.graphml", &graphml(""), ": no edges found");
    let entities = "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]>\n<graphml><graph>\n\
                    <node id='a'>&b;</node></graph></graphml>";
    check("a.graphml", entities, ":3: the entity '&b;', which is not supported");

    let dynamic = "a dynamic graph, whose nodes and edges come and go, is not supported; export one \
                   time slice as a static graph";
    check("a.gexf", "<gexf><graph mode='dynamic'></graph></gexf>", &format!(":1: {dynamic}"));
    let spells =
        "<gexf><graph><nodes>\n<node id='a'><spells></spells></node></nodes></graph></gexf>";
    check("a.gexf", spells, &format!(":2: {dynamic}"));
    let nested = "<gexf><graph><nodes>\n<node id='a'><nodes><node id='b'/></nodes></node></nodes>";
    check("a.gexf", nested, ":2: a node in a node: hierarchies are not supported; flatten them");
    check("a.gexf", "<gexf><graph/><graph/></gexf>", &format!(":1: {one}"));
    check("a.gexf", "<gexf/>", ":1: no <graph> in this GEXF file");
    check(
        "a.xml",
        "<?xml version='1.0'?><graph/>",
        ": an XML file of <graph>; expected <graphml> or <gexf>: export the graph as GraphML",
    );
    check(
        "a.graphml",
        "<!DOCTYPE html><html></html>",
        ": an HTML page; expected a graph: check where the file came from",
    );
}

#[test]
fn gml() {
    let with = |content: &str| format!("graph [\nnode [ id 1 ]\n{content}\n]");
    for (content, expected) in [
        ("node [ label \"x\" ]", ":3: a node without an 'id'"),
        ("node [ id 1 ]", ":3: node 1 is declared twice"),
        ("edge [ source 1 ]", ":3: an edge without 'source' and 'target'"),
        ("edge [ source 1 target 2 ]", ":3: an edge of node '2', which the file does not declare"),
        ("edge [ source 1 target 1 weight x ]", ":3: 'x' is not a weight; expected a number ≥ 0"),
        ("graph [ ]", ":3: a nested graph, which is not supported; flatten the groups"),
        ("edge [ label \"x ]", ":3: a text without its closing quotation mark"),
        ("label ]", ":3: 'label' has no value"),
        ("[ x ]", ":3: a '[' without a key before it"),
        ("]\n]", ":4: a ']' without its '['"),
        (
            "]\ngraph [",
            ":4: a second graph; only files of one graph are supported: store each in its own file",
        ),
        ("node [ id 2", ":4: the file ends before the last ']'"),
    ] {
        check("a.gml", &with(content), expected);
    }
    check("a.gml", "Version 1\n", ":2: no 'graph [' in this GML file");
}

#[test]
fn pajek() {
    let with = |content: &str| format!("*Vertices 3\n{content}\n");
    for (content, expected) in [
        ("4 \"x\"", ":2: '4' is not a vertex; expected a number from 1 to 3"),
        ("1 \"x", ":2: a label without its closing quotation mark"),
        ("1 x\n1 y", ":3: vertex 1 is declared twice"),
        ("*Edges\n1", ":3: expected two vertices and, optionally, a weight"),
        ("*Edges\n1 0", ":3: '0' is not a vertex; expected a number from 1 to 3"),
        ("*Edges\n1 2 x", ":3: 'x' is not a weight; expected a number ≥ 0"),
        (
            "*Edges\n1 2 1 [3-5]",
            ":3: a network in time: intervals such as [1-5] are not supported; save one point in time",
        ),
        ("*Matrix", ":2: a matrix, which is not supported; save the network with arcs and edges"),
        ("*Partition x", ":2: *Partition is not part of a network; save the network alone"),
        (
            "*Vertices 2",
            ":2: a second network; only files of one network are supported: store each in its own file",
        ),
        (
            "*Nodes",
            ":2: *Nodes is not supported; expected *Vertices, *Arcs, *Edges, *Arcslist or *Edgeslist",
        ),
    ] {
        check("a.net", &with(content), expected);
    }
    check("a.net", "*Vertices\n", ":1: expected '*Vertices n', with the number of nodes");
    check("a.net", "*Arcs\n1 2\n", ":1: expected '*Vertices n' before this");
    check(
        "a.net",
        "1 2\n*Arcs\n",
        ":1: expected '*Vertices n', as a Pajek file begins; use --input-format edges",
    );
    let claim = "*Vertices 4000000000\n*Edges\n1 2\n";
    assert!(error_in("a.net", claim).starts_with("a.net:1: the header claims 4000000000 nodes"));
}

#[test]
fn dot() {
    for (content, expected) in [
        ("graph {\na -> b }", ":2: '->' in a graph"),
        ("digraph {\na -- b }", ":2: '--' in a digraph"),
        ("graph {\na -- }", ":2: an edge without a node after it"),
        ("graph {\n-- a }", ":2: an edge without a node before it"),
        ("graph {\n[weight=2] }", ":2: '[' without a node or an edge before it"),
        ("graph {\na -- b [weight=x]}", ":2: 'x' is not a weight; expected a number ≥ 0"),
        ("graph {\na -- b [weight=-2]}", ":2: weight -2; weights must be finite and ≥ 0"),
        ("graph {\na -- b [}", ":2: expected an attribute or ']', found '}'"),
        ("graph {\na -- \"b }", ":2: a text without its closing quotation mark"),
        ("graph {\na -- <b }", ":2: a text in '<' without its closing '>'"),
        ("graph {\na -- b", ":2: the file ends before the last '}'"),
        ("graph { /*\na -- b", ":1: a comment without its end, '*/'"),
        ("graph {\na -- b } x", ":2: expected the end of the file, found 'x'"),
        ("graph {\na * b }", ":2: expected a node, an edge or '}', found '*'"),
        ("graph {\na + b }", ":2: expected a node, an edge or '}', found '+'"),
        (
            "graph { a -- b }\ngraph {}",
            ":2: a second graph; only files of one graph are supported: store each in its own file",
        ),
        (
            "graph { a --\nsubgraph x }",
            ":2: a subgraph without '{…}', a reference to one elsewhere, is not supported",
        ),
    ] {
        check("a.dot", content, expected);
    }
    let deep = format!("graph {{{}{}}}", "{".repeat(200), "}".repeat(200));
    check("a.dot", &deep, ":1: more than 100 subgraphs in each other");
    let many =
        |letter: char| (0..4000).map(|i| format!("{letter}{i} ")).collect::<Vec<_>>().concat();
    let square = format!("graph {{\n{{ {} }} -- {{ {} }} }}", many('a'), many('b'));
    check(
        "a.dot",
        &square,
        ":2: more than 10000000 edges between subgraphs; write them as an edge list",
    );
}

#[test]
fn json() {
    for (content, expected) in [
        ("{\"nodes\":\n[,]}", ":2: invalid JSON: expected value"),
        (
            "{\"nodes\": [{\"id\": 1}, {\"id\": 1}], \"links\": []}",
            ":1: node '1' is declared twice",
        ),
        (
            "{\"nodes\": [{\"id\": 1}, {\"x\": 1}], \"links\": []}",
            ":1: node 1: some nodes have an 'id' and others have none",
        ),
        (
            "{\"nodes\": [{\"id\": 1.5}], \"links\": []}",
            ":1: 'id' is 1.5; node ids must be non-empty text or integers",
        ),
        (
            "{\"nodes\": [{\"id\": 1}], \"links\": [{\"source\": 1, \"target\": 2}]}",
            ": an edge of node '2', which the file does not declare",
        ),
        (
            "{\"links\": [\n{\"source\": 1, \"targets\": 2}]}",
            ":2: an edge without 'source' and 'target'",
        ),
        (
            "{\"links\": [\n{\"source\": 1, \"target\": null}]}",
            ":2: 'target' is null; node ids must be non-empty text or integers",
        ),
        (
            "{\"links\": [{\"source\": 1, \"target\": 2, \"weight\": [1]}]}",
            ":1: a weight is an array or an object; expected a number ≥ 0",
        ),
        (
            "{\"links\": [{\"source\": 1, \"target\": 2, \"weight\": -1}]}",
            ":1: weight -1; weights must be finite and ≥ 0",
        ),
        ("{\"links\": 3}", ":1: invalid type: integer `3`, expected an array of edges"),
        (
            "{\"a\": 1, \"b\": 2}",
            ":1: no 'links' or 'edges' at the top of the document; found: a, b",
        ),
        (
            "{\"adjacency\": []}",
            ":1: NetworkX's adjacency_data is not supported; write node_link_data",
        ),
        (
            "{\"elements\": {}}",
            ":1: Cytoscape's JSON is not supported; export the network as GraphML",
        ),
        ("{\"hyperedges\": {}}", ":1: hyperedges are not supported"),
        ("{\"links\": []}", ": no edges found"),
        ("[[1, 2]] x", ":1: invalid JSON: trailing characters"),
    ] {
        check("a.json", content, expected);
    }
    let deep = "[".repeat(100_000);
    check("a.json", &deep, ":1: invalid JSON: EOF while parsing a list");
    let lines = "{\"source\": 1, \"target\": 2}\n{\"source\": 1}\n";
    check("a.jsonl", lines, ":2: an edge without 'source' and 'target'");
    check("a.jsonl", "[1, 2]\n[3, 4\n", ":2: invalid JSON: EOF while parsing a list");
    check(
        "a.jsonl",
        "3\n",
        ":1: invalid type: integer `3`, expected an edge: an object such as \
         {\"source\": 1, \"target\": 2}, or an array",
    );
}

#[test]
fn lists_that_are_not_read() {
    for (name, content, format) in [
        ("a.lgl", "# a\nb 0.5\nc\n", "LGL"),
        ("a.tgf", "1 ann\n2 bob\n#\n1 2\n", "Trivial Graph Format"),
        ("a.g6", "D?{\n", "graph6"),
        ("a.txt", "# by hand\nLEDA.GRAPH\nstring\n", "LEDA"),
    ] {
        let expected =
            format!(": {format} is not supported; save the graph as GraphML or as an edge list");
        check(name, content, &expected);
    }
    // Edge lists whose names say something else.
    for name in ["a.lgl", "a.tgf", "a.g6", "a.lgr"] {
        let options = ReadOptions::default();
        assert_eq!(read_as(name, b"ann bob\nbob eve\n", &options).unwrap().graph.edges(), 2);
    }
}

#[test]
fn metis_and_lists() {
    // Lines of one length can be an edge list.
    let edges = "; use --input-format edges";
    for (content, expected) in [
        ("a b\n", ":1: expected 'nodes edges [format [weights]]', the header of a METIS graph"),
        ("3 2 002\n", ":1: expected 'nodes edges [format [weights]]', the header of a METIS graph"),
        ("9 1\n2 1\n", ":1: the header claims 9 nodes, but 1 lines follow"),
    ] {
        check("a.metis", content, &format!("{expected}{edges}"));
    }
    for (content, expected) in [
        ("4000000000 1\n2\n1\n", ":1: the header claims 4000000000 nodes, but 2 lines follow"),
        ("1 1\n1\n2\n", ":3: more lines than the 1 nodes of the header"),
        (
            "2 2\n2\n1\n",
            ":1: the header claims 2 edges, but there are 2 neighbours; expected each edge in the \
             lines of both of its ends",
        ),
        (
            "3 1\n2\n3\n\n",
            ": not every edge is in the lines of both of its ends, with the same weight",
        ),
        ("2 1\n3\n1\n", ":2: '3' is not a node; expected a number from 1 to 2"),
        ("2 1 1\n2\n1\n", ":2: a neighbour without the weight of its edge"),
        ("2 1 1\n2 -1\n1 -1\n", ":2: weight -1; weights must be finite and ≥ 0"),
        ("2 1 10 2\n3\n1\n", ":2: expected 2 values of the node first, as the header says"),
        ("% none\n", ": no header line"),
    ] {
        check("a.metis", content, expected);
    }
    // By its header and the lengths of its lines, this is no edge list.
    check(
        "a.txt",
        "3 2\n2\n1 3\n1\n",
        ": not every edge is in the lines of both of its ends, with the same weight",
    );
    check("a.adjlist", "\tb\n", ":1: an empty id; expected a node first");
    check(
        "a.adjlist",
        "a 1\nb {'weight': 2}\n",
        ":2: this is NetworkX's multiline adjacency list; write the graph with write_edgelist",
    );
    check("a.adjlist", "#\n", ": no edges found; expected lines 'node neighbour neighbour …'");
    check(
        "a.edgelist",
        "a b c {}\n",
        ":1: found 3 ids before the attributes, expected 'source target {…}'; ids with blanks need \
         another separator",
    );
    check(
        "a.edgelist",
        "a b {'weight': 'x'}\n",
        ":1: ''x'' is not a weight; expected a number ≥ 0",
    );
    check(
        "a.edgelist",
        "a b {}\nb c {'x': [}\n",
        ":2: attributes without a closing '}'; expected 'source target {'key': value, …}'",
    );
    check("a.edgelist", "a b {}\nb c {} d\n", ":2: 'd' follows the attributes");
}
