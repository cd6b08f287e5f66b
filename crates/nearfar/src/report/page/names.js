// Names of groups on the map, each where its nodes are densest.

const CELLS = 24;
const MOST_NAMES = 60;

// Where the largest groups are densest: { group, x, y }. A cell's neighbours count too.
function namePlaces(map) {
  const { colouring, positions, data: { nodes } } = map;
  const count = Math.min(MOST_NAMES, colouring.groups?.length ?? 0);
  if (count < 2 || colouring.hops) return [];
  const counts = new Uint32Array(count * CELLS * CELLS);
  const cell = (at) => Math.floor((positions[at] * CELLS) / 65536);
  for (let node = 0; node < nodes; node++) {
    const group = colouring.of[node];
    if (group < count) counts[(group * CELLS + cell(2 * node + 1)) * CELLS + cell(2 * node)]++;
  }
  const best = new Int32Array(count);
  for (let group = 0; group < count; group++) {
    let most = -1;
    for (let at = 0; at < CELLS * CELLS; at++) {
      let sum = 0;
      for (const step of [0, -1, 1, -CELLS, CELLS]) sum += (step === 0 ? 2 : 1) * (counts[group * CELLS * CELLS + at + step] ?? 0);
      if (counts[group * CELLS * CELLS + at] && sum > most) [most, best[group]] = [sum, at];
    }
  }
  const sums = Array.from({ length: count }, () => [0, 0, 0]);
  for (let node = 0; node < nodes; node++) {
    const group = colouring.of[node];
    if (group >= count || cell(2 * node + 1) * CELLS + cell(2 * node) !== best[group]) continue;
    sums[group][0] += positions[2 * node];
    sums[group][1] += positions[2 * node + 1];
    sums[group][2]++;
  }
  return sums.map(([x, y, count], group) => ({ group, x: x / count / 65535, y: y / count / 65535 }));
}

// Draws names above or below their places, the largest groups first, that do not cover others or the id of the
// selected node: a dozen, and more as one zooms in.
function drawNames(map, selected) {
  const { context, canvas, colouring, place } = map;
  if (map.namesOf?.colouring !== colouring || map.namesOf.layout !== map.layout) {
    map.namesOf = { colouring, layout: map.layout, places: namePlaces(map) };
  }
  const size = 12 * devicePixelRatio;
  context.font = `600 ${size}px system-ui, sans-serif`;
  const taken = selected ? [selected, { left: selected.x - selected.radius, top: selected.y - selected.radius, width: 2 * selected.radius, height: 2 * selected.radius }] : [];
  const most = Math.round(12 * Math.max(1, view.zoom));
  map.drawnNames = [];
  const isInside = ({ left, top, width }) => left >= 0 && top >= 0 && left + width <= canvas.width && top + size <= canvas.height;
  const covers = (box, other) => box.left < other.left + other.width + 6 && other.left < box.left + box.width + 6
    && box.top < other.top + other.height + 4 && other.top < box.top + size + 4;
  for (const { group, x, y } of map.namesOf.places) {
    if (view.hidden.has(group) || map.drawnNames.length >= most) continue;
    if (view.highlight !== null && view.highlight !== group) continue;
    const text = truncated(colouring.groups[group].text, 28);
    const width = context.measureText(text).width;
    const middle = place.top - y * place.side;
    const boxAt = (top) => ({ left: place.left + x * place.side - width / 2, top, width, height: size });
    const free = (box) => isInside(box) && !taken.some((other) => covers(box, other));
    const box = [middle - map.radius - 1.3 * size, middle + map.radius + 0.3 * size].map(boxAt).find(free);
    if (!box) continue;
    taken.push(box);
    const drawn = { text, left: box.left, bottom: box.top + size * 0.85 };
    map.drawnNames.push(drawn);
    drawText(context, text, drawn.left, drawn.bottom);
  }
}
