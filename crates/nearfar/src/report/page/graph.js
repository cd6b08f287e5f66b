// Distances in the graph and similarities of vectors, computed on demand.

const UNREACHED = -1;

// Hops from a node to all others, by breadth-first search.
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

// The component of each node, numbered by first appearance.
function components(graph) {
  const of = new Int32Array(graph.starts.length - 1).fill(UNREACHED);
  const stack = [];
  for (let first = 0, component = 0; first < of.length; first++) {
    if (of[first] !== UNREACHED) continue;
    of[first] = component;
    stack.push(first);
    while (stack.length) {
      const node = stack.pop();
      for (let edge = graph.starts[node]; edge < graph.starts[node + 1]; edge++) {
        const other = graph.targets[edge];
        if (of[other] === UNREACHED) {
          of[other] = component;
          stack.push(other);
        }
      }
    }
    component++;
  }
  return of;
}

const degree = (graph, node) => graph.starts[node + 1] - graph.starts[node];

// Dot products of a node's vector with all vectors.
function productsOf(data, node) {
  const { vectors, scales } = data;
  const dims = data.head.similarity.dims;
  const own = vectors.subarray(node * dims, (node + 1) * dims);
  const products = new Float64Array(data.nodes);
  for (let other = 0, at = 0; other < data.nodes; other++) {
    let sum = 0;
    for (let x = 0; x < dims; x++) sum += own[x] * vectors[at++];
    products[other] = sum * scales[node] * scales[other];
  }
  return products;
}

const sigma = (x) => 1 / (1 + Math.exp(-x));

const cosines = (data, node, products) =>
  products.map((product, other) => {
    const norms = data.norms[node] * data.norms[other];
    return norms > 0 ? Math.max(-1, Math.min(1, product / norms)) : 0;
  });
