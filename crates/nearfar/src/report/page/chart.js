// Charts as SVG.

function svgElement(name, attributes, text) {
  const created = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  if (text !== undefined) created.textContent = text;
  return created;
}

// The least of 1, 2, 5, 10, … that is not less.
function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((x) => x * power).find((x) => x >= rough);
}

// Round tick values between low and high.
function ticks(low, high, count) {
  const step = roundStep((high - low) / count || 1);
  const values = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) {
    values.push(Number((at * step).toPrecision(12)));
  }
  return values;
}

function axis(values, { log = false, zero = false, integer = false }) {
  let [low, high] = [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)];
  if (zero) [low, high] = [Math.min(0, low), Math.max(0, high)];
  if (log) {
    [low, high] = [low / 1.15, high * 1.15];
    const powers = [];
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) powers.push(10 ** power);
    // Of few powers of ten, also their doubles and fives.
    const marks = (powers.length > 3 ? powers : powers.flatMap((power) => [power, 2 * power, 5 * power]))
      .filter((mark) => mark >= low && mark <= high && (!integer || Number.isInteger(mark)));
    return { marks, fraction: (x) => Math.log(x / low) / Math.log(high / low) };
  }
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  let marks = ticks(low, high, 5);
  if (integer) marks = marks.filter(Number.isInteger);
  return { marks, fraction: (x) => (x - low) / (high - low) };
}

// The axis of distances up to so many hops: logarithmic where there are many.
const hopAxis = (most) => ({ label: "hops", integer: true, log: most >= MANY_HOPS });

// A card with plots, one above the other: { label, x, y, series } each; a series is { kind: line | dots |
// bars | band, colour, name, points: [[x, y], …] }, and the points of a band are [x, low, high]. `columns`
// and `rows` are the same data as a table.
function chart({ title, caption, plots, columns, rows }) {
  const shown = plots.filter(({ series }) => series.some((one) => one.points.length));
  if (shown.length === 0) return card(title, element("p", { class: "note" }, "No data."));
  const keys = (series) => series.filter((one) => one.name).map((one) => element("span", { class: `key ${one.colour ?? "far"}` }, one.name));
  return card(title,
    element("div", { class: "columns" }, ...shown.map((one, at) => element("div", {},
      element("p", { class: "note" }, ...keys(one.series)),
      plot(one, `${title}. ${at === 0 ? caption ?? "" : ""}`, shown.length > 1 ? 160 : 220)))),
    ...(caption ? [element("p", { class: "note" }, caption)] : []),
    ...(rows ? [element("details", {}, element("summary", {}, "Data table"), table(columns, rows))] : []));
}

function plot({ x, y, series }, label, height) {
  const [width, left, right, top, bottom] = [380, 46, 10, 10, 40];
  const points = series.flatMap((one) => one.points);
  const xs = axis(points.map((point) => point[0]), x);
  const ys = axis(points.flatMap((point) => point.slice(1)), y);
  const bars = series.find((one) => one.kind === "bars");
  const slot = (width - left - right) / (bars ? bars.points.length + 0.5 : 40);
  const inner = bars ? slot / 2 : 6;
  const px = (value) => left + inner + xs.fraction(value) * (width - left - right - 2 * inner);
  const py = (value) => height - bottom - ys.fraction(value) * (height - top - bottom);
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (const mark of ys.marks) {
    svg.append(svgElement("path", { class: "axis", d: `M${left} ${py(mark)}H${width - right}` }),
      svgElement("text", { x: left - 6, y: py(mark) + 4, "text-anchor": "end" }, tick(mark)));
  }
  for (const mark of xs.marks) {
    svg.append(svgElement("text", { x: px(mark), y: height - bottom + 16, "text-anchor": "middle" }, tick(mark)));
  }
  svg.append(svgElement("text", { x: (width + left) / 2, y: height - 6, "text-anchor": "middle" }, x.label));
  for (const { kind, colour = "far", points } of series) {
    if (kind === "bars") {
      const barWidth = Math.max(1, Math.min(40, slot * 0.8));
      for (const [at, value] of points) {
        svg.append(svgElement("rect", { class: `bar ${colour}`, x: px(at) - barWidth / 2, width: barWidth, y: py(value), height: Math.max(0, py(0) - py(value)) }));
      }
    } else if (kind === "band") {
      const path = (list) => list.map(([at, value]) => `${px(at).toFixed(1)} ${py(value).toFixed(1)}`).join("L");
      const [lows, highs] = [points.map(([at, low]) => [at, low]), points.map(([at, , high]) => [at, high]).reverse()];
      svg.append(svgElement("path", { class: "band", d: `M${path([...lows, ...highs])}Z` }));
    } else {
      if (kind === "line") {
        const path = points.map(([at, value]) => `${px(at).toFixed(1)} ${py(value).toFixed(1)}`).join("L");
        svg.append(svgElement("path", { class: `line ${colour}`, d: `M${path}` }));
      }
      if (kind === "dots" || points.length <= 400) {
        for (const [at, value] of points) {
          svg.append(svgElement("circle", { class: colour, cx: px(at), cy: py(value), r: kind === "dots" ? 2.5 : points.length > 40 ? 0 : 3 }));
        }
      }
    }
  }
  return svg;
}

function tick(value) {
  const size = Math.abs(value);
  if (size >= 1e5 || (size > 0 && size < 1e-3)) {
    const power = Math.floor(Math.log10(size));
    const digits = "⁰¹²³⁴⁵⁶⁷⁸⁹";
    const exponent = [...String(Math.abs(power))].map((digit) => digits[digit]).join("");
    const lead = Number((value / 10 ** power).toPrecision(3));
    return `${lead === 1 ? "" : `${lead}·`}10${power < 0 ? "⁻" : ""}${exponent}`.replace("-", "−");
  }
  return withSeparators(value).replace("-", "−");
}
