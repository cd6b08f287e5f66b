// An area of the map: its nodes as a list.

const MAX_LISTED = 200;

// The visible nodes inside of an outline: those from which a ray crosses it an odd number of times.
function nodesInside(map, outline) {
  const xs = outline.map(({ x }) => x), ys = outline.map(({ y }) => y);
  const box = { left: Math.min(...xs), right: Math.max(...xs), low: Math.min(...ys), high: Math.max(...ys) };
  const grid = gridOf(map.data, map.layout);
  const nodes = [];
  for (const [start, end] of rangesIn(grid, box)) {
    for (let at = start; at < end; at++) {
      if (!map.isHidden(grid.order[at]) && isInside(grid.x[at] / 65535, grid.y[at] / 65535, outline)) nodes.push(grid.order[at]);
    }
  }
  return Uint32Array.from(nodes).sort();
}

function isInside(x, y, outline) {
  let inside = false;
  for (let at = 0, last = outline.length - 1; at < outline.length; last = at++) {
    const [a, b] = [outline[at], outline[last]];
    if (a.y > y !== b.y > y && x < ((b.x - a.x) * (y - a.y)) / (b.y - a.y) + a.x) inside = !inside;
  }
  return inside;
}

// The visible nodes in the part of the plane in view, and its outline.
function areaInView(map) {
  const { left, right, low, high } = map.box;
  const outline = [{ x: left, y: low }, { x: right, y: low }, { x: right, y: high }, { x: left, y: high }];
  return { outline, nodes: nodesInside(map, outline) };
}

function drawArea(map) {
  if (!view.area || view.area.layout !== undefined && view.area.layout !== map.layout) return;
  const { context, place } = map;
  context.beginPath();
  for (const { x, y } of view.area.outline) context.lineTo(place.left + x * place.side, place.top - y * place.side);
  if (view.area.nodes) context.closePath();
  context.strokeStyle = themed(INK).text;
  context.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
  context.lineWidth = 1.5 * devicePixelRatio;
  context.stroke();
  context.setLineDash([]);
}

// The list of the area's nodes, and how they are spread over the groups of the colouring.
function areaCards(data, nodes, colouring, select) {
  const columns = data.columns.filter((column) => column.kind !== "texts" || column.values.some(Boolean)).slice(0, 4);
  const rows = [...nodes.subarray(0, MAX_LISTED)].map((node) =>
    [nodeButton(data, node, select), ...columns.map((column) => element("span", { class: "label name", dir: "auto" }, truncated(valueText(column, node))))]);
  const more = nodes.length > MAX_LISTED ? `The first ${MAX_LISTED} are listed; the CSV file has all.` : "";
  const cards = [card("Nodes in the area", table(["node", ...columns.map(({ name }) => truncated(name, 30))], rows, () => false), ...(more ? [element("p", { class: "note" }, more)] : []))];
  if (colouring.groups?.length) {
    const counts = new Uint32Array(colouring.groups.length);
    for (const node of nodes) counts[colouring.of[node]]++;
    const order = [...counts.keys()].filter((group) => counts[group]).sort((a, b) => counts[b] - counts[a] || a - b).slice(0, 20);
    cards.push(card("Groups in the area", table(["group", "here", "in all", "%"], order.map((group) =>
      [named(colouring.groups[group].text), withSeparators(counts[group]), withSeparators(colouring.groups[group].count), ((100 * counts[group]) / colouring.groups[group].count).toFixed(1)]), (column) => column > 0)));
  }
  return cards;
}
