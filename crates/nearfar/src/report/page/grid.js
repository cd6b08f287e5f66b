// Nodes by their cell of a square grid, so that a part of the plane is found without looking at all.

const grids = {};

// The grid of a layout: nodes and their positions in the order of cells, row by row.
function gridOf(data, layout) {
  return (grids[layout] ??= makeGrid(data.positions[layout], data.nodes));
}

function makeGrid(positions, nodes) {
  const side = Math.max(1, Math.min(256, Math.round(Math.sqrt(nodes / 8))));
  const cellOf = (node) => Math.floor((positions[2 * node + 1] * side) / 65536) * side + Math.floor((positions[2 * node] * side) / 65536);
  const starts = new Uint32Array(side * side + 1);
  for (let node = 0; node < nodes; node++) starts[cellOf(node) + 1]++;
  for (let cell = 0; cell < side * side; cell++) starts[cell + 1] += starts[cell];
  const next = starts.slice();
  const order = new Uint32Array(nodes);
  for (let node = 0; node < nodes; node++) order[next[cellOf(node)]++] = node;
  const x = new Uint16Array(nodes), y = new Uint16Array(nodes);
  for (let at = 0; at < nodes; at++) {
    x[at] = positions[2 * order[at]];
    y[at] = positions[2 * order[at] + 1];
  }
  return { side, starts, order, x, y };
}

// Ranges of the grid's order that hold all nodes of a box, which is in fractions of the square.
function* rangesIn({ side, starts }, { left, right, low, high }) {
  const cell = (fraction) => Math.max(0, Math.min(side - 1, Math.floor(fraction * side)));
  if (right < 0 || left > 1 || high < 0 || low > 1) return;
  for (let row = cell(low); row <= cell(high); row++) {
    const [start, end] = [starts[row * side + cell(left)], starts[row * side + cell(right) + 1]];
    if (end > start) yield [start, end];
  }
}

function countIn(grid, box) {
  let count = 0;
  for (const [start, end] of rangesIn(grid, box)) count += end - start;
  return count;
}
