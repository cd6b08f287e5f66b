// Scatter plots on canvases that share one view. Dots and densities are written into image data; edges,
// names, and the ring and id of the selected node are drawn with the canvas API.

const MAX_EDGES = 12000;
// Square pixels for each edge from which on edges are drawn at their darkest.
const EDGE_AREA = 150;
const MAX_SELECTED_EDGES = 500;
const SELECTED_FONT = (ratio) => `600 ${13 * ratio}px system-ui, sans-serif`;
// From so many nodes in view on, their density is drawn.
const DENSE = 60000;

class PointMap {
  constructor(canvas, data, { onSelect, onHover, onArea, filtered = false, layout = null }) {
    Object.assign(this, { canvas, data, onSelect, onHover, onArea, filtered, fixedLayout: layout });
    this.context = canvas.getContext("2d");
    this.layer = document.createElement("canvas");
    this.visible = true;
    this.colouring = null;
    maps.push(this);
    new ResizeObserver(redraw).observe(canvas);
    new IntersectionObserver(([entry]) => {
      this.visible = entry.isIntersecting;
      if (this.visible) redraw();
    }).observe(canvas);
    addPointer(this);
  }

  get layout() {
    return this.fixedLayout ?? view.layout;
  }

  get positions() {
    return this.data.positions[this.layout];
  }

  set(colouring, label) {
    this.colouring = colouring;
    this.order = this.data.nodes > DENSE ? null : drawOrder(colouring, this.data.nodes);
    this.canvas.setAttribute("aria-label", label);
    this.refilter();
  }

  // The group of each node, or NO_GROUP where it is hidden.
  refilter() {
    const { colouring: { of, values }, data: { nodes } } = this;
    this.shownAs = of;
    if (this.filtered && (view.hidden.size || view.range)) {
      const [low, high] = view.range ?? [-Infinity, Infinity];
      const inRange = (node) => !values || (values[node] >= low && values[node] <= high);
      this.shownAs = new Uint16Array(nodes);
      for (let node = 0; node < nodes; node++) this.shownAs[node] = view.hidden.has(of[node]) || !inRange(node) ? NO_GROUP : of[node];
    }
    redraw();
  }

  // Pixels per unit of position; at zoom 1 all nodes fit.
  get side() {
    const [wide, high] = extent(this.data, this.layout);
    const margin = 16 * devicePixelRatio;
    const fit = Math.min((this.canvas.width - 2 * margin) / wide, (this.canvas.height - 2 * margin) / high);
    return Math.max(1, fit) * view.zoom;
  }

  // Where the square of positions lies on the canvas.
  get place() {
    const side = this.side;
    return { side, left: this.canvas.width / 2 - view.x * side, top: this.canvas.height / 2 + view.y * side };
  }

  // The part of the square in view.
  get box() {
    const { side, left, top } = this.place;
    return { left: -left / side, right: (this.canvas.width - left) / side, low: (top - this.canvas.height) / side, high: top / side };
  }

  // The pixel of a node.
  pixelOf(node) {
    const { side, left, top } = this.place;
    return { x: left + (this.positions[2 * node] / 65535) * side, y: top - (this.positions[2 * node + 1] / 65535) * side };
  }

  // The position under a pointer.
  positionAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const ratio = this.canvas.width / box.width;
    const { side, left, top } = this.place;
    return { x: ((event.clientX - box.left) * ratio - left) / side, y: (top - (event.clientY - box.top) * ratio) / side };
  }

  isHidden(node) {
    return this.shownAs[node] === NO_GROUP;
  }

  // The radius of dots: smaller for more nodes, growing slowly with the zoom.
  get radius() {
    const base = Math.max(0.75, Math.min(7, 28 / Math.sqrt(this.data.nodes) + 0.65));
    const size = Math.min(1.5, Math.max(0.8, Math.min(this.canvas.width, this.canvas.height) / devicePixelRatio / 600));
    return Math.min(9, base * size * view.zoom ** 0.4) * devicePixelRatio;
  }

  draw() {
    const { canvas, context, layer } = this;
    const width = Math.max(1, Math.round(canvas.clientWidth * devicePixelRatio));
    const height = Math.max(1, Math.round(canvas.clientHeight * devicePixelRatio));
    if (canvas.width !== width || canvas.height !== height) {
      Object.assign(canvas, { width, height });
      Object.assign(layer, { width, height });
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    if (!this.colouring) return;
    context.clearRect(0, 0, width, height);
    this.drawEdges();
    this.drawNodes();
    layer.getContext("2d").putImageData(this.image, 0, 0);
    context.drawImage(layer, 0, 0);
    const selected = view.selected === null ? null : this.selectedLabel();
    if (this.filtered && view.names) drawNames(this, selected);
    if (selected) this.drawSelected(selected);
    if (this.filtered) drawArea(this);
    canvas.dataset.drawn = String(Number(canvas.dataset.drawn ?? 0) + 1);
  }

  drawNodes() {
    const { data, pixels, canvas: { width, height }, place, shownAs, positions } = this;
    const palette = this.palette();
    pixels.fill(0);
    const size = [width, height];
    if (this.order) {
      drawDots(pixels, size, this.order, positions, shownAs, palette, this.radius, place);
      return;
    }
    const grid = gridOf(data, this.layout);
    const ranges = [...rangesIn(grid, this.box)];
    const count = ranges.reduce((sum, [start, end]) => sum + end - start, 0);
    this.dense = count > DENSE;
    if (this.dense) {
      const bin = Math.max(1, Math.round((view.moving ? 3 : 1.5) * devicePixelRatio));
      drawDensity(pixels, size, grid, ranges, shownAs, palette, place, bin);
    } else {
      const nodes = ranges.flatMap(([start, end]) => [...grid.order.subarray(start, end)]);
      const { of, farFirst } = this.colouring;
      // Farthest first; else in an order that has nothing to do with groups.
      nodes.sort(farFirst ? (a, b) => of[b] - of[a] : (a, b) => Math.imul(a, 0x9e3779b1) - Math.imul(b, 0x9e3779b1));
      drawDots(pixels, size, nodes, positions, shownAs, palette, Math.max(this.radius, 1.5 * devicePixelRatio), place);
    }
  }

  // All edges of a small graph, faintly, and those of the selected node.
  drawEdges() {
    const { graph } = this.data;
    if (!graph || this.fixedLayout) return;
    const { context } = this;
    const lines = (nodes, colour, width) => {
      context.beginPath();
      for (const [a, b] of nodes) {
        if (this.isHidden(a) || this.isHidden(b)) continue;
        const [from, to] = [this.pixelOf(a), this.pixelOf(b)];
        context.moveTo(from.x, from.y);
        context.lineTo(to.x, to.y);
      }
      context.strokeStyle = colour;
      context.lineWidth = width * devicePixelRatio;
      context.stroke();
    };
    if (graph.edges <= (this.filtered ? MAX_EDGES : MAX_EDGES / 20)) {
      // The fainter, the more of them there are to the area.
      const share = (this.canvas.clientWidth * this.canvas.clientHeight) / (EDGE_AREA * graph.edges);
      const alpha = Math.round(255 * Math.max(0.02, Math.min(0.1, 0.1 * share)));
      lines(allEdges(graph), themed(INK).text + alpha.toString(16).padStart(2, "0"), graph.edges < 1000 ? 1 : 0.6);
    }
    if (view.selected !== null && degree(graph, view.selected) <= MAX_SELECTED_EDGES) {
      lines(edgesOf(graph, view.selected), themed(INK).spoke, 0.7);
    }
  }

  // The colours of groups as ABGR pixels; all but a highlighted one are grey.
  palette() {
    const { colouring } = this;
    const count = colouring.groups?.length || STEPS + 1;
    const palette = new Uint32Array(Math.max(count, 1));
    for (let group = 0; group < palette.length; group++) {
      const [red, green, blue] = this.colourOf(group);
      palette[group] = (255 << 24) | (blue << 16) | (green << 8) | red;
    }
    return palette;
  }

  colourOf(group) {
    const { colouring } = this;
    if (!this.filtered || view.highlight === null) return colouring.colour(group);
    if (view.highlight !== group) return rgb(themed(FAINT));
    return group < CLASSES.light.length ? colouring.colour(group) : rgb(themed(STRONG));
  }

  // The ring of the selected node, and its id beside it: { x, y, radius, text, left, top, width, height }.
  selectedLabel() {
    const { context, canvas, data } = this;
    const { x, y } = this.pixelOf(view.selected);
    const radius = Math.max(this.radius, 2 * devicePixelRatio) + 3 * devicePixelRatio;
    const text = truncated(idOf(data, view.selected), 30);
    context.font = SELECTED_FONT(devicePixelRatio);
    const [width, height] = [context.measureText(text).width, 13 * devicePixelRatio];
    const right = x + radius + 4 * devicePixelRatio;
    const left = Math.min(right, canvas.width - width - 4);
    return { x, y, radius, text, left, top: y - (left < right ? 2 : 0.6) * height, width, height };
  }

  drawSelected({ x, y, radius, text, left, top, height }) {
    const { context } = this;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.strokeStyle = themed(INK).text;
    context.lineWidth = 2 * devicePixelRatio;
    context.stroke();
    context.font = SELECTED_FONT(devicePixelRatio);
    drawText(context, text, left, top + 0.9 * height);
  }

  // The nearest visible node within `reach` pixels of a position.
  nodeAt({ x, y }, reach = 12) {
    const distance = (reach * devicePixelRatio) / this.side;
    const grid = gridOf(this.data, this.layout);
    let [best, node] = [distance ** 2, null];
    for (const [start, end] of rangesIn(grid, { left: x - distance, right: x + distance, low: y - distance, high: y + distance })) {
      for (let at = start; at < end; at++) {
        const square = (grid.x[at] / 65535 - x) ** 2 + (grid.y[at] / 65535 - y) ** 2;
        if ((square < best || (square === best && node !== null && grid.order[at] < node)) && !this.isHidden(grid.order[at])) [best, node] = [square, grid.order[at]];
      }
    }
    return node;
  }
}

// Text with an outline in the colour of the background.
function drawText(context, text, x, y) {
  const { text: ink, halo } = themed(INK);
  context.lineWidth = 4 * devicePixelRatio;
  context.lineJoin = "round";
  context.strokeStyle = halo;
  context.fillStyle = ink;
  context.strokeText(text, x, y);
  context.fillText(text, x, y);
}

function* allEdges(graph) {
  for (let node = 0; node + 1 < graph.starts.length; node++) {
    for (let edge = graph.starts[node]; edge < graph.starts[node + 1]; edge++) {
      if (graph.directed || graph.targets[edge] > node) yield [node, graph.targets[edge]];
    }
  }
}

function* edgesOf(graph, node) {
  for (let edge = graph.starts[node]; edge < graph.starts[node + 1]; edge++) {
    yield [node, graph.targets[edge]];
  }
}
