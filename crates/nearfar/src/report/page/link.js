// The view in the address of the page, so that a link restores it.

const HIDDEN_MOST = 200;

function viewText(data, colour) {
  const number = (value, digits) => String(Number(value.toFixed(digits)));
  const state = new URLSearchParams({ x: number(view.x, 5), y: number(view.y, 5), zoom: number(view.zoom, 3), map: view.layout, colour });
  if (view.selected !== null) state.set("node", rowOf(data, view.selected));
  if (view.hidden.size && view.hidden.size <= HIDDEN_MOST) state.set("hidden", [...view.hidden].join("."));
  if (view.range) state.set("range", view.range.join("~"));
  if (!view.names) state.set("names", "0");
  return state.toString();
}

// What a link asks for, as far as it is valid: a link is input.
function readView(data, text, colours) {
  const state = new URLSearchParams(text.replace(/^#/, ""));
  const number = (name, low, high) => {
    const value = Number(state.get(name));
    return state.has(name) && value >= low && value <= high ? value : undefined;
  };
  const row = number("node", 0, data.head.nodes - 1);
  const range = (state.get("range") ?? "").split("~").map(Number);
  const layouts = data.head.map.layouts.map(({ name }) => name);
  return {
    x: number("x", -1, 2), y: number("y", -1, 2), zoom: number("zoom", 0.5, MAX_ZOOM),
    layout: layouts.find((name) => name === state.get("map")),
    colour: colours.find((name) => name === state.get("colour")),
    node: Number.isInteger(row) ? nodeOfRow(data, row) : null,
    hidden: (state.get("hidden") ?? "").split(".").filter(Boolean).map(Number).filter((group) => Number.isInteger(group) && group >= 0 && group < NO_GROUP),
    range: state.has("range") && range.length === 2 && range.every((value) => !Number.isNaN(value)) ? range : null,
    names: state.get("names") !== "0",
  };
}
