// Points on canvases that share one view.
//
// Dots are written into the picture's memory: a hundred thousand take a few milliseconds on any
// machine, without a graphics card. Edges, the ring and the name of the chosen node are drawn around
// them.

const EDGES_DRAWN = 12000;
const SPOKES_DRAWN = 500;

const view = { x: 0.5, y: 0.5, zoom: 1, layout: "tsne", chosen: null, hidden: new Set() };
const maps = [];
let waiting = false;

function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    for (const map of maps) if (map.visible) map.draw();
  });
}

function zoomBy(factor, about = { x: view.x, y: view.y }) {
  const zoom = Math.max(0.5, Math.min(400, view.zoom * factor));
  const left = 1 - view.zoom / zoom;
  view.x += (about.x - view.x) * left;
  view.y += (about.y - view.y) * left;
  view.zoom = zoom;
  redraw();
}

function showAll() {
  Object.assign(view, { x: 0.5, y: 0.5, zoom: 1 });
  redraw();
}

class PointMap {
  constructor(canvas, data, { onChoose, onHover, filtered = false }) {
    Object.assign(this, { canvas, data, onChoose, onHover, filtered });
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
    this.listen();
  }

  set(colouring, label) {
    this.colouring = colouring;
    this.order = drawOrder(colouring, this.data.nodes);
    this.canvas.setAttribute("aria-label", label);
    redraw();
  }

  // How many pixels there are from place 0 to place 1: all fits at zoom 1.
  get side() {
    const [wide, high] = extent(this.data, view.layout);
    const margin = 24 * devicePixelRatio;
    const fit = Math.min((this.canvas.width - 2 * margin) / wide, (this.canvas.height - 2 * margin) / high);
    return Math.max(1, fit) * view.zoom;
  }

  at(node) {
    const places = this.data.places[view.layout];
    return {
      x: (places[2 * node] / 65535 - view.x) * this.side + this.canvas.width / 2,
      y: (view.y - places[2 * node + 1] / 65535) * this.side + this.canvas.height / 2,
    };
  }

  // The place under a pointer.
  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const ratio = this.canvas.width / box.width;
    const x = (event.clientX - box.left) * ratio - this.canvas.width / 2;
    const y = (event.clientY - box.top) * ratio - this.canvas.height / 2;
    return { x: view.x + x / this.side, y: view.y - y / this.side };
  }

  isHidden(node) {
    return this.filtered && view.hidden.has(this.colouring.of[node]);
  }

  // The dots' radius: the more nodes, the smaller; zooming in lets them grow a little.
  get radius() {
    const start = Math.max(0.75, Math.min(7, 28 / Math.sqrt(this.data.nodes) + 0.65));
    const room = Math.min(1.5, Math.max(0.8, Math.min(this.canvas.width, this.canvas.height) / devicePixelRatio / 600));
    return Math.min(9, start * room * view.zoom ** 0.4) * devicePixelRatio;
  }

  draw() {
    const { canvas, context, layer } = this;
    const width = Math.max(1, Math.round(canvas.clientWidth * devicePixelRatio));
    const height = Math.max(1, Math.round(canvas.clientHeight * devicePixelRatio));
    if (canvas.width !== width || canvas.height !== height) {
      Object.assign(canvas, { width, height });
      Object.assign(layer, { width, height });
      this.picture = new ImageData(width, height);
      this.pixels = new Uint32Array(this.picture.data.buffer);
    }
    if (!this.colouring) return;
    context.clearRect(0, 0, width, height);
    this.drawEdges();
    this.drawDots();
    layer.getContext("2d").putImageData(this.picture, 0, 0);
    context.drawImage(layer, 0, 0);
    if (view.chosen !== null) this.drawChosen();
    canvas.dataset.drawn = String(Number(canvas.dataset.drawn ?? 0) + 1);
  }

  // All edges of a small graph, faintly, and those of the chosen node.
  drawEdges() {
    const { graph } = this.data;
    if (!graph) return;
    const { context } = this;
    const lines = (nodes, colour, width) => {
      context.beginPath();
      for (const [a, b] of nodes) {
        if (this.isHidden(a) || this.isHidden(b)) continue;
        const [from, to] = [this.at(a), this.at(b)];
        context.moveTo(from.x, from.y);
        context.lineTo(to.x, to.y);
      }
      context.strokeStyle = colour;
      context.lineWidth = width * devicePixelRatio;
      context.stroke();
    };
    if (graph.edges <= (this.filtered ? EDGES_DRAWN : EDGES_DRAWN / 20)) {
      lines(edgesAmong(graph), themed(INK).edge, graph.edges < 1000 ? 1 : 0.6);
    }
    if (view.chosen !== null && degree(graph, view.chosen) <= SPOKES_DRAWN) {
      lines(edgesOf(graph, view.chosen), themed(INK).spoke, 0.7);
    }
  }

  drawDots() {
    const { pixels, order, colouring, canvas: { width, height } } = this;
    pixels.fill(0);
    const places = this.data.places[view.layout];
    const { reach, shares } = dot(this.radius);
    const side = this.side;
    const [left, top] = [width / 2 - view.x * side, height / 2 + view.y * side];
    const unit = side / 65535;
    const palette = this.palette();
    const size = 2 * reach + 1;
    for (const node of order) {
      const colour = palette[colouring.of[node]];
      const x = Math.round(left + places[2 * node] * unit) - reach;
      const y = Math.round(top - places[2 * node + 1] * unit) - reach;
      if (colour === 0 || x < 0 || y < 0 || x + size > width || y + size > height) continue;
      for (let row = 0, share = 0; row < size; row++) {
        for (let pixel = (y + row) * width + x, end = pixel + size; pixel < end; pixel++, share++) {
          const part = shares[share];
          if (part === 255) pixels[pixel] = colour;
          else if (part > 0) pixels[pixel] = over(pixels[pixel], colour, part);
        }
      }
    }
  }

  // The colours of groups as pixels: bytes alpha, blue, green, red. Hidden ones are 0.
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

  drawChosen() {
    const { context, data } = this;
    const { x, y } = this.at(view.chosen);
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
    const text = short(nameOf(data, view.chosen), 30);
    const right = x + this.radius + 7 * devicePixelRatio;
    const place = Math.min(right, this.canvas.width - context.measureText(text).width - 4);
    const line = y - (place < right ? 14 : -4) * devicePixelRatio;
    context.strokeText(text, place, line);
    context.fillText(text, place, line);
  }

  // The node at a place, if one is within reach of a finger or a pointer.
  nodeAt({ x, y }, reach = 12) {
    const places = this.data.places[view.layout];
    let [best, node] = [(reach * devicePixelRatio / this.side) ** 2, null];
    for (let other = 0; other < this.data.nodes; other++) {
      const square = (places[2 * other] / 65535 - x) ** 2 + (places[2 * other + 1] / 65535 - y) ** 2;
      if (square < best && !this.isHidden(other)) [best, node] = [square, other];
    }
    return node;
  }

  listen() {
    const { canvas } = this;
    const down = new Map();
    let moved = false;
    const apart = () => {
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
        if (event.pointerType !== "touch") this.onHover(this.nodeAt(this.place(event)), event);
        return;
      }
      const before = down.size === 2 ? apart() : 0;
      const [from, to] = [this.place(last), this.place(event)];
      if (Math.hypot(event.clientX - last.clientX, event.clientY - last.clientY) < 3 && !moved) return;
      moved = true;
      down.set(event.pointerId, event);
      view.x -= (to.x - from.x) / down.size;
      view.y -= (to.y - from.y) / down.size;
      if (before > 0) zoomBy(apart() / before, to);
      this.onHover(null);
      redraw();
    });
    const up = (event) => {
      if (down.delete(event.pointerId) && !moved && event.type === "pointerup") {
        const node = this.nodeAt(this.place(event), event.pointerType === "touch" ? 24 : 12);
        if (node !== null) this.onChoose(node);
      }
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => this.onHover(null));
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      zoomBy(2 ** (-event.deltaY / 300), this.place(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = 0.1 / view.zoom;
      const keys = {
        ArrowLeft: () => (view.x -= step), ArrowRight: () => (view.x += step),
        ArrowUp: () => (view.y += step), ArrowDown: () => (view.y -= step),
        "+": () => zoomBy(1.4), "=": () => zoomBy(1.4), "-": () => zoomBy(1 / 1.4), 0: showAll,
      };
      if (!keys[event.key] || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
      redraw();
    });
  }
}

// How much of the square the places of a layout take, in both directions; they are in its middle.
const extents = {};
function extent(data, layout) {
  return (extents[layout] ??= [0, 1].map((axis) => {
    let [low, high] = [65535, 0];
    const places = data.places[layout];
    for (let at = axis; at < places.length; at += 2) {
      low = Math.min(low, places[at]);
      high = Math.max(high, places[at]);
    }
    return Math.max(high - low, 6554) / 65535;
  }));
}

// In which order dots are drawn: mixed, so that no class always covers another; or the far ones first.
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

// How much of each pixel a round dot covers, of 255.
function dot(radius) {
  const reach = Math.ceil(radius);
  const shares = new Uint8Array((2 * reach + 1) ** 2);
  let at = 0;
  for (let y = -reach; y <= reach; y++) {
    for (let x = -reach; x <= reach; x++) {
      shares[at++] = Math.round(255 * Math.max(0, Math.min(1, radius + 0.5 - Math.hypot(x, y))));
    }
  }
  return { reach, shares };
}

// A pixel over another, of which it covers a part of 255.
function over(below, above, part) {
  const alpha = below >>> 24;
  if (alpha === 0) return (part << 24) | (above & 0xffffff);
  const rest = 255 - part;
  const blue = ((above >>> 16) & 255) * part + ((below >>> 16) & 255) * rest;
  const green = ((above >>> 8) & 255) * part + ((below >>> 8) & 255) * rest;
  const red = (above & 255) * part + (below & 255) * rest;
  return (Math.max(alpha, part) << 24) | (((blue / 255) | 0) << 16) | (((green / 255) | 0) << 8) | ((red / 255) | 0);
}

function* edgesAmong(graph) {
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
