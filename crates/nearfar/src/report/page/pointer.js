// Pointers, wheel and keys on a map.

function addPointer(map) {
  const { canvas } = map;
  const down = new Map();
  let dragged = false;
  const pinchWidth = () => {
    const [a, b] = [...down.values()];
    return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
  };
  canvas.addEventListener("pointerdown", (event) => {
    down.set(event.pointerId, event);
    canvas.setPointerCapture(event.pointerId);
    dragged = down.size > 1;
    if (view.lasso && map.filtered) view.area = { outline: [map.positionAt(event)], nodes: null };
  });
  canvas.addEventListener("pointermove", (event) => {
    const last = down.get(event.pointerId);
    if (!last) {
      if (event.pointerType !== "touch") map.onHover(map.nodeAt(map.positionAt(event)), event);
      return;
    }
    const before = down.size === 2 ? pinchWidth() : 0;
    const [from, to] = [map.positionAt(last), map.positionAt(event)];
    if (Math.hypot(event.clientX - last.clientX, event.clientY - last.clientY) < 3 && !dragged) return;
    dragged = true;
    down.set(event.pointerId, event);
    map.onHover(null);
    if (view.lasso && map.filtered) {
      view.area?.outline.push(to);
      redraw();
      return;
    }
    view.x -= (to.x - from.x) / down.size;
    view.y -= (to.y - from.y) / down.size;
    if (before > 0) zoomBy(pinchWidth() / before, to);
    moved();
  });
  const up = (event) => {
    if (!down.delete(event.pointerId) || event.type !== "pointerup") return;
    if (view.lasso && map.filtered && dragged) {
      map.onArea(nodesInside(map, view.area.outline));
      return;
    }
    if (dragged) return;
    const node = map.nodeAt(map.positionAt(event), event.pointerType === "touch" ? 24 : 12);
    if (node !== null) map.onSelect(node);
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => map.onHover(null));
  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey) return;
    event.preventDefault();
    zoomBy(2 ** (-event.deltaY / 300), map.positionAt(event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = 0.1 / view.zoom;
    const keys = {
      ArrowLeft: () => (view.x -= step), ArrowRight: () => (view.x += step),
      ArrowUp: () => (view.y += step), ArrowDown: () => (view.y -= step),
      "+": () => zoomBy(1.4), "=": () => zoomBy(1.4), "-": () => zoomBy(1 / 1.4), 0: resetView,
      // The node nearest to the middle of the map.
      Enter: () => {
        const node = map.nodeAt(view, 1e4);
        if (node !== null) map.onSelect(node);
      },
    };
    if (!keys[event.key] || event.metaKey || event.altKey || event.ctrlKey) return;
    event.preventDefault();
    keys[event.key]();
    moved();
  });
}
