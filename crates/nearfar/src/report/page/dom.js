// Elements, tables and numbers as text. Text is only ever set as text, never as markup.

function element(name, attributes = {}, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) created.addEventListener(key.slice(2), value);
    else created.setAttribute(key, value);
  }
  created.append(...children);
  return created;
}

function withSeparators(number) {
  const [whole, ...decimals] = String(number).split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, "\u202f"), ...decimals].join(".");
}

// A number with few significant digits and a typographic minus.
function formatNumber(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return (value < 0 ? "−" : "") + withSeparators(size);
  const text = size !== 0 && (size < 1e-3 || size >= 1e9)
    ? value.toExponential(digits - 1)
    : value.toFixed(Math.max(0, Math.min(6, digits - 1 - Math.floor(Math.log10(size || 1)))));
  return withSeparators(text).replace(/-/g, "−");
}

// A table; the text of `fitted` ones is cut where it does not fit.
function table(columns, rows, numeric = () => true, fitted = false) {
  const cell = (name, value, column) =>
    element(name, numeric(column) ? { class: "number" } : {}, value instanceof Node ? value : String(value));
  const line = (name, values) => element("tr", {}, ...values.map((value, column) => cell(name, value, column)));
  return element("table", fitted ? { class: "fitted" } : {},
    ...(columns ? [element("thead", {}, line("th", columns))] : []),
    element("tbody", {}, ...rows.map((row) => line("td", row))));
}

function card(title, ...children) {
  return element("div", { class: "card" }, ...(title ? [element("h3", {}, title)] : []), ...children);
}

// Truncates a long text.
const truncated = (text, most = 120) => (text.length > most ? text.slice(0, most) + "…" : text);

const find = (id) => document.getElementById(id);

const named = (text) => element("span", { class: "name", dir: "auto", title: truncated(text, 300) }, truncated(text));
