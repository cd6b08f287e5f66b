// Scatter plots on canvases that share one view.
//
// Dots are written directly into image data: 100 000 take a few milliseconds without a GPU. Edges, and
// the ring and id of the selected node, are drawn with the canvas API.

const MAX_EDGES = 12000;
const MAX_SELECTED_EDGES = 500;

const view = { x: 0.5, y: 0.5, zoom: 1, layout: "tsne", selected: null, hidden: new Set() };
const maps = [];
let scheduled = false;

function redraw() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    for (const map of maps) if (map.visible) map.draw();
  });
}

function zoomBy(factor, centre = { x: view.x, y: view.y }) {
  const zoom = Math.max(0.5, Math.min(400, view.zoom * factor));
  const shift = 1 - view.zoom / zoom;
  view.x += (centre.x - view.x) * shift;
  view.y += (centre.y - view.y) * shift;
  view.zoom = zoom;
  redraw();
}

function resetView() {
  Object.assign(view, { x: 0.5, y: 0.5, zoom: 1 });
  redraw();
}

class PointMap {
  constructor(canvas, data, { onSelect, onHover, filtered = false }) {
    Object.assign(this, { canvas, data, onSelect, onHover, filtered });
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
    this.addListeners();
  }

  set(colouring, label) {
    this.colouring = colouring;
    this.order = drawOrder(colouring, this.data.nodes);
    this.canvas.setAttribute("aria-label", label);
    redraw();
  }

  // Pixels per unit of position; at zoom 1 all nodes fit.
  get side() {
    const [wide, high] = extent(this.data, view.layout);
    const margin = 24 * devicePixelRatio;
    const fit = Math.min((this.canvas.width - 2 * margin) / wide, (this.canvas.height - 2 * margin) / high);
    return Math.max(1, fit) * view.zoom;
  }

  // The pixel of a node.
  pixelOf(node) {
    const positions = this.data.positions[view.layout];
    return {
      x: (positions[2 * node] / 65535 - view.x) * this.side + this.canvas.width / 2,
      y: (view.y - positions[2 * node + 1] / 65535) * this.side + this.canvas.height / 2,
    };
  }

  // The position under a pointer.
  positionAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const ratio = this.canvas.width / box.width;
    const x = (event.clientX - box.left) * ratio - this.canvas.width / 2;
    const y = (event.clientY - box.top) * ratio - this.canvas.height / 2;
    return { x: view.x + x / this.side, y: view.y - y / this.side };
  }

  isHidden(node) {
    return this.filtered && view.hidden.has(this.colouring.of[node]);
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
    this.drawDots();
    layer.getContext("2d").putImageData(this.image, 0, 0);
    context.drawImage(layer, 0, 0);
    if (view.selected !== null) this.drawSelected();
    canvas.dataset.drawn = String(Number(canvas.dataset.drawn ?? 0) + 1);
  }

  // All edges of a small graph, faintly, and those of the selected node.
  drawEdges() {
    const { graph } = this.data;
    if (!graph) return;
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
      lines(allEdges(graph), themed(INK).edge, graph.edges < 1000 ? 1 : 0.6);
    }
    if (view.selected !== null && degree(graph, view.selected) <= MAX_SELECTED_EDGES) {
      lines(edgesOf(graph, view.selected), themed(INK).spoke, 0.7);
    }
  }

  drawDots() {
    const { pixels, order, colouring, canvas: { width, height } } = this;
    pixels.fill(0);
    const positions = this.data.positions[view.layout];
    const { reach, coverage } = dot(this.radius);
    const side = this.side;
    const [left, top] = [width / 2 - view.x * side, height / 2 + view.y * side];
    const unit = side / 65535;
    const palette = this.palette();
    const size = 2 * reach + 1;
    for (const node of order) {
      const colour = palette[colouring.of[node]];
      const x = Math.round(left + positions[2 * node] * unit) - reach;
      const y = Math.round(top - positions[2 * node + 1] * unit) - reach;
      if (colour === 0 || x < 0 || y < 0 || x + size > width || y + size > height) continue;
      for (let row = 0, at = 0; row < size; row++) {
        for (let pixel = (y + row) * width + x, end = pixel + size; pixel < end; pixel++, at++) {
          const alpha = coverage[at];
          if (alpha === 255) pixels[pixel] = colour;
          else if (alpha > 0) pixels[pixel] = blend(pixels[pixel], colour, alpha);
        }
      }
    }
  }

  // The colours of groups as ABGR pixels; 0 if hidden.
  palette() {
    const { colouring } = this;
    const palette = new Uint32Array(colouring.of.reduce((a, b) => Math.max(a, b), 0) + 1);
    for (let group = 0; group < palette.length; group++) {
      if (this.filtered && view.hidden.has(group)) continue;
      const [red, green, blue] = colouring.colour(group);
      palette[group] = (255 << 24) | (blue << 16) | (green << 8) | red;
    }
    return palette;
  }

  drawSelected() {
    const { context, data } = this;
    const { x, y } = this.pixelOf(view.selected);
    const { text: ink, halo } = themed(INK);
    context.beginPath();
    context.arc(x, y, this.radius + 3 * devicePixelRatio, 0, 2 * Math.PI);
    context.strokeStyle = ink;
    context.lineWidth = 2 * devicePixelRatio;
    context.stroke();
    context.font = `600 ${13 * devicePixelRatio}px system-ui, sans-serif`;
    context.lineWidth = 4 * devicePixelRatio;
    context.strokeStyle = halo;
    context.fillStyle = ink;
    const text = truncated(idOf(data, view.selected), 30);
    const right = x + this.radius + 7 * devicePixelRatio;
    const left = Math.min(right, this.canvas.width - context.measureText(text).width - 4);
    const line = y - (left < right ? 14 : -4) * devicePixelRatio;
    context.strokeText(text, left, line);
    context.fillText(text, left, line);
  }

  // The nearest visible node within `reach` pixels of a position.
  nodeAt({ x, y }, reach = 12) {
    const positions = this.data.positions[view.layout];
    let [best, node] = [(reach * devicePixelRatio / this.side) ** 2, null];
    for (let other = 0; other < this.data.nodes; other++) {
      const square = (positions[2 * other] / 65535 - x) ** 2 + (positions[2 * other + 1] / 65535 - y) ** 2;
      if (square < best && !this.isHidden(other)) [best, node] = [square, other];
    }
    return node;
  }

  addListeners() {
    const { canvas } = this;
    const down = new Map();
    let moved = false;
    const pinchWidth = () => {
      const [a, b] = [...down.values()];
      return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    };
    canvas.addEventListener("pointerdown", (event) => {
      down.set(event.pointerId, event);
      canvas.setPointerCapture(event.pointerId);
      moved = down.size > 1;
    });
    canvas.addEventListener("pointermove", (event) => {
      const last = down.get(event.pointerId);
      if (!last) {
        if (event.pointerType !== "touch") this.onHover(this.nodeAt(this.positionAt(event)), event);
        return;
      }
      const before = down.size === 2 ? pinchWidth() : 0;
      const [from, to] = [this.positionAt(last), this.positionAt(event)];
      if (Math.hypot(event.clientX - last.clientX, event.clientY - last.clientY) < 3 && !moved) return;
      moved = true;
      down.set(event.pointerId, event);
      view.x -= (to.x - from.x) / down.size;
      view.y -= (to.y - from.y) / down.size;
      if (before > 0) zoomBy(pinchWidth() / before, to);
      this.onHover(null);
      redraw();
    });
    const up = (event) => {
      if (down.delete(event.pointerId) && !moved && event.type === "pointerup") {
        const node = this.nodeAt(this.positionAt(event), event.pointerType === "touch" ? 24 : 12);
        if (node !== null) this.onSelect(node);
      }
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => this.onHover(null));
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      zoomBy(2 ** (-event.deltaY / 300), this.positionAt(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = 0.1 / view.zoom;
      const keys = {
        ArrowLeft: () => (view.x -= step), ArrowRight: () => (view.x += step),
        ArrowUp: () => (view.y += step), ArrowDown: () => (view.y -= step),
        "+": () => zoomBy(1.4), "=": () => zoomBy(1.4), "-": () => zoomBy(1 / 1.4), 0: resetView,
      };
      if (!keys[event.key] || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
      redraw();
    });
  }
}

// The extent of a layout in both axes, as a fraction of the square.
const extents = {};
function extent(data, layout) {
  return (extents[layout] ??= [0, 1].map((axis) => {
    let [low, high] = [65535, 0];
    const positions = data.positions[layout];
    for (let at = axis; at < positions.length; at += 2) {
      low = Math.min(low, positions[at]);
      high = Math.max(high, positions[at]);
    }
    return Math.max(high - low, 6554) / 65535;
  }));
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

function* allEdges(graph) {
  for (let node = 0; node + 1 < graph.starts.length; node++) {
    for (let edge = graph.starts[node]; edge < graph.starts[node + 1]; edge++) {
      if (graph.targets[edge] > node) yield [node, graph.targets[edge]];
    }
  }
}

function* edgesOf(graph, node) {
  for (let edge = graph.starts[node]; edge < graph.starts[node + 1]; edge++) {
    yield [node, graph.targets[edge]];
  }
}
