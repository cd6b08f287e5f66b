// The legend of a colouring.

const MAX_MORE = 300;

function swatch(colour) {
  const dot = element("i");
  dot.style.background = `rgb(${colour.join(" ")})`;
  return dot;
}

function colourBar({ low, high, at, log }, [before = "", after = ""] = []) {
  const bar = element("canvas", { width: 128, height: 1, role: "img", "aria-label": `colour scale from ${low} to ${high}` });
  const context = bar.getContext("2d");
  for (let x = 0; x < 128; x++) {
    context.fillStyle = `rgb(${at(x / 127).join(" ")})`;
    context.fillRect(x, 0, 1, 1);
  }
  return [`${before} ${low}`.trim(), bar, `${high}${after}`, log ? "logarithmic" : ""];
}

// A legend to read: of hops, or of a scale.
function plainLegend(parent, colouring, words) {
  if (colouring.scale) return parent.replaceChildren(...colourBar(colouring.scale, words));
  const shown = colouring.groups.filter((group) => group.count > 0);
  // Of a long list of hops, one entry per twelfth of the ramp.
  let next = 0;
  const entries = shown.filter((group, at) => {
    const kept = group.fraction >= next || shown.length <= 12 || at === shown.length - 1;
    if (kept) next = group.fraction + 1 / 12;
    return kept;
  });
  parent.replaceChildren("hops:", ...entries.map((group) => element("span", { class: "key" }, swatch(group.colour()), group.text)));
}

// A legend that hides and shows groups, and highlights one under the pointer or focus; or limits a scale to a
// range. `changed` is called after each change.
function activeLegend(parent, colouring, changed) {
  if (colouring.scale) {
    parent.replaceChildren(...colourBar(colouring.scale), ...(colouring.values ? rangeInputs(changed) : []));
    return;
  }
  const highlight = (group) => () => {
    if (view.highlight === group) return;
    view.highlight = group;
    redraw();
  };
  const entry = (group, at) => {
    const count = element("small", {}, withSeparators(group.count));
    const attributes = { type: "button", "aria-pressed": String(!view.hidden.has(at)), title: truncated(group.text, 300),
      onpointerenter: highlight(at), onpointerleave: highlight(null), onfocus: highlight(at), onblur: highlight(null) };
    const button = element("button", attributes, swatch(group.colour()), element("span", { dir: "auto" }, truncated(group.text, 40)), " ", count);
    button.addEventListener("click", () => {
      const shown = view.hidden.delete(at) || !view.hidden.add(at);
      button.setAttribute("aria-pressed", String(shown));
      changed();
    });
    return button;
  };
  const distinct = CLASSES.light.length;
  const [first, rest] = [colouring.groups.slice(0, distinct), colouring.groups.slice(distinct)];
  const more = element("details", {}, element("summary", {}, `${withSeparators(rest.length)} more, in ${colouring.repeats ? "the same colours again" : "grey"}`),
    element("div", { class: "legend" }, ...rest.slice(0, MAX_MORE).map((group, at) => entry(group, at + distinct))));
  const all = element("button", { type: "button", onclick: () => {
    const hide = view.hidden.size < colouring.groups.length;
    view.hidden = new Set(hide ? colouring.groups.keys() : []);
    changed();
    activeLegend(parent, colouring, changed);
  } }, "all / none");
  parent.replaceChildren(...first.map(entry), ...(colouring.groups.length > 2 ? [all] : []), ...(rest.length ? [more] : []));
}

function rangeInputs(changed) {
  const input = (name, at, none) => {
    const field = element("input", { type: "number", step: "any", "aria-label": name, placeholder: name, class: "range" });
    if (view.range && Number.isFinite(view.range[at])) field.value = view.range[at];
    field.addEventListener("input", () => {
      const range = view.range ?? [-Infinity, Infinity];
      range[at] = field.value === "" ? none : Number(field.value);
      view.range = range.every((value) => !Number.isFinite(value)) ? null : range;
      changed();
    });
    return field;
  };
  return [" show from ", input("least", 0, -Infinity), " to ", input("most", 1, Infinity)];
}
