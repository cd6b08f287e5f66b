// Community detection by the Louvain method (Blondel et al., *Fast unfolding of communities in large
// networks*, 2008): nodes move to the community with the largest gain in modularity until none moves;
// then communities become nodes, and the procedure repeats.

// The community of each node, numbered by first appearance.
function communities(graph) {
  let level = { starts: graph.starts, targets: graph.targets, weights: new Float64Array(graph.targets.length).fill(1) };
  let of = Int32Array.from({ length: graph.starts.length - 1 }, (_, node) => node);
  for (;;) {
    const nodes = level.starts.length - 1;
    const moved = moveNodes(level);
    const numbers = new Map();
    for (const community of moved) if (!numbers.has(community)) numbers.set(community, numbers.size);
    const next = moved.map((community) => numbers.get(community));
    of = of.map((node) => next[node]);
    if (numbers.size === nodes) return of;
    level = aggregate(level, next, numbers.size);
  }
}

// Moves nodes in order until no move increases modularity. A self-loop is in its row once, with the
// weight of both directions.
function moveNodes({ starts, targets, weights }) {
  const nodes = starts.length - 1;
  const of = Int32Array.from({ length: nodes }, (_, node) => node);
  const degrees = new Float64Array(nodes);
  for (let node = 0; node < nodes; node++) {
    for (let edge = starts[node]; edge < starts[node + 1]; edge++) degrees[node] += weights[edge];
  }
  const total = degrees.reduce((a, b) => a + b, 0) || 1;
  const sums = degrees.slice();
  const links = new Float64Array(nodes);
  for (let pass = 0, gained = true; gained && pass < 20; pass++) {
    gained = false;
    for (let node = 0; node < nodes; node++) {
      const neighbouring = [];
      for (let edge = starts[node]; edge < starts[node + 1]; edge++) {
        const other = targets[edge];
        if (other === node) continue;
        if (links[of[other]] === 0) neighbouring.push(of[other]);
        links[of[other]] += weights[edge];
      }
      const own = of[node];
      sums[own] -= degrees[node];
      const gain = (community) => links[community] - (sums[community] * degrees[node]) / total;
      let best = own;
      for (const community of neighbouring) if (gain(community) > gain(best) + 1e-9) best = community;
      sums[best] += degrees[node];
      if (best !== own) [of[node], gained] = [best, true];
      for (const community of neighbouring) links[community] = 0;
    }
  }
  return of;
}

// The graph of communities.
function aggregate({ starts, targets, weights }, of, count) {
  const rows = Array.from({ length: count }, () => new Map());
  for (let node = 0; node + 1 < starts.length; node++) {
    const row = rows[of[node]];
    for (let edge = starts[node]; edge < starts[node + 1]; edge++) {
      const other = of[targets[edge]];
      row.set(other, (row.get(other) ?? 0) + weights[edge]);
    }
  }
  const ends = new Uint32Array(count + 1);
  rows.forEach((row, at) => (ends[at + 1] = ends[at] + row.size));
  return {
    starts: ends,
    targets: Uint32Array.from(rows.flatMap((row) => [...row.keys()])),
    weights: Float64Array.from(rows.flatMap((row) => [...row.values()])),
  };
}
