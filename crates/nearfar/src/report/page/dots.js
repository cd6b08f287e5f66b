// Nodes as round dots, written directly into image data: a few ten thousand take some milliseconds
// without a GPU.

// Draws the nodes in this order; `place` is where the square of positions lies, in pixels.
function drawDots(pixels, [width, height], order, positions, shownAs, palette, radius, place) {
  const { reach, coverage } = dot(radius);
  const unit = place.side / 65535;
  const size = 2 * reach + 1;
  for (const node of order) {
    const group = shownAs[node];
    if (group === NO_GROUP) continue;
    const colour = palette[group];
    const x = Math.round(place.left + positions[2 * node] * unit) - reach;
    const y = Math.round(place.top - positions[2 * node + 1] * unit) - reach;
    if (x < 0 || y < 0 || x + size > width || y + size > height) continue;
    for (let row = 0, at = 0; row < size; row++) {
      for (let pixel = (y + row) * width + x, end = pixel + size; pixel < end; pixel++, at++) {
        const alpha = coverage[at];
        if (alpha === 255) pixels[pixel] = colour;
        else if (alpha > 0) pixels[pixel] = blend(pixels[pixel], colour, alpha);
      }
    }
  }
}

// The order of drawing: shuffled, so that no class always covers another; or farthest first.
function drawOrder(colouring, nodes) {
  const order = new Uint32Array(nodes);
  if (!colouring.farFirst) {
    let step = Math.max(1, Math.floor(nodes * 0.618));
    const divisor = (a, b) => (b ? divisor(b, a % b) : a);
    while (divisor(step, nodes) > 1) step++;
    for (let at = 0; at < nodes; at++) order[at] = (at * step) % nodes;
    return order;
  }
  const starts = [];
  for (const group of colouring.of) starts[group] = (starts[group] ?? 0) + 1;
  let end = nodes;
  for (let group = 0; group < starts.length; group++) starts[group] = end -= starts[group] ?? 0;
  colouring.of.forEach((group, node) => (order[starts[group]++] = node));
  return order;
}

// The coverage of each pixel by a round dot, 0 to 255.
function dot(radius) {
  const reach = Math.ceil(radius);
  const coverage = new Uint8Array((2 * reach + 1) ** 2);
  let at = 0;
  for (let y = -reach; y <= reach; y++) {
    for (let x = -reach; x <= reach; x++) {
      coverage[at++] = Math.round(255 * Math.max(0, Math.min(1, radius + 0.5 - Math.hypot(x, y))));
    }
  }
  return { reach, coverage };
}

// Alpha blending of two pixels, with the alpha of `above` from 0 to 255.
function blend(below, above, alpha) {
  const alphaBelow = below >>> 24;
  if (alphaBelow === 0) return (alpha << 24) | (above & 0xffffff);
  const rest = 255 - alpha;
  const blue = ((above >>> 16) & 255) * alpha + ((below >>> 16) & 255) * rest;
  const green = ((above >>> 8) & 255) * alpha + ((below >>> 8) & 255) * rest;
  const red = (above & 255) * alpha + (below & 255) * rest;
  return (Math.max(alphaBelow, alpha) << 24) | (((blue / 255) | 0) << 16) | (((green / 255) | 0) << 8) | ((red / 255) | 0);
}
