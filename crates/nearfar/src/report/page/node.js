// The selected node: distances in the graph and similarities of vectors.

// Distances and similarities from a node to all others.
function selectionOf(data, node) {
  const products = productsOf(data, node);
  const hops = data.graph ? hopsFrom(data.graph, node) : null;
  const similarities = { cosine: cosines(data, node, products), sigma: products.map(sigma) };
  return { node, hops, similarities, curve: hops && curveOf(hops, similarities.sigma, node) };
}

// The mean similarity at each distance from the node.
function curveOf(hops, similarity, node) {
  const sums = [];
  hops.forEach((hop, other) => {
    if (hop < 1 || other === node) return;
    sums[hop] ??= { count: 0, sum: 0 };
    sums[hop].count++;
    sums[hop].sum += similarity[other];
  });
  return sums.map(({ count, sum }, hop) => [hop, sum / count, count]).filter(Boolean);
}

// The most and the least similar nodes.
function extremes(values, node, count) {
  const order = [...values.keys()].filter((other) => other !== node);
  order.sort((a, b) => values[b] - values[a] || a - b);
  return [order.slice(0, count), order.slice(-count).reverse()];
}

const hopText = (hop) => (hop === UNREACHED ? "unconnected" : hop === 1 ? "1 hop" : `${hop} hops`);

// A button with the id of a node that selects it.
function nodeButton(data, node, select) {
  const id = idOf(data, node);
  const text = element("span", { class: "name", dir: "auto" }, truncated(id));
  return element("button", { type: "button", title: truncated(id, 300), onclick: () => select(node) }, text);
}

function nodeTable(title, data, nodes, values, { hops }, digits, select) {
  const rows = nodes.map((other) => [
    nodeButton(data, other, select),
    values[other].toFixed(digits).replace("-", "−"),
    ...(hops ? [hopText(hops[other])] : []),
    ...(data.labels ? [element("span", { class: "label name", dir: "auto" }, truncated(labelOf(data, other)))] : []),
  ]);
  const columns = ["node", "similarity", ...(hops ? ["distance"] : []), ...(data.labels ? ["label"] : [])];
  return card(title, table(columns, rows, (column) => column === 1 || (hops && column === 2)));
}

function curveChart(data, { curve }) {
  const { measures } = data.head;
  const series = [{ kind: "line", colour: "near", name: "this node", points: curve.map(([hop, mean]) => [hop, mean]) }];
  if (measures) {
    const list = measures.distance.map((d, at) => [d, measures.xi[at], measures.xi_std[at]]);
    series.unshift(
      { kind: "band", points: list.map(([d, xi, std]) => [d, Math.max(0, xi - std), Math.min(1, xi + std)]) },
      { kind: "line", colour: "far", name: "all nodes, ± 1 standard deviation", points: list.map(([d, xi]) => [d, xi]) });
  }
  return chart({
    title: "Similarity by distance",
    caption: "Mean of σ(z·z) over the nodes at each distance.",
    x: { label: "hops", integer: true }, y: { zero: true }, series,
    columns: ["hops", "nodes", "mean similarity"],
    rows: curve.map(([hop, mean, count]) => [hop, withSeparators(count), formatNumber(mean)]),
  });
}
