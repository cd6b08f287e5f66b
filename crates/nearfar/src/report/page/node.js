// The selected node: distances in the graph and similarities of vectors.

// Distances and similarities from a node to all others.
function selectionOf(data, node) {
  const products = productsOf(data.own, node);
  const hops = hopsOf(data, node);
  const similarities = { cosine: cosines(data.own, node, products), sigma: products.map(sigma) };
  return { node, hops, similarities, curve: hops && curveOf(hops, similarities.sigma, node) };
}

// The mean similarity at each distance from the node, or in each range of distances: { from, to, d, mean, count }.
function curveOf(hops, similarity, node) {
  const sums = [];
  hops.forEach((hop, other) => {
    if (hop < 1 || other === node) return;
    sums[hop] ??= { count: 0, sum: 0 };
    sums[hop].count++;
    sums[hop].sum += similarity[other];
  });
  const curve = [];
  let range = null;
  sums.forEach(({ count, sum }, hop) => {
    range ??= { from: hop, hops: 0, count: 0, sum: 0 };
    Object.assign(range, { to: hop, hops: range.hops + hop * count, count: range.count + count, sum: range.sum + sum });
    if (!rangeEnds(range.from, hop, sums.length - 1) && hop < sums.length - 1) return;
    curve.push({ from: range.from, to: hop, d: range.hops / range.count, mean: range.sum / range.count, count: range.count });
    range = null;
  });
  return curve;
}

// The nodes of the largest values, without one node.
function nearest(values, node, count) {
  const best = [];
  const before = (a, b) => values[a] > values[b] || (values[a] === values[b] && a < b);
  for (let other = 0; other < values.length; other++) {
    if (other === node || (best.length === count && !before(other, best[count - 1]))) continue;
    let at = best.length;
    while (at > 0 && before(other, best[at - 1])) at--;
    best.splice(at, 0, other);
    if (best.length > count) best.pop();
  }
  return best;
}

// The most and the least similar nodes.
const extremes = (values, node, count) => [nearest(values, node, count), nearest(values.map((value) => -value), node, count)];

const hopText = (hop) => (hop === UNREACHED ? "unconnected" : hop === 1 ? "1 hop" : `${withSeparators(hop)} hops`);
const hopCell = (hop) => (hop === UNREACHED ? "none" : withSeparators(hop));

// A button with the id of a node that selects it.
function nodeButton(data, node, select) {
  const id = idOf(data, node);
  const text = element("span", { class: "name", dir: "auto" }, truncated(id));
  return element("button", { type: "button", class: "node", title: truncated(id, 300), onclick: () => select(node) }, text);
}

function nodeTable(title, data, nodes, values, { hops }, digits, select) {
  const rows = nodes.map((other) => [
    nodeButton(data, other, select),
    values[other].toFixed(digits).replace("-", "−"),
    ...(hops ? [hopCell(hops[other])] : []),
    ...(labelColumn(data) ? [element("span", { class: "label name", dir: "auto", title: truncated(labelOf(data, other), 300) }, truncated(labelOf(data, other)))] : []),
  ]);
  const columns = ["node", "similarity", ...(hops ? [data.graph ? "hops" : "hops, about"] : []), ...(labelColumn(data) ? ["label"] : [])];
  return card(title, table(columns, rows, (column) => column === 1 || (hops && column === 2), true));
}

// Means of fewer nodes are not drawn, except that of the neighbours.
const FEWEST_NODES = 5;

function curveChart(data, { curve }) {
  const { measures } = data.head;
  const drawn = curve.filter(({ from, count }) => from === 1 || count >= FEWEST_NODES);
  const series = [{ kind: "line", colour: "near", name: "this node", points: drawn.map(({ d, mean }) => [d, mean]) }];
  // Hops are not compared with lengths, nor those without directions with those along arcs.
  const comparable = measures && unitOf(measures) === "hops" && !(data.head.directed && data.index);
  const all = comparable ? carried(measures) : [];
  if (all.length) {
    series.unshift(
      { kind: "band", points: all.map(({ d, xi, std }) => [d, Math.max(0, xi - std), Math.min(1, xi + std)]) },
      { kind: "line", colour: "far", name: "all nodes ± standard deviation", points: all.map(({ d, xi }) => [d, xi]) });
  }
  const left = curve.length > drawn.length ? ` Means of fewer than ${FEWEST_NODES} nodes are in the table only.` : "";
  return chart({
    title: "Similarity by distance",
    caption: `Mean of σ(z·z) over the nodes at each distance.${left}`,
    plots: [{ x: hopAxis(Math.max(curve.at(-1).to, all.at(-1)?.to ?? 0)), y: { zero: true }, series }],
    columns: ["hops", "nodes", "mean similarity"],
    rows: curve.map((one) => [rangeText(one), withSeparators(one.count), formatNumber(one.mean)]),
  });
}
