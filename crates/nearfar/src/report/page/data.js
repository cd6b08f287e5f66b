// The data of the page, in the format described in points.rs.

const NO_LABEL = 65535;

async function unpack(text) {
  const characters = atob(text);
  const packed = new Uint8Array(characters.length);
  for (let at = 0; at < packed.length; at++) packed[at] = characters.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const read = (start, bytes) => new TextDecoder().decode(new Uint8Array(buffer, start, bytes));
  const head = JSON.parse(read(4, length));
  const base = Math.ceil((4 + length) / 4) * 4;
  const section = (name, Type) => {
    const range = head.sections[name];
    return range && new Type(buffer, base + range[0], range[1] / Type.BYTES_PER_ELEMENT);
  };
  const ids = section("names", Uint8Array);
  const edges = section("edges", Uint8Array);
  return {
    head,
    nodes: head.shown,
    ids: ids ? JSON.parse(new TextDecoder().decode(ids)) : null,
    labels: section("labels", Uint16Array),
    positions: { tsne: section("tsne", Uint16Array), pca: section("pca", Uint16Array) },
    graph: edges ? decodeEdges(edges, head.shown) : null,
    vectors: section("vectors", Int8Array),
    scales: section("scales", Float32Array),
    norms: section("norms", Float32Array),
  };
}

// Compressed sparse rows: the neighbours of node i are targets[starts[i] .. starts[i + 1]].
function decodeEdges(bytes, nodes) {
  let at = 0;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  };
  const from = [], to = [];
  const starts = new Uint32Array(nodes + 1);
  for (let node = 0; node < nodes; node++) {
    let other = node;
    for (let left = number(); left > 0; left--) {
      other += number();
      from.push(node);
      to.push(other);
      starts[node + 1]++;
      starts[other + 1]++;
    }
  }
  for (let node = 0; node < nodes; node++) starts[node + 1] += starts[node];
  const next = starts.slice();
  const targets = new Uint32Array(2 * from.length);
  for (let edge = 0; edge < from.length; edge++) {
    targets[next[from[edge]]++] = to[edge];
    targets[next[to[edge]]++] = from[edge];
  }
  return { starts, targets, edges: from.length };
}

const idOf = (data, node) => (data.ids ? data.ids[node] : String(node));

const labelOf = (data, node) =>
  data.labels && data.labels[node] !== NO_LABEL ? data.head.labels[data.labels[node]] : "";

// Truncates a long text.
const truncated = (text, most = 120) => (text.length > most ? text.slice(0, most) + "…" : text);
