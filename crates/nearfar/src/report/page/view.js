// What all maps share: the part of the plane in view, the selected node, and what is hidden.

const view = { x: 0.5, y: 0.5, zoom: 1, layout: "tsne", selected: null, hidden: new Set(), range: null, highlight: null, area: null, lasso: false, names: true, moving: false };
const maps = [];
const MAX_ZOOM = 2000;
const SETTLED_MS = 150;
let scheduled = false;
let settling = 0;

function redraw() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    for (const map of maps) if (map.visible) map.draw();
  });
}

// While the view moves, large maps are drawn in coarser bins.
function moved() {
  view.moving = true;
  clearTimeout(settling);
  settling = setTimeout(() => {
    view.moving = false;
    redraw();
    document.dispatchEvent(new Event("settled"));
  }, SETTLED_MS);
  redraw();
}

function zoomBy(factor, centre = { x: view.x, y: view.y }) {
  const zoom = Math.max(0.5, Math.min(MAX_ZOOM, view.zoom * factor));
  const shift = 1 - view.zoom / zoom;
  view.x += (centre.x - view.x) * shift;
  view.y += (centre.y - view.y) * shift;
  view.zoom = zoom;
  moved();
}

function resetView() {
  Object.assign(view, { x: 0.5, y: 0.5, zoom: 1 });
  moved();
}

// Maps are as wide as the page, and as high as their layout needs.
function shapeMaps(data) {
  const shape = (layout) => {
    const [wide, high] = extent(data, layout);
    return Math.max(0.9, Math.min(2.6, wide / high));
  };
  document.documentElement.style.setProperty("--shape", shape(view.layout));
  if (data.positions.against) find("against").style.setProperty("--shape", Math.min(shape("tsne"), shape("against")));
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
