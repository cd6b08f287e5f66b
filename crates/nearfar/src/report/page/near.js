// One node: who is near to it and far from it, in the graph and among the vectors.

// Everything there is to know about a node.
function lookAt(data, node) {
  const products = productsOf(data, node);
  const hops = data.graph ? hopsFrom(data.graph, node) : null;
  const measures = { cosine: cosines(data, node, products), sigma: products.map(sigma) };
  return { node, hops, measures, curve: hops && curveOf(hops, measures.sigma, node) };
}

// The mean similarity at every distance from the node.
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

// The most and the least alike.
function extremes(values, node, count) {
  const order = [...values.keys()].filter((other) => other !== node);
  order.sort((a, b) => values[b] - values[a] || a - b);
  return [order.slice(0, count), order.slice(-count).reverse()];
}

const hopText = (hop) => (hop === UNREACHED ? "no path" : hop === 1 ? "1 hop" : `${hop} hops`);

// A node's name that leads to it.
function link(data, node, choose) {
  const name = nameOf(data, node);
  const text = element("span", { class: "name", dir: "auto" }, short(name));
  return element("button", { type: "button", title: short(name, 300), onclick: () => choose(node) }, text);
}

function listing(title, data, nodes, values, { hops }, digits, choose) {
  const rows = nodes.map((other) => [
    link(data, other, choose),
    values[other].toFixed(digits).replace("-", "−"),
    ...(hops ? [hopText(hops[other])] : []),
    ...(data.labels ? [element("span", { class: "label name", dir: "auto" }, short(labelOf(data, other)))] : []),
  ]);
  const head = ["node", "similarity", ...(hops ? ["distance"] : []), ...(data.labels ? ["label"] : [])];
  return card(title, table(head, rows, (column) => column === 1 || (hops && column === 2)));
}

function curveChart(data, { curve }) {
  const whole = data.head.measures;
  const series = [{ kind: "line", colour: "near", name: "this node", points: curve.map(([hop, mean]) => [hop, mean]) }];
  if (whole) {
    const list = whole.distance.map((d, at) => [d, whole.xi[at], whole.xi_std[at]]);
    series.unshift(
      { kind: "band", points: list.map(([d, xi, std]) => [d, Math.max(0, xi - std), Math.min(1, xi + std)]) },
      { kind: "line", colour: "far", name: "all nodes, ± one deviation", points: list.map(([d, xi]) => [d, xi]) });
  }
  return chart({
    title: "Similarity by distance",
    about: "Mean of σ(z·z) of the nodes so many hops away.",
    x: { label: "hops", whole: true }, y: { zero: true }, series,
    columns: ["hops", "nodes", "mean similarity"],
    rows: curve.map(([hop, mean, count]) => [hop, grouped(count), figure(mean)]),
  });
}
