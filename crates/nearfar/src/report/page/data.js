// The data of the page, in the format described in points.rs.

const NO_GROUP = 65535;

async function unpack(text) {
  const buffer = await inflate(text);
  const length = new DataView(buffer).getUint32(0, true);
  const read = (start, bytes) => new TextDecoder().decode(new Uint8Array(buffer, start, bytes));
  const head = JSON.parse(read(4, length));
  const base = Math.ceil((4 + length) / 4) * 4;
  const section = (name, Type) => {
    const range = head.sections[name];
    return range && new Type(buffer, base + range[0], range[1] / Type.BYTES_PER_ELEMENT);
  };
  const list = (name) => {
    const bytes = section(name, Uint8Array);
    return bytes ? JSON.parse(new TextDecoder().decode(bytes)) : null;
  };
  const vectors = (prefix, { dims }) => ({
    dims, vectors: section(`${prefix}vectors`, Int8Array), scales: section(`${prefix}scales`, Float32Array), norms: section(`${prefix}norms`, Float32Array),
  });
  const types = { groups: (name) => section(name, Uint16Array), numbers: (name) => section(name, Float32Array), texts: list };
  const [edges, rows] = [section("edges", Uint8Array), section("rows", Uint8Array)];
  const { distances } = head;
  return {
    head,
    nodes: head.shown,
    names: list("names"),
    rows: rows ? decodeRows(rows, head.shown) : null,
    columns: head.columns.map((column) => ({ ...column, values: types[column.kind](column.section) })),
    positions: Object.fromEntries([...head.map.layouts.map(({ name }) => name), "against"].map((name) => [name, section(name, Uint16Array)])),
    graph: edges ? decodeEdges(edges, head.shown, head.directed) : null,
    index: distances && { ...distances, hops: section("distances", distances.bytes === 1 ? Uint8Array : Uint16Array) },
    own: vectors("", head.similarity),
    other: head.against && vectors("against-", head.against.similarity),
  };
}

async function inflate(text) {
  const characters = atob(text);
  const packed = new Uint8Array(characters.length);
  for (let at = 0; at < packed.length; at++) packed[at] = characters.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

// Numbers of seven bits a byte, the lowest first.
function varints(bytes) {
  let at = 0;
  return () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  };
}

function decodeRows(bytes, nodes) {
  const number = varints(bytes);
  const rows = new Uint32Array(nodes);
  for (let node = 0, row = 0; node < nodes; node++) rows[node] = row += number();
  return rows;
}

// Compressed sparse rows: the neighbours of node i, or the nodes it has arcs to, are
// targets[starts[i] .. starts[i + 1]].
function decodeEdges(bytes, nodes, directed) {
  const starts = new Uint32Array(nodes + 1);
  const eachEdge = (each) => {
    const number = varints(bytes);
    for (let node = 0; node < nodes; node++) {
      let other = directed ? 0 : node;
      for (let left = number(); left > 0; left--) each(node, (other += number()));
    }
  };
  let edges = 0;
  eachEdge((a, b) => {
    starts[a + 1]++;
    if (!directed) starts[b + 1]++;
    edges++;
  });
  for (let node = 0; node < nodes; node++) starts[node + 1] += starts[node];
  const next = starts.slice();
  const targets = new Uint32Array(starts[nodes]);
  eachEdge((a, b) => {
    targets[next[a]++] = b;
    if (!directed) targets[next[b]++] = a;
  });
  return { starts, targets, edges, directed };
}

// Nodes of the page are numbered from 0; a row is a node's place among all nodes of the graph.
const rowOf = (data, node) => (data.rows ? data.rows[node] : node);

const idOf = (data, node) => {
  if (!data.names) return String(rowOf(data, node));
  return data.names[data.head.only_shown_ids ? node : rowOf(data, node)];
};

// The node of a row; null if it is not on the map.
function nodeOfRow(data, row) {
  if (!data.rows) return row < data.nodes ? row : null;
  let [low, high] = [0, data.rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (data.rows[middle] < row) low = middle + 1;
    else high = middle;
  }
  return data.rows[low] === row ? low : null;
}

// The text of a node's value in a column.
function valueText(column, node) {
  const value = column.values[node];
  if (column.kind === "groups") return value === NO_GROUP ? "" : column.groups[value];
  if (column.kind === "numbers") return Number.isNaN(value) ? "" : formatNumber(value, 4);
  return value;
}

const labelColumn = (data) => data.columns.find((column) => column.name === "label" && column.kind === "groups");

const labelOf = (data, node) => {
  const column = labelColumn(data);
  return column ? valueText(column, node) : "";
};
