// Two embeddings of the same nodes: neighbours kept and lost, similarity by distance and scores of both.

function startComparison(data, colouringOf, options) {
  const { against, name } = data.head;
  find("against").hidden = false;
  find("against-summary").textContent = againstText(data.head);
  find("against-first").textContent = truncated(name, 80);
  find("against-second").textContent = truncated(against.name, 80);
  find("against-cards").append(...[keptChart(against.kept), bothChart(data.head), bothScores(data.head), bothSettings(data.head)].filter(Boolean));
  const maps = [
    new PointMap(find("first-map"), data, { ...options, layout: "tsne" }),
    new PointMap(find("second-map"), data, { ...options, layout: "against" }),
  ];
  return (colouring) => {
    maps.forEach((map, at) => map.set(colouring, `Map of ${at === 0 ? name : against.name}`));
    return maps;
  };
}

function againstText({ name, against }) {
  const { kept } = against;
  const sampled = kept.compared < against.nodes ? `, over ${withSeparators(kept.compared)} random nodes` : "";
  return `Of the ${kept.neighbours} most similar nodes of a node, ${formatNumber(kept.mean, 2)} on average are the same in ${truncated(name, 80)} and ${truncated(against.name, 80)}${sampled}.`;
}

function keptChart(kept) {
  return chart({
    title: "Neighbours kept", caption: `Nodes by how many of their ${kept.neighbours} most similar nodes (by cosine) are the same in both.`,
    plots: [{ x: { label: "the same in both", integer: true }, y: { zero: true },
      series: [{ kind: "bars", name: "nodes, %", points: kept.counts.map((count, at) => [at, (100 * count) / kept.compared]) }] }],
    columns: ["the same in both", "nodes"], rows: kept.counts.map((count, at) => [at, withSeparators(count)]),
  });
}

function bothChart({ name, measures, against }) {
  if (!measures || !against.measures) return null;
  const [first, second] = [carried(measures), carried(against.measures)];
  const line = (curve, colour, title) => ({ kind: "line", colour, name: truncated(title, 40), points: curve.map(({ d, xi }) => [d, xi]) });
  const rows = first.map((one) => [one, second.find(({ from, to }) => from === one.from && to === one.to)]).filter(([, other]) => other);
  return chart({
    title: "Similarity by distance, ξ, of both",
    caption: `${truncated(name, 40)}: ${courseWords(first)} ${truncated(against.name, 40)}: ${courseWords(second)}`,
    plots: [{ x: distanceAxis(measures, measures.distance.at(-1) ?? 0), y: { zero: true }, series: [line(first, "near", name), line(second, "far", against.name)] }],
    columns: [distanceColumn(unitOf(measures)), "pairs", truncated(name, 20), truncated(against.name, 20), "change"],
    rows: rows.map(([one, other]) => [distanceText(one), withSeparators(one.pairs), one.xi.toFixed(4), other.xi.toFixed(4), signed(other.xi - one.xi, 4)]),
  });
}

function courseWords(curve) {
  if (!curve.length) return "too few pairs.";
  const { kind, at, way } = courseOf(curve);
  const change = `${signed(curve[0].xi)} at ${atDistance(curve[0])}, ${signed(curve.at(-1).xi)} at ${atDistance(curve.at(-1))}`;
  const words = { falls: "falls with distance", rises: "rises with distance", flat: "hardly changes", varies: "not steady", one: "one distance" };
  return `${kind === "turns" ? `${way} until ${atDistance(at)}` : words[kind]} (${change}).`;
}

const grouped = (value, digits) => withSeparators(signed(value, digits));

function bothScores({ name, measures, classification, against }) {
  const rows = [];
  const add = (text, a, b, digits) => {
    if (Number.isFinite(a) && Number.isFinite(b)) rows.push([text, ...[a, b, b - a].map((value) => grouped(value, digits))]);
  };
  for (const [key, text] of [["f1_macro", "F1-macro"], ["f1_micro", "F1-micro"], ["accuracy", "accuracy"]]) {
    add(text, classification?.[key].mean, against.classification?.[key].mean, 3);
  }
  add("rank correlation", measures?.spearman, against.measures?.spearman, 3);
  for (const key of ["cohesion", "separation"]) {
    const [a, b] = [measures?.[key], against.measures?.[key]];
    add(key, a, b, Math.max(Math.abs(a), Math.abs(b)) < 1000 ? 1 : 0);
  }
  if (!rows.length) return null;
  const scores = card("Scores of both", table(["", truncated(name, 24), truncated(against.name, 24), "change"], rows, (column) => column > 0));
  scores.classList.add("scores", "wide");
  return scores;
}

// The settings that differ.
function bothSettings({ name, settings, against }) {
  const other = against.settings ?? {};
  const text = (value) => (value === undefined || value === null ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value));
  const keys = [...new Set([...Object.keys(settings), ...Object.keys(other)])].filter((key) => text(settings[key]) !== text(other[key]));
  if (!keys.length || !Object.keys(settings).length || !Object.keys(other).length) return null;
  const differing = card("Settings that differ", table(["", truncated(name, 24), truncated(against.name, 24)], keys.map((key) => [key, text(settings[key]), text(other[key])]), () => false));
  differing.classList.add("wide");
  return differing;
}

// The most similar nodes of the selected node in either embedding: kept and lost.
function keptCards(data, node, select) {
  const { name, against } = data.head;
  const count = against.kept.neighbours;
  const near = (source) => nearest(cosines(source, node, productsOf(source, node)), node, count);
  const [first, second] = [near(data.own), near(data.other)];
  const list = (title, nodes) => card(title, nodes.length
    ? element("ul", { class: "plain" }, ...nodes.map((other) => element("li", {}, nodeButton(data, other, select), " ", element("span", { class: "label name", dir: "auto" }, truncated(labelOf(data, other), 40)))))
    : element("p", { class: "note" }, "None."));
  const both = first.filter((other) => second.includes(other));
  return [
    list(`Similar in both (${both.length})`, both),
    list(`Only in ${truncated(name, 40)}`, first.filter((other) => !both.includes(other))),
    list(`Only in ${truncated(against.name, 40)}`, second.filter((other) => !both.includes(other))),
  ];
}
