// Distances in the graph and similarities of vectors, computed on demand.

const UNREACHED = -1;

const degree = (graph, node) => graph.starts[node + 1] - graph.starts[node];

// Hops from a node to all others: by a search, or estimated; null without a graph.
function hopsOf(data, node) {
  if (data.graph) return hopsFrom(data.graph, node);
  return data.index ? estimatedHops(data.index, node, data.nodes) : null;
}

// By breadth-first search.
function hopsFrom({ starts, targets }, node) {
  const hops = new Int32Array(starts.length - 1).fill(UNREACHED);
  const queue = new Uint32Array(hops.length);
  let end = 1;
  queue[0] = node;
  hops[node] = 0;
  for (let at = 0; at < end; at++) {
    const current = queue[at];
    for (let edge = starts[current]; edge < starts[current + 1]; edge++) {
      const other = targets[edge];
      if (hops[other] === UNREACHED) {
        hops[other] = hops[current] + 1;
        queue[end++] = other;
      }
    }
  }
  return hops;
}

// Between bounds by way of the chosen nodes, as in hop_index.rs.
function estimatedHops({ hops: rows, chosen, bytes, middle }, node, nodes) {
  const none = bytes === 1 ? 255 : 65535;
  const high = new Int32Array(nodes).fill(2 ** 30);
  const low = new Int32Array(nodes);
  for (let at = 0; at < chosen; at++) {
    const row = rows.subarray(at * nodes, (at + 1) * nodes);
    const own = row[node];
    if (own === none) continue;
    for (let other = 0; other < nodes; other++) {
      const there = row[other];
      if (there === none) continue;
      if (own + there < high[other]) high[other] = own + there;
      const least = Math.abs(own - there);
      if (least > low[other]) low[other] = least;
    }
  }
  for (let other = 0; other < nodes; other++) {
    if (high[other] === 2 ** 30) high[other] = UNREACHED;
    else if (middle) high[other] = Math.ceil((low[other] + high[other]) / 2);
  }
  high[node] = 0;
  return high;
}

// Dot products of a node's vector with all vectors.
function productsOf({ vectors, scales, dims }, node) {
  const own = vectors.subarray(node * dims, (node + 1) * dims);
  const products = new Float64Array(scales.length);
  for (let other = 0, at = 0; other < products.length; other++) {
    let sum = 0;
    for (let x = 0; x < dims; x++) sum += own[x] * vectors[at++];
    products[other] = sum * scales[node] * scales[other];
  }
  return products;
}

const sigma = (x) => 1 / (1 + Math.exp(-x));

const cosines = ({ norms }, node, products) =>
  products.map((product, other) => {
    const both = norms[node] * norms[other];
    return both > 0 ? Math.max(-1, Math.min(1, product / both)) : 0;
  });
