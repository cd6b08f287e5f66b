// Statistics, measures and scores.

// JSON has no NaN: a number that is not finite is null.
const fixed = (value, digits = 4) => (Number.isFinite(value) ? value.toFixed(digits) : "–");

const plusMinus = (score) =>
  score.mean.toFixed(3) + (score.runs.length > 1 ? ` ± ${score.std.toFixed(3)}` : "");

const edgesText = (graph) => (graph.directed ? `${withSeparators(graph.edges_directed)} directed edges` : `${withSeparators(graph.edges_undirected)} edges`);

const degreeName = (graph) => (graph.directed ? "out-degree" : "degree");

const diameterText = ({ diameter, diameter_exact: exact }) => (exact ? "" : "at least ") + formatNumber(diameter);

const distanceColumn = (unit) => (unit === "length" ? "length, up to" : "hops");

const distanceAxis = (measures, most) => (unitOf(measures) === "length" ? { label: distanceColumn("length") } : hopAxis(most));

// The key figures at the top: [name, value, explanation].
function facts(head) {
  const list = [["Nodes", withSeparators(head.nodes), head.graph ? edgesText(head.graph) : "no graph given"],
    ["Dimensions", `${head.dim}`, "of each vector"]];
  const { graph, measures, classification, links } = head;
  if (graph) {
    const distances = graph.lengths ?? graph;
    list.push(["Mean distance", formatNumber(distances.mean_distance), `${graph.lengths ? "by length" : "hops"}; diameter ${diameterText(distances)}`]);
  }
  if (measures) list.push(["Rank correlation", formatNumber(measures.spearman), "Spearman, of distance and similarity: −1 if similarity falls strictly with distance, 0 if unrelated"]);
  if (classification) list.push(["F1-macro", classification.f1_macro.mean.toFixed(3), `${classification.classes} classes, logistic regression`]);
  if (links) list.push(["Link AUC", links.auc.mean.toFixed(3), "held-out edges"]);
  return list;
}

function summaryText(head) {
  const { graph, measures } = head;
  if (!graph) return `${withSeparators(head.nodes)} vectors in ${head.dim} dimensions. Add the graph (--graph) to see distances and measures.`;
  const similarity = measures ? courseSentence(carried(measures)) : "";
  const components = graph.components > 1 ? ` in ${withSeparators(graph.components)} components` : "";
  return `${withSeparators(head.nodes)} nodes and ${edgesText(graph)}${components}; vectors in ${head.dim} dimensions. ${similarity}`.trim();
}

function numberCards(head) {
  const { graph, degrees, measures, classification, links, log } = head;
  return [
    measures && similarityChart(measures, head.directed),
    measures && measureCard(measures),
    classification && classCard(classification),
    head.classification_failed && card("Node classification", element("p", { class: "note" }, head.classification_failed)),
    links && linkCard(links),
    graph && graphCard(graph),
    graph && distanceChart(graph),
    degrees && degreeChart(degrees, degreeName(graph)),
    log && trainingChart(log),
    log && scoreChart(log),
  ].filter(Boolean);
}

function keyValueTable(rows) {
  const made = table(null, rows, (column) => column === 1);
  made.className = "pairs";
  return made;
}

function graphCard(graph) {
  return card("Graph", keyValueTable([
    ["nodes", withSeparators(graph.nodes)],
    ["edges", edgesText(graph).replace(" edges", "") + (graph.weighted ? ", weighted" : "") + (graph.lengths ? ", with lengths" : "")],
    [`mean ${degreeName(graph)}`, formatNumber(graph.mean_degree)],
    [`largest ${degreeName(graph)}`, withSeparators(graph.max_degree)],
    ["components", withSeparators(graph.components)],
    ["largest component", `${withSeparators(graph.largest_component)} nodes`],
    ["isolated nodes", withSeparators(graph.isolated)],
    ...(graph.lengths ? [["diameter by length", diameterText(graph.lengths)], ["mean distance by length", formatNumber(graph.lengths.mean_distance)]] : []),
    [graph.lengths ? "diameter, hops" : "diameter", diameterText(graph)],
    [graph.lengths ? "mean distance, hops" : "mean distance", formatNumber(graph.mean_distance)],
    ...(graph.classes ? [["classes", graph.classes]] : []),
  ]));
}

// Of many distances, those of about MOST_BARS ranges of equal width.
const MOST_BARS = 60;

function hopBars(histogram) {
  const single = Object.entries(histogram).map(([hops, count]) => [Number(hops), count]);
  const most = single.at(-1)?.[0] ?? 0;
  const width = most > MOST_BARS ? roundStep(most / MOST_BARS) : 1;
  const bars = [];
  for (const [hops, count] of single) {
    const at = Math.ceil(hops / width) - 1;
    bars[at] ??= { unit: "hops", from: at * width + 1, to: (at + 1) * width, count: 0 };
    bars[at].count += count;
  }
  return [bars.filter(Boolean), width];
}

function distanceChart(graph) {
  const { lengths } = graph;
  const [bars, width] = lengths ? [lengths.histogram.map(([to, count]) => ({ unit: "length", to, count })), 1] : hopBars(graph.distance_histogram);
  const total = bars.reduce((sum, { count }) => sum + count, graph.unreachable_pairs);
  const sources = lengths?.sources ?? graph.distance_sources;
  const sampled = sources < graph.nodes ? `Estimated from ${withSeparators(sources)} nodes. ` : "";
  const wide = width > 1 ? `Each bar is of ${width} distances. ` : "";
  const share = 100 * graph.unreachable_pairs / total;
  const unconnected = graph.unreachable_pairs ? `${share < 0.05 ? "Less than 0.1" : share.toFixed(1)} % of pairs ${graph.directed ? "have no path" : "are unconnected"}.` : "";
  const column = distanceColumn(lengths ? "length" : "hops");
  return chart({
    title: "Distance distribution", caption: wide + sampled + unconnected,
    plots: [{
      x: { label: column, integer: !lengths }, y: { zero: true },
      series: [{ kind: lengths ? "line" : "bars", points: bars.map(({ from, to, count }) => [((from ?? to) + to) / 2, 100 * count / total]), name: "pairs, %" }],
    }],
    columns: [column, "pairs", "%"],
    rows: bars.map((one) => [distanceText(one), withSeparators(one.count), (100 * one.count / total).toFixed(2)]),
  });
}

function degreeChart(degrees, name) {
  const positive = degrees.filter(([degree]) => degree > 0);
  return chart({
    title: `${name[0].toUpperCase()}${name.slice(1)} distribution`,
    plots: [{ x: { label: name, log: true }, y: { log: true }, series: [{ kind: "dots", points: positive, name: "nodes" }] }],
    columns: [name, "nodes"], rows: degrees.map((pair) => pair.map(withSeparators)),
  });
}

function similarityChart(measures, directed) {
  const curve = carried(measures);
  if (curve.length === 0) return null;
  const sampled = measures.interval && measures.counted !== "all";
  return chart({
    title: "Similarity by distance, ξ",
    caption: courseCaption(measures, curve, directed),
    plots: [{
      x: distanceAxis(measures, curve.at(-1).to), y: { zero: true },
      series: [
        { kind: "band", points: curve.map(({ d, xi, std }) => [d, Math.max(0, xi - std), Math.min(1, xi + std)]) },
        { kind: "line", points: curve.map(({ d, xi }) => [d, xi]), name: "mean of σ(z·z) ± standard deviation over pairs" },
      ],
    }],
    columns: [distanceColumn(unitOf(measures)), sampled ? "pairs, estimated" : "pairs", "ξ", ...(sampled ? ["± 95 %"] : []), "standard deviation"],
    rows: curve.map((one) =>
      [distanceText(one), withSeparators(one.pairs), one.xi.toFixed(4), ...(sampled ? [fixed(one.interval)] : []), one.std.toFixed(4)]),
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
    : `${found.protocol.repeats} random splits${found.protocol.stratified ? ", stratified" : ""}, train ratio ${found.protocol.train_ratio}`;
  const chosen = [...new Set(found.chosen_c)].sort((a, b) => a - b);
  const c = chosen.length ? `${chosen.join(", ")} (chosen by cross-validation)` : found.c;
  const score = (split) => ["f1_macro", "f1_micro", "accuracy"].map((name) => plusMinus(split[name]));
  const names = ["F1-macro", "F1-micro", "accuracy"];
  const [test, val] = [score(found), found.val && score(found.val)];
  const columns = ["score", "test", ...(val ? ["validation"] : [])];
  const rows = names.map((name, at) => [name, test[at], ...(val ? [val[at]] : [])]);
  if (found.top_k) {
    rows.push(["F1-macro, top k labels", plusMinus(found.top_k.f1_macro), ...(val ? [plusMinus(found.val.top_k.f1_macro)] : [])],
      ["F1-micro, top k labels", plusMinus(found.top_k.f1_micro), ...(val ? [plusMinus(found.val.top_k.f1_micro)] : [])]);
  }
  const classes = found.per_class?.map((one) =>
    [named(one.label), one.precision.toFixed(3), one.recall.toFixed(3), one.f1.toFixed(3), withSeparators(one.support)]);
  return card("Node classification", table(columns, rows, (column) => column > 0),
    element("p", { class: "note" }, `Logistic regression, C = ${c}, trained on ${withSeparators(found.train)} nodes; ${splits}.`),
    ...(found.notes ?? []).map((note) => element("p", { class: "note" }, `${note}.`)),
    ...(classes ? [element("details", {}, element("summary", {}, "Scores per class"),
      table(["class", "precision", "recall", "F1", "nodes"], classes, (column) => column > 0))] : []));
}

function linkCard(links) {
  return card("Link prediction", keyValueTable([
    ["AUC", plusMinus(links.auc)],
    ["average precision", plusMinus(links.average_precision)],
  ]));
}
