// Statistics, measures, scores and settings.

// JSON has no NaN: a number that is not finite is null.
const fixed = (value, digits = 4) => (Number.isFinite(value) ? value.toFixed(digits) : "–");

const plusMinus = (score) =>
  score.mean.toFixed(3) + (score.runs.length > 1 ? ` ± ${score.std.toFixed(3)}` : "");

// The key figures at the top: [name, value, explanation].
function facts(head) {
  const list = [["Nodes", withSeparators(head.nodes), head.graph ? `${withSeparators(head.graph.edges_undirected)} edges` : "no graph given"],
    ["Dimensions", `${head.dim}`, "of each vector"]];
  const { graph, measures, classification, links } = head;
  if (graph) list.push(["Mean distance", formatNumber(graph.mean_distance), `hops; diameter ${graph.diameter_exact ? "" : "at least "}${graph.diameter}`]);
  if (measures) list.push(["Rank correlation", formatNumber(measures.spearman), "Spearman, of distance and similarity: −1 if similarity falls strictly with distance, 0 if unrelated"]);
  if (classification) list.push(["F1-macro", classification.f1_macro.mean.toFixed(3), `${classification.classes} classes, logistic regression`]);
  if (links) list.push(["Link AUC", links.auc.mean.toFixed(3), "held-out edges"]);
  return list;
}

function summaryText(head) {
  const { graph, measures } = head;
  if (!graph) return `${withSeparators(head.nodes)} vectors in ${head.dim} dimensions. Add the graph (--graph) to see distances and measures.`;
  const similarity = measures ? ` The mean similarity σ(z·z) is ${formatNumber(measures.xi[0], 2)} at 1 hop and ${formatNumber(measures.xi.at(-1), 2)} at ${measures.distance.at(-1)} hops.` : "";
  const components = graph.components > 1 ? ` in ${withSeparators(graph.components)} components` : "";
  return `${withSeparators(head.nodes)} nodes and ${withSeparators(graph.edges_undirected)} edges${components}; vectors in ${head.dim} dimensions.${similarity}`;
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

const keyValueTable = (rows) => table(null, rows, (column) => column === 1);

function graphCard(graph) {
  return card("Graph", keyValueTable([
    ["nodes", withSeparators(graph.nodes)],
    ["edges", withSeparators(graph.edges_undirected) + (graph.weighted ? ", weighted" : "")],
    ["mean degree", formatNumber(graph.mean_degree)],
    ["largest degree", withSeparators(graph.max_degree)],
    ["components", withSeparators(graph.components)],
    ["largest component", `${withSeparators(graph.largest_component)} nodes`],
    ["isolated nodes", withSeparators(graph.isolated)],
    ["diameter", (graph.diameter_exact ? "" : "at least ") + graph.diameter],
    ["mean distance", formatNumber(graph.mean_distance)],
    ...(graph.classes ? [["classes", graph.classes]] : []),
  ]));
}

function distanceChart(graph) {
  const pairs = Object.entries(graph.distance_histogram).map(([hops, count]) => [Number(hops), count]);
  const total = pairs.reduce((sum, [, count]) => sum + count, graph.unreachable_pairs);
  const sampled = graph.distance_sources < graph.nodes ? `Estimated from ${withSeparators(graph.distance_sources)} nodes. ` : "";
  const unconnected = graph.unreachable_pairs ? `${(100 * graph.unreachable_pairs / total).toFixed(1)} % of pairs are unconnected.` : "";
  return chart({
    title: "Distance distribution", caption: sampled + unconnected,
    x: { label: "hops", integer: true }, y: { zero: true },
    series: [{ kind: "bars", points: pairs.map(([hops, count]) => [hops, 100 * count / total]), name: "pairs, %" }],
    columns: ["hops", "pairs", "%"],
    rows: pairs.map(([hops, count]) => [hops, withSeparators(count), (100 * count / total).toFixed(2)]),
  });
}

function degreeChart(degrees) {
  const positive = degrees.filter(([degree]) => degree > 0);
  return chart({
    title: "Degree distribution",
    x: { label: "degree", log: true }, y: { log: true },
    series: [{ kind: "dots", points: positive, name: "nodes" }],
    columns: ["degree", "nodes"], rows: degrees.map((pair) => pair.map(withSeparators)),
  });
}

function similarityChart(measures) {
  const { distance, xi, xi_std: std, pairs } = measures;
  const sampled = measures.counted === "all" ? "All pairs. " : `Estimated from ${withSeparators(measures.sources)} nodes. `;
  return chart({
    title: "Similarity by distance, ξ",
    caption: `${sampled}It should decrease with distance.`,
    x: { label: "hops", integer: true }, y: { zero: true },
    series: [
      { kind: "band", points: distance.map((d, at) => [d, Math.max(0, xi[at] - std[at]), Math.min(1, xi[at] + std[at])]) },
      { kind: "line", points: distance.map((d, at) => [d, xi[at]]), name: "mean of σ(z·z), ± 1 standard deviation" },
    ],
    columns: ["hops", "pairs", "ξ", "standard deviation"],
    rows: distance.map((d, at) => [d, withSeparators(pairs[at]), xi[at].toFixed(4), std[at].toFixed(4)]),
  });
}

function measureCard(measures) {
  const interval = (name) => (measures.interval ? ` ± ${formatNumber(measures.interval[name])}` : "");
  return card("Cohesion and separation", keyValueTable([
    ["cohesion", formatNumber(measures.cohesion, 5) + interval("cohesion")],
    ["separation", formatNumber(measures.separation, 5) + interval("separation")],
    ["separation, uniform negatives", formatNumber(measures.uniform.separation, 5) + interval("separation_uniform")],
    ["separation power", formatNumber(measures.separation_power)],
    ["rank correlation of distance and similarity", formatNumber(measures.spearman)],
    ["C, K, γ", [measures.config.context, measures.config.k, measures.config.gamma].join(", ")],
  ]), element("p", { class: "note" }, "Larger is better: cohesion measures the similarity of positive pairs, separation the dissimilarity of negative pairs."));
}

function classCard(found) {
  const splits = found.protocol.splits === "fixed" ? "fixed splits"
    : `${found.protocol.repeats} random splits, train ratio ${found.protocol.train_ratio}`;
  const chosen = [...new Set(found.chosen_c)].sort((a, b) => a - b);
  const c = chosen.length ? `${chosen.join(", ")} (chosen by cross-validation)` : found.c;
  const score = (split) => ["f1_macro", "f1_micro", "accuracy"].map((name) => plusMinus(split[name]));
  const names = ["F1-macro", "F1-micro", "accuracy"];
  const [test, val] = [score(found), found.val && score(found.val)];
  const columns = ["score", "test", ...(val ? ["validation"] : [])];
  const rows = names.map((name, at) => [name, test[at], ...(val ? [val[at]] : [])]);
  const classes = found.per_class?.map((one) =>
    [element("span", { class: "name", dir: "auto" }, truncated(one.label)), one.precision.toFixed(3), one.recall.toFixed(3), one.f1.toFixed(3), withSeparators(one.support)]);
  return card("Node classification", table(columns, rows, (column) => column > 0),
    element("p", { class: "note" }, `Logistic regression, C = ${c}, trained on ${withSeparators(found.train)} nodes; ${splits}.`),
    ...(classes ? [element("details", {}, element("summary", {}, "Scores per class"),
      table(["class", "precision", "recall", "F1", "nodes"], classes, (column) => column > 0))] : []));
}

function linkCard(links) {
  return card("Link prediction", keyValueTable([
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
    caption: `${withSeparators(pairs)} pairs in ${formatNumber(epochs.at(-1).seconds)} s.`,
    x: { label: "epoch", integer: true }, y: {},
    series: [{ kind: "line", colour: "near", name: "mean loss per pair", points: epochs.map((event) => [event.epoch, event.loss]).filter(([, loss]) => Number.isFinite(loss)) }],
    columns: ["epoch", "loss", "pairs", "λ"],
    rows: epochs.map((event) => [event.epoch, fixed(event.loss), formatNumber(event.pairs), formatNumber(event.l2)]),
  });
}

function scoreChart(log) {
  const scores = log.filter((event) => event.event === "scores");
  if (!scores.length) return null;
  const line = (split, colour, name) => ({ kind: "line", colour, name,
    points: scores.filter((event) => Number.isFinite(event[split]?.f1_macro)).map((event) => [event.epoch, event[split].f1_macro]) });
  return chart({
    title: "Scores during training", caption: "F1-macro.",
    x: { label: "epoch", integer: true }, y: {},
    series: [line("test", "far", "test"), line("val", "third", "validation")].filter((one) => one.points.length),
    columns: ["epoch", "test", "validation"],
    rows: scores.map((event) => [event.epoch, fixed(event.test?.f1_macro), fixed(event.val?.f1_macro)]),
  });
}

function settingCards(head) {
  const text = (value) => (value === null ? "auto" : typeof value === "object" ? JSON.stringify(value) : String(value));
  const settings = Object.entries(head.settings);
  const map = head.map;
  const cards = [card("Map", keyValueTable([
    ["t-SNE, perplexity", map.perplexity],
    ["metric", map.metric],
    ["sample size of t-SNE", `${withSeparators(map.fitted)} nodes`],
    ["seed", map.seed],
    ["nearfar version", head.version],
  ]))];
  if (settings.length) cards.unshift(card("Settings", keyValueTable(settings.map(([name, value]) => [name, text(value)]))));
  return cards;
}
