// Files made from the page: PNG and SVG of the map, CSV of nodes. They are made in the browser; nothing is
// sent anywhere.

const MAX_SVG_DOTS = 50000;

function download(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = element("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// The map as it is on the screen, on the colour of the page.
function downloadPng(map, name) {
  const { width, height } = map.canvas;
  const sheet = element("canvas", { width, height });
  const context = sheet.getContext("2d");
  context.fillStyle = themed(INK).halo;
  context.fillRect(0, 0, width, height);
  context.drawImage(map.canvas, 0, 0);
  sheet.toBlob((blob) => download(`${name}.png`, blob), "image/png");
}

// The nodes in view as circles, with the names on the map; more than MAX_SVG_DOTS as an image.
function svgOf(map) {
  const { canvas, data, place, colouring } = map;
  const ratio = devicePixelRatio;
  const [width, height] = [canvas.width / ratio, canvas.height / ratio];
  const svg = svgElement("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "system-ui, sans-serif" });
  svg.append(svgElement("rect", { width, height, fill: themed(INK).halo }));
  const grid = gridOf(data, map.layout);
  const ranges = [...rangesIn(grid, map.box)];
  if (ranges.reduce((sum, [start, end]) => sum + end - start, 0) > MAX_SVG_DOTS) {
    svg.append(svgElement("image", { width, height, href: map.layer.toDataURL("image/png") }));
  } else {
    const groups = new Map();
    for (const [start, end] of ranges) {
      for (let at = start; at < end; at++) {
        const node = grid.order[at];
        if (map.isHidden(node)) continue;
        const group = colouring.of[node];
        if (!groups.has(group)) groups.set(group, svgElement("g", { fill: `rgb(${map.colourOf(group).join(" ")})` }));
        const x = (place.left + (grid.x[at] / 65535) * place.side) / ratio, y = (place.top - (grid.y[at] / 65535) * place.side) / ratio;
        groups.get(group).append(svgElement("circle", { cx: x.toFixed(2), cy: y.toFixed(2), r: (map.radius / ratio).toFixed(2) }));
      }
    }
    svg.append(...groups.values());
  }
  for (const { text, left, bottom } of (view.names && map.drawnNames) || []) {
    svg.append(svgElement("text", { x: left / ratio, y: bottom / ratio, "font-size": 12, "font-weight": 600, fill: themed(INK).text, stroke: themed(INK).halo, "stroke-width": 3, "paint-order": "stroke" }, text));
  }
  return new XMLSerializer().serializeToString(svg);
}

// A table with the id and all columns of some nodes. Values that a spreadsheet would take for a formula are
// preceded by an apostrophe.
function csvOf(data, nodes) {
  const field = (text) => {
    const inert = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
    return /[",\n\r]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
  };
  const value = (column, node) => (column.kind === "numbers" ? (Number.isNaN(column.values[node]) ? "" : String(column.values[node])) : valueText(column, node));
  const lines = [["id", ...data.columns.map(({ name }) => name)].map(field).join(",")];
  for (const node of nodes) lines.push([idOf(data, node), ...data.columns.map((column) => value(column, node))].map(field).join(","));
  return lines.join("\n") + "\n";
}
