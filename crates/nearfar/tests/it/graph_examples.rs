//! Graphs as other software writes them, and what is read from each.

/// The file name, the content, and the description of what is read.
pub(crate) type Example = (&'static str, &'static str, &'static str);

/// Written by NetworkX 3.6 (with pydot), python-igraph 1.0 and pandas 3.1.
pub(crate) const WRITTEN: &[Example] = &[
    (
        "networkx.graphml",
        r#"<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
  <key id="d0" for="edge" attr.name="weight" attr.type="double" />
  <graph edgedefault="undirected">
    <node id="ann" />
    <node id="bob d" />
    <node id="carl" />
    <node id="dörte" />
    <edge source="ann" target="bob d">
      <data key="d0">0.5</data>
    </edge>
    <edge source="bob d" target="carl">
      <data key="d0">2.0</data>
    </edge>
  </graph>
</graphml>
"#,
        "GraphML, Undirected: ann, bob d, carl, dörte; ann–bob d 0.5; bob d–carl 2",
    ),
    (
        "igraph.graphml",
        r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"
         xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
         xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns
         http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
<!-- Created by igraph -->
  <key id="v_name" for="node" attr.name="name" attr.type="string"/>
  <key id="e_weight" for="edge" attr.name="weight" attr.type="double"/>
  <graph id="G" edgedefault="undirected">
    <node id="n0">
      <data key="v_name">ann</data>
    </node>
    <node id="n1">
      <data key="v_name">bob d</data>
    </node>
    <node id="n2">
      <data key="v_name">carl</data>
    </node>
    <node id="n3">
      <data key="v_name">dörte</data>
    </node>
    <edge source="n0" target="n1">
      <data key="e_weight">0.5</data>
    </edge>
    <edge source="n1" target="n2">
      <data key="e_weight">2</data>
    </edge>
  </graph>
</graphml>
"#,
        "GraphML, Undirected: ann, bob d, carl, dörte; ann–bob d 0.5; bob d–carl 2; node ids are the names of the nodes",
    ),
    (
        "networkx.gexf",
        r#"<?xml version='1.0' encoding='utf-8'?>
<gexf xmlns="http://www.gexf.net/1.2draft" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.gexf.net/1.2draft http://www.gexf.net/1.2draft/gexf.xsd" version="1.2">
  <meta lastmodifieddate="2026-11-18">
    <creator>NetworkX 3.6.1</creator>
  </meta>
  <graph defaultedgetype="undirected" mode="static" name="">
    <nodes>
      <node id="ann" label="ann" />
      <node id="bob d" label="bob d" />
      <node id="carl" label="carl" />
      <node id="dörte" label="dörte" />
    </nodes>
    <edges>
      <edge source="ann" target="bob d" id="0" weight="0.5" />
      <edge source="bob d" target="carl" id="1" weight="2.0" />
    </edges>
  </graph>
</gexf>
"#,
        "GEXF, Undirected: ann, bob d, carl, dörte; ann–bob d 0.5; bob d–carl 2",
    ),
    (
        "networkx.gml",
        r#"graph [
  directed 1
  node [
    id 0
    label "a"
  ]
  node [
    id 1
    label "b"
  ]
  node [
    id 2
    label "c"
  ]
  edge [
    source 0
    target 1
    weight 3
  ]
  edge [
    source 1
    target 0
    weight 1
  ]
  edge [
    source 1
    target 2
    weight 2
  ]
]
"#,
        "GML, Directed: a, b, c; a–b 4; b–c 2; node ids are the names of the nodes",
    ),
    (
        "igraph.gml",
        r#"Creator "igraph version 1.0.0 Wed Nov 18 20:51:44 2026"
Version 1
graph
[
  directed 0
  node
  [
    id 0
    name "ann"
  ]
  node
  [
    id 1
    name "bob d"
  ]
  node
  [
    id 2
    name "carl"
  ]
  node
  [
    id 3
    name "dörte"
  ]
  edge
  [
    source 1
    target 0
    weight 0.5
  ]
  edge
  [
    source 2
    target 1
    weight 2
  ]
]
"#,
        "GML, Undirected: ann, bob d, carl, dörte; ann–bob d 0.5; bob d–carl 2; node ids are the names of the nodes",
    ),
    (
        "networkx.net",
        r#"*vertices 4
1 ann 0.0 0.0 ellipse
2 "bob d" 0.0 0.0 ellipse
3 carl 0.0 0.0 ellipse
4 dörte 0.0 0.0 ellipse
*edges
1 2 0.5
2 3 2.0
"#,
        "Pajek, Undirected: ann, bob d, carl, dörte; ann–bob d 0.5; bob d–carl 2; node ids are the names of the nodes",
    ),
    (
        "igraph.net",
        r"*Vertices 4
*Arcs
1 2
3 2
",
        "Pajek, Directed: 1, 2, 3, 4; 1–2; 2–3",
    ),
    (
        "pydot.dot",
        r#"strict graph {
ann;
"bob d";
carl;
dörte;
ann -- "bob d" [weight=0.5];
"bob d" -- carl [weight=2.0];
}
"#,
        "DOT, Undirected: ann, bob d, carl, dörte; ann–bob d 0.5; bob d–carl 2",
    ),
    (
        "igraph.dot",
        r#"/* Created by igraph 1.0.0 */
graph {
  0 [
    name=ann
  ];
  1 [
    name="bob d"
  ];
  2 [
    name=carl
  ];
  3 [
    name="dörte"
  ];

  1 -- 0 [
    weight=0.5
  ];
  2 -- 1 [
    weight=2
  ];
}
"#,
        "DOT, Undirected: ann, bob d, carl, dörte; ann–bob d 0.5; bob d–carl 2; node ids are the names of the nodes",
    ),
    (
        "networkx.json",
        r#"{"directed": false, "multigraph": false, "graph": {}, "nodes": [{"id": "ann"}, {"id": "bob d"}, {"id": "carl"}, {"id": "d\u00f6rte"}], "edges": [{"weight": 0.5, "source": "ann", "target": "bob d"}, {"weight": 2.0, "source": "bob d", "target": "carl"}]}"#,
        "JSON, Undirected: ann, bob d, carl, dörte; ann–bob d 0.5; bob d–carl 2",
    ),
    (
        "networkx-links.json",
        r#"{"directed": true, "multigraph": false, "graph": {}, "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "links": [{"weight": 3, "source": "a", "target": "b"}, {"weight": 1, "source": "b", "target": "a"}, {"weight": 2, "source": "b", "target": "c"}]}"#,
        "JSON, Directed: a, b, c; a–b 4; b–c 2",
    ),
    (
        "pandas.jsonl",
        r#"{"source":"ann","target":"bob d","weight":0.5}
{"source":"bob d","target":"carl","weight":2.0}
"#,
        "JSON Lines, Unstated: ann, bob d, carl; ann–bob d 0.5; bob d–carl 2",
    ),
    (
        "pandas.json",
        r#"[{"source":"ann","target":"bob d","weight":0.5},{"source":"bob d","target":"carl","weight":2.0}]"#,
        "JSON, Unstated: ann, bob d, carl; ann–bob d 0.5; bob d–carl 2",
    ),
    (
        "networkx.adjlist",
        r"#write.py
# GMT Wed Nov 18 20:51:44 2026
# 
0 1 2
1
2 3
3
4
",
        "adjacency list, Unstated: 0, 1, 2, 3, 4; 0–1; 0–2; 2–3",
    ),
    (
        "networkx.edgelist",
        r#"it's q"x {'weight': 1.5, 'since': (2020, 1)}
it's a {'note': "x, {y}: 'weight'"}
"#,
        "NetworkX edge list, Unstated: it's, q\"x, a; it's–q\"x 1.5; it's–a 1; 1 edge states no weight and has weight 1",
    ),
];

/// Forms that the writers above do not use.
pub(crate) const FORMS: &[Example] = &[
    (
        "default-weight.graphml",
        "<?xml version='1.0'?><!DOCTYPE graphml><g:graphml xmlns:g='http://x'>
         <g:key id='w' for='edge' attr.name='weight' attr.type='double'><g:default>2</g:default></g:key>
         <g:key id='n' for='node' attr.name='name' attr.type='string'/>
         <g:graph edgedefault='undirected'><g:desc>x</g:desc>
         <g:edge source='a&amp;b' target='&#252;' directed='true'/>
         <g:edge source='&#252;' target='c' sourceport='p'><g:data key='w'><![CDATA[5]]></g:data></g:edge>
         <g:node id='a&amp;b'><g:data key='n'>x</g:data><g:port name='p'/></g:node>
         <g:node id='&#252;'/><g:node id='c'/></g:graph></g:graphml>",
        "GraphML, Directed: a&b, ü, c; a&b–ü 2; ü–c 5",
    ),
    (
        "yed.graphml",
        "<graphml><key for='node' id='d0' yfiles.type='nodegraphics'/><graph edgedefault='directed'>
         <node id='n0'><data key='d0'><y:ShapeNode><y:NodeLabel>edge</y:NodeLabel><graph/></y:ShapeNode>
         </data></node><node id='n1'/><edge id='e0' source='n0' target='n1'/></graph></graphml>",
        "GraphML, Directed: n0, n1; n0–n1",
    ),
    (
        "value.graphml",
        "<graphml><key id='v' for='all' attr.name='value' attr.type='string'/>
         <key id='u' attr.name='value' attr.type='int'/><graph><node id='a'/><node id='b'/><node id='c'/>
         <edge source='a' target='b'><data key='v'>x</data><data key='u'>3</data></edge>
         <edge source='b' target='c'/></graph></graphml>",
        "GraphML, Undirected: a, b, c; a–b 3; b–c 1; 1 edge states no weight and has weight 1",
    ),
    (
        "gephi.gexf",
        "<gexf xmlns:viz='http://x' version='1.3'><graph defaultedgetype='mutual'><nodes count='2'>
         <node id='1' label='Ann'><viz:size value='2'/></node><node id='0' label='Bob'/></nodes>
         <edges><edge id='0' source='1' target='0' type='directed' weight='1.0'/></edges></graph></gexf>",
        "GEXF, Directed: 0, 1; 0–1",
    ),
    (
        "nested.gml",
        "# a comment\nComment \"graph [ ]\"\nVersion 1\ngraph [\n directed 0 node[id 7 label \"x\" graphics \
         [ x 1.5 label \"y\" point [ z 1 ] ]]\n node [ id 8 label \"x\" ] node [ label 3 id 9 ]\n\
         edge [ source 7 target 8 label \"a # b\" value 2 ]\nedge [ source 8 target 9 value \"n\" ]\n]\n",
        "GML, Undirected: 7, 8, 9; 7–8 2; 8–9 1; 1 edge states no weight and has weight 1",
    ),
    (
        "lists.net",
        "*Network x\r\n% comment\r\n*Vertices 5 2\r\n1 \"a b\" 0.1 0.2 ic Red\r\n2 \"\"\r\n\
         *Arcslist\r\n1 2 3\r\n*EdgesList :2 \"likes\"\r\n3 4\r\n*Edges\r\n4 5 2.5 c Blue\r\n",
        "Pajek, Directed: 1, 2, 3, 4, 5; 1–2 1; 1–3 1; 3–4 1; 4–5 2.5; \
         3 edges state no weight and have weight 1",
    ),
    (
        "all.dot",
        "# 1 \"x\"\n// y\nstrict digraph \"g\" { rankdir=LR; graph [size=\"1,2\"]; node [shape=box, weight=9]\n\
         a:p:ne -> b -> \"c\\\"\" /* [ */ [label=<<b>x</b>>; weight=3]; edge [weight=2]\n\
         subgraph cluster_0 { edge [weight=4]; label=\"z\"; d; e } -> a\n{ f } -> {g h}\n \
         \"i\" + \"j\" [color=\"red\"] [style=dashed]; é -> -1.5 [penwidth=2][weight=7] }\n# end",
        "DOT, Directed: a, b, c\", d, e, f, g, h, ij, é, -1.5; a–b 3; a–d 2; a–e 2; b–c\" 3; f–g 2; f–h 2; \
         é–-1.5 7",
    ),
    (
        "value.dot",
        "graph{a--b[value=x]b--c[value=2]}",
        "DOT, Undirected: a, b, c; a–b 1; b–c 2; 1 edge states no weight and has weight 1",
    ),
    (
        "d3.json",
        "{\"links\": [{\"source\": 1, \"target\": 0, \"value\": 2}, {\"source\": 1, \"target\": 2}],\n\
         \"nodes\": [{\"name\": \"ann\", \"group\": [1]}, {\"name\": \"bob\"}, {\"name\": \"eve\"}]}",
        "JSON, Unstated: bob, ann, eve; bob–ann 2; bob–eve 1; \
         node ids are the names of the nodes; 1 edge states no weight and has weight 1",
    ),
    (
        "ids.json",
        "{\"nodes\": [\"a\", 3, -1], \"edges\": [[\"a\", 3], {\"from\": 3, \"to\": -1, \"weight\": null}]}",
        "JSON, Unstated: a, 3, -1; a–3; 3–-1",
    ),
    ("arrays.json", "[[0, 1, 0.5],\n [1, 2, \"2\"]]", "JSON, Unstated: 0, 1, 2; 0–1 0.5; 1–2 2"),
    (
        "arrays.jsonl",
        "[\"\\u00fc\", \"b\"]\n\n{\"src\": \"b\", \"dst\": 3, \"x\": {\"weight\": [7]}}\n",
        "JSON Lines, Unstated: ü, b, 3; ü–b; b–3",
    ),
    (
        "friends.jsonl",
        "{\"ts\": 1, \"user_id\": 7, \"friend_id\": 8}\n{\"user_id\": 8, \"friend_id\": 9}\n",
        "JSON Lines, Unstated: 7, 8, 9; 7–8; 8–9; columns user_id, friend_id",
    ),
    (
        "weights.metis",
        "% two weights per node, sizes\n4 2 111 2\n1 5 6 2 0.5\n1 5 6 1 0.5 3 2\n% here\n1 5 6 2 2\n1 5 6\n\n",
        "METIS, Unstated: 1, 2, 3, 4; 1–2 0.5; 2–3 2",
    ),
    ("isolated.graph", "3 1\n2\n1\n\n", "METIS, Unstated: 1, 2, 3; 1–2"),
    (
        "tabs.adjlist",
        "# x\na b\tc\td\n\ne\n",
        "adjacency list, Unstated: a b, c, d, e; a b–c; a b–d",
    ),
    (
        "numpy.edgelist",
        "#x\na,b c,{'x': \"a\\\"}\", 'weight': np.float64(1.5), 3: [1, {2: 'weight'}]}\nb c,d,{}\n",
        "NetworkX edge list, Unstated: a, b c, d; a–b c 1.5; b c–d 1; \
         1 edge states no weight and has weight 1",
    ),
    ("plain.edgelist", "a b 2\nb c 3\n", "edge list, Unstated: a, b, c; a–b 2; b–c 3"),
];
