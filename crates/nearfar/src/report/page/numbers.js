// The numbers: what a reader needs to trust and to repeat it.

const plusMinus = (score) =>
  score.mean.toFixed(3) + (score.runs.length > 1 ? ` ± ${score.std.toFixed(3)}` : "");

// The few that come first: [name, value, what it means].
function facts(head) {
  const list = [["Nodes", grouped(head.nodes), head.graph ? `${grouped(head.graph.edges_undirected)} edges` : "no graph given"],
    ["Vectors", `${head.dim}`, "numbers for each node"]];
  const { graph, measures, classification, links } = head;
  if (graph) list.push(["Mean distance", figure(graph.mean_distance), `hops; the largest is ${graph.diameter_exact ? "" : "at least "}${graph.diameter}`]);
  if (measures) list.push(["Rank correlation", figure(measures.spearman), "of distance and similarity: −1 if vectors keep the order of distances, 0 if they know nothing of it"]);
  if (classification) list.push(["F1-macro", classification.f1_macro.mean.toFixed(3), `of ${classification.classes} classes, by a linear classifier`]);
  if (links) list.push(["Links, AUC", links.auc.mean.toFixed(3), "of edges that were held out"]);
  return list;
}

function summaryText(head) {
  const { graph, measures } = head;
  if (!graph) return `${grouped(head.nodes)} vectors of ${head.dim} numbers. Give the graph too, and this page tells how near and far nodes really are.`;
  const near = measures ? ` Neighbours have a similarity σ(z·z) of ${figure(measures.xi[0], 2)} on average, nodes ${measures.distance.at(-1)} hops apart ${figure(measures.xi.at(-1), 2)}.` : "";
  const pieces = graph.components > 1 ? ` in ${grouped(graph.components)} components` : "";
  return `${grouped(head.nodes)} nodes and ${grouped(graph.edges_undirected)} edges${pieces}, each node a vector of ${head.dim} numbers.${near}`;
}

function numberCards(head) {
  const { graph, degrees, measures, classification, links, log } = head;
  return [
    graph && graphCard(graph),
    graph && distanceChart(graph),
    degrees && degreeChart(degrees),
    measures && measures.distance.length && similarityChart(measures),
    measures && measureCard(measures),
    classification && classCard(classification),
    links && linkCard(links),
    log && trainingChart(log),
    log && scoreChart(log),
  ].filter(Boolean);
}

const facing = (rows) => table(null, rows, (column) => column === 1);

function graphCard(graph) {
  return card("The graph", facing([
    ["nodes", grouped(graph.nodes)],
    ["edges", grouped(graph.edges_undirected) + (graph.weighted ? ", weighted" : "")],
    ["mean degree", figure(graph.mean_degree)],
    ["largest degree", grouped(graph.max_degree)],
    ["components", grouped(graph.components)],
    ["largest component", `${grouped(graph.largest_component)} nodes`],
    ["isolated nodes", grouped(graph.isolated)],
    ["diameter", (graph.diameter_exact ? "" : "at least ") + graph.diameter],
    ["mean distance", figure(graph.mean_distance)],
    ...(graph.classes ? [["classes", graph.classes]] : []),
  ]));
}

function distanceChart(graph) {
  const pairs = Object.entries(graph.distance_histogram).map(([hops, count]) => [Number(hops), count]);
  const total = pairs.reduce((sum, [, count]) => sum + count, graph.unreachable_pairs);
  const sampled = graph.distance_sources < graph.nodes ? `Estimated from ${grouped(graph.distance_sources)} nodes. ` : "";
  const none = graph.unreachable_pairs ? `${(100 * graph.unreachable_pairs / total).toFixed(1)} % of pairs have no path.` : "";
  return chart({
    title: "How far apart nodes are", about: sampled + none,
    x: { label: "hops", whole: true }, y: { zero: true },
    series: [{ kind: "bars", points: pairs.map(([hops, count]) => [hops, 100 * count / total]), name: "share of pairs, in %" }],
    columns: ["hops", "pairs", "%"],
    rows: pairs.map(([hops, count]) => [hops, grouped(count), (100 * count / total).toFixed(2)]),
  });
}

function degreeChart(degrees) {
  const linked = degrees.filter(([degree]) => degree > 0);
  return chart({
    title: "Degrees",
    x: { label: "neighbours", log: true }, y: { log: true },
    series: [{ kind: "dots", points: linked, name: "nodes with so many" }],
    columns: ["neighbours", "nodes"], rows: degrees.map((pair) => pair.map(grouped)),
  });
}

function similarityChart(measures) {
  const { distance, xi, xi_std: std, pairs } = measures;
  const sampled = measures.counted === "all" ? "All pairs. " : `Estimated from ${grouped(measures.sources)} nodes. `;
  return chart({
    title: "Similarity by distance, ξ",
    about: `${sampled}It should fall: near nodes near, far nodes far.`,
    x: { label: "hops", whole: true }, y: { zero: true },
    series: [
      { kind: "band", points: distance.map((d, at) => [d, Math.max(0, xi[at] - std[at]), Math.min(1, xi[at] + std[at])]) },
      { kind: "line", points: distance.map((d, at) => [d, xi[at]]), name: "mean of σ(z·z), ± one deviation" },
    ],
    columns: ["hops", "pairs", "ξ", "deviation"],
    rows: distance.map((d, at) => [d, grouped(pairs[at]), xi[at].toFixed(4), std[at].toFixed(4)]),
  });
}

function measureCard(measures) {
  const sure = (name) => (measures.interval ? ` ± ${figure(measures.interval[name])}` : "");
  return card("Cohesion and separation", facing([
    ["cohesion", figure(measures.cohesion, 5) + sure("cohesion")],
    ["separation", figure(measures.separation, 5) + sure("separation")],
    ["separation, uniform negatives", figure(measures.uniform.separation, 5) + sure("separation_uniform")],
    ["separation power", figure(measures.separation_power)],
    ["rank correlation of distance and similarity", figure(measures.spearman)],
    ["C, K, γ", [measures.config.context, measures.config.k, measures.config.gamma].join(", ")],
  ]), element("p", { class: "note" }, "Larger is better for both: near nodes near, far nodes far."));
}

function classCard(found) {
  const parts = found.protocol.splits === "fixed" ? "parts as given"
    : `random ${found.protocol.train_ratio} to learn from, ${found.protocol.repeats} times`;
  const score = (part) => ["f1_macro", "f1_micro", "accuracy"].map((name) => plusMinus(part[name]));
  const names = ["F1-macro", "F1-micro", "accuracy"];
  const [test, val] = [score(found), found.val && score(found.val)];
  const head = ["score", "test", ...(val ? ["validation"] : [])];
  const rows = names.map((name, at) => [name, test[at], ...(val ? [val[at]] : [])]);
  const classes = found.per_class?.map((one) =>
    [element("span", { class: "name", dir: "auto" }, short(one.label)), one.precision.toFixed(3), one.recall.toFixed(3), one.f1.toFixed(3), grouped(one.support)]);
  return card("Classes from vectors", table(head, rows, (column) => column > 0),
    element("p", { class: "note" }, `Logistic regression, C = ${found.c}, trained on ${grouped(found.train)} nodes; ${parts}.`),
    ...(classes ? [element("details", {}, element("summary", {}, "Every class"),
      table(["class", "precision", "recall", "F1", "nodes"], classes, (column) => column > 0))] : []));
}

function linkCard(links) {
  return card("Links that were held out", facing([
    ["AUC", plusMinus(links.auc)],
    ["average precision", plusMinus(links.average_precision)],
  ]));
}

function trainingChart(log) {
  const epochs = log.filter((event) => event.event === "epoch");
  if (!epochs.length) return null;
  const pairs = epochs.reduce((sum, event) => sum + event.pairs, 0);
  return chart({
    title: "Training",
    about: `${grouped(pairs)} pairs in ${figure(epochs.at(-1).seconds)} s.`,
    x: { label: "epoch", whole: true }, y: {},
    series: [{ kind: "line", colour: "near", name: "mean loss of a pair", points: epochs.map((event) => [event.epoch, event.loss]) }],
    columns: ["epoch", "loss", "pairs", "λ"],
    rows: epochs.map((event) => [event.epoch, event.loss.toFixed(4), grouped(event.pairs), figure(event.l2)]),
  });
}

function scoreChart(log) {
  const scores = log.filter((event) => event.event === "scores");
  if (!scores.length) return null;
  const line = (part, colour, name) => ({ kind: "line", colour, name,
    points: scores.filter((event) => event[part]).map((event) => [event.epoch, event[part].f1_macro]) });
  return chart({
    title: "Scores while training", about: "F1-macro.",
    x: { label: "epoch", whole: true }, y: {},
    series: [line("test", "far", "test"), line("val", "third", "validation")].filter((one) => one.points.length),
    columns: ["epoch", "test", "validation"],
    rows: scores.map((event) => [event.epoch, event.test.f1_macro.toFixed(4), event.val?.f1_macro.toFixed(4) ?? "–"]),
  });
}

function settingCards(head) {
  const text = (value) => (value === null ? "auto" : typeof value === "object" ? JSON.stringify(value) : String(value));
  const settings = Object.entries(head.settings);
  const map = head.map;
  const cards = [card("The map", facing([
    ["t-SNE, perplexity", map.perplexity],
    ["vectors compared by", map.metric],
    ["placed by t-SNE itself", `${grouped(map.fitted)} nodes`],
    ["seed", map.seed],
    ["nearfar", head.version],
  ]))];
  if (settings.length) cards.unshift(card("Settings", facing(settings.map(([name, value]) => [name, text(value)]))));
  return cards;
}
