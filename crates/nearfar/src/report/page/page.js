// The page: fills in the data and handles user input.

const find = (id) => document.getElementById(id);

function start(data) {
  const { head } = data;
  document.title = `${truncated(head.title, 80)} – nearfar`;
  find("title").textContent = truncated(head.title, 200);
  find("version").textContent = head.version;
  find("summary").textContent = summaryText(head);
  find("facts").append(...facts(head).map(([name, value, explanation]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value, element("small", {}, explanation)))));
  find("main").hidden = false;
  find("numbers").append(...numberCards(head));
  find("settings").append(...settingCards(head));
  find("notes").append(...notes(data).map((note) => element("li", {}, note)));

  const options = { onSelect: select, onHover: hover };
  const main = new PointMap(find("map"), data, { ...options, filtered: true });
  const hopsMap = data.graph ? new PointMap(find("hops-map"), data, options) : null;
  const similarityMap = new PointMap(find("similarity-map"), data, options);
  find("hops-figure").hidden = !data.graph;
  let selection = null;

  const colourings = [
    data.labels && ["label", "label", byClass],
    data.graph && ["degree", "degree", byDegree],
    data.graph && ["component", "component", byComponent],
    data.graph && ["community", "community", byCommunity],
  ].filter(Boolean);
  fill(find("colour"), colourings.length ? colourings : [["none", "none", null]]);
  fill(find("layout"), [["tsne", "t-SNE"], ["pca", "PCA"]]);
  find("colour").addEventListener("change", recolour);
  find("layout").addEventListener("change", (event) => {
    view.layout = event.target.value;
    resetView();
  });
  find("similarity").addEventListener("change", showSelection);
  find("zoom-in").addEventListener("click", () => zoomBy(1.6));
  find("zoom-out").addEventListener("click", () => zoomBy(1 / 1.6));
  find("zoom-all").addEventListener("click", resetView);
  searchBox(data, (node) => {
    select(node);
    find("selected").scrollIntoView({ block: "nearest" });
  });

  const theme = () => {
    recolour();
    showSelection();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme);
  for (const [event, on] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(event, () => {
      printing = on;
      theme();
      for (const map of maps) map.draw();
    });
  }

  // Colourings are cached, because communities take a moment to compute.
  const cache = new Map();
  function recolour() {
    const option = colourings.find(([name]) => name === find("colour").value);
    view.hidden.clear();
    const plain = { of: new Uint16Array(data.nodes), groups: [], colour: () => rgb(themed(CLASSES)[0]) };
    if (option && !cache.has(option[0])) cache.set(option[0], option[2](data));
    const colouring = option ? cache.get(option[0]) : plain;
    main.set(colouring, `Map of ${withSeparators(data.nodes)} nodes${option ? `, coloured by ${option[1]}` : ""}`);
    legend(find("legend"), colouring, true);
  }

  function select(node) {
    view.selected = node;
    selection = selectionOf(data, node);
    showSelection();
  }

  function showSelection() {
    if (!selection) return;
    const { node, hops, similarities } = selection;
    const exact = head.similarity.error < 0.004;
    const digits = exact ? 3 : 2;
    const values = similarities[find("similarity").value];
    const text = (value) => value.toFixed(2).replace("-", "−");
    if (hops) {
      const colouring = byHops(hops);
      hopsMap.set(colouring, `Map coloured by hops from ${truncated(idOf(data, node))}`);
      legend(find("hops-legend"), colouring, false);
    }
    const colouring = bySimilarity(values, text);
    similarityMap.set(colouring, `Map coloured by similarity to ${truncated(idOf(data, node))}`);
    legend(find("similarity-legend"), colouring, false, "similar", "dissimilar");
    const [most, least] = extremes(values, node, 10);
    find("near-cards").replaceChildren(
      nodeTable("Most similar", data, most, values, selection, digits, select),
      nodeTable("Least similar", data, least, values, selection, digits, select),
      ...(selection.curve?.length ? [curveChart(data, selection)] : []));
    const label = labelOf(data, node);
    const reached = hops ? hops.reduce((count, hop) => count + (hop > 0), 0) : 0;
    const details = [
      label && `label ${truncated(label)}`,
      data.graph && `${withSeparators(degree(data.graph, node))} neighbours`,
      hops && `${withSeparators(reached)} reachable nodes, the farthest at ${hops.reduce((a, b) => Math.max(a, b), 0)} hops`,
    ].filter(Boolean);
    find("selected").replaceChildren("Node ",
      element("span", { class: "name", dir: "auto" }, truncated(idOf(data, node), 300)),
      details.length ? `: ${details.join("; ")}.` : ".");
    find("selected").dataset.node = node;
    redraw();
  }

  function hover(node, event) {
    const tip = find("tip");
    tip.hidden = node === null;
    if (node === null) return;
    const label = labelOf(data, node);
    const more = selection && node !== selection.node
      ? [selection.hops && hopText(selection.hops[node]), `cosine ${selection.similarities.cosine[node].toFixed(2).replace("-", "−")}`] : [];
    tip.textContent = [truncated(idOf(data, node), 80), truncated(label, 60), ...more].filter(Boolean).join(" · ");
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    tip.style.transform = `translate(${left}px, ${event.clientY + 16}px)`;
  }

  recolour();
  select(initialNode(data));
  document.documentElement.dataset.ready = "true";
  // For tests and the browser console.
  globalThis.nearfar = { data, view, maps: { main, hops: hopsMap, similarity: similarityMap }, select, selection: () => selection };
}

// The node selected at first: of high degree but not a hub, or without a graph that of the largest norm.
function initialNode(data) {
  const limit = Math.max(50, Math.sqrt(data.nodes));
  const weight = data.graph
    ? (node) => (degree(data.graph, node) <= limit ? degree(data.graph, node) : 0)
    : (node) => data.norms[node];
  let best = 0;
  for (let node = 1; node < data.nodes; node++) if (weight(node) > weight(best)) best = node;
  return best;
}

function notes(data) {
  const { head } = data;
  const { dims, error } = head.similarity;
  const reduced = dims < head.dim ? `, reduced to ${dims} principal directions` : "";
  const list = [
    `Similarities on this page are computed from vectors quantised to 8 bits${reduced}: 95 % of cosines are within ${error < 1e-4 ? "0.0001" : formatNumber(error, 2)} of the exact ones.`,
  ];
  if (head.map.fitted < head.shown) {
    list.push(`t-SNE ran on a random sample of ${withSeparators(head.map.fitted)} nodes; the other ${withSeparators(head.shown - head.map.fitted)} are interpolated from their most similar sampled nodes.`);
  }
  if (head.several_labels) list.push("Nodes with several labels have the colour of the first one.");
  list.push("t-SNE preserves neighbourhoods; large distances on its map mean little.");
  return [...list, ...head.notes];
}

function fill(select, options) {
  select.append(...options.map(([value, text]) => element("option", { value }, text)));
}

// The legend of a colouring; with `filters`, clicking an entry hides or shows its group.
function legend(parent, colouring, filters, high, low) {
  const swatch = (colour) => {
    const dot = element("i");
    dot.style.background = `rgb(${colour.join(" ")})`;
    return dot;
  };
  if (colouring.scale) {
    const bar = element("canvas", { width: 128, height: 1, role: "img", "aria-label": "colour scale" });
    const context = bar.getContext("2d");
    for (let x = 0; x < 128; x++) {
      context.fillStyle = `rgb(${colouring.scale.at(x / 127).join(" ")})`;
      context.fillRect(x, 0, 1, 1);
    }
    const [from, to] = [colouring.scale.low, colouring.scale.high];
    parent.replaceChildren(high ? `${high}, ${from}` : from, bar, low ? `${to}, ${low}` : to);
    return;
  }
  const entry = (group, at) => {
    const text = [swatch(group.colour()), truncated(group.text, 40)];
    if (!filters) return element("span", { class: "key" }, ...text);
    text.push(" ", element("small", {}, withSeparators(group.count)));
    const button = element("button", { type: "button", "aria-pressed": "true", title: truncated(group.text, 300) }, ...text);
    button.addEventListener("click", () => {
      const shown = view.hidden.delete(at) || !view.hidden.add(at);
      button.setAttribute("aria-pressed", String(shown));
      redraw();
    });
    return button;
  };
  const shown = colouring.groups.map((group, at) => [group, at]).filter(([group]) => group.count > 0);
  // Of a long list of hops, show one entry per twelfth of the ramp.
  let next = 0;
  const entries = filters ? shown : shown.filter(([group], at) => {
    const kept = group.fraction >= next || shown.length <= 12 || at === shown.length - 1;
    if (kept) next = group.fraction + 1 / 12;
    return kept;
  });
  parent.replaceChildren(...(filters ? [] : ["hops:"]), ...entries.map(([group, at]) => entry(group, at)));
}

// Search for nodes by id: exact matches first, then prefixes, then substrings.
function searchBox(data, select) {
  const [input, list] = [find("search"), find("found")];
  let [nodes, active] = [[], -1];
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const take = (node) => {
    input.value = truncated(idOf(data, node));
    close();
    select(node);
  };
  const mark = (at) => {
    active = at;
    [...list.children].forEach((item, index) => item.setAttribute("aria-selected", String(index === at)));
    if (at >= 0) {
      input.setAttribute("aria-activedescendant", `found-${at}`);
      list.children[at].scrollIntoView({ block: "nearest" });
    }
  };
  input.addEventListener("input", () => {
    nodes = matches(data, input.value.trim(), 12);
    list.replaceChildren(...nodes.map((node, at) =>
      element("li", { role: "option", id: `found-${at}`, onpointerdown: (event) => { event.preventDefault(); take(node); } },
        element("span", { class: "name", dir: "auto" }, truncated(idOf(data, node))), " ", element("span", {}, truncated(labelOf(data, node), 40)))));
    list.hidden = nodes.length === 0;
    input.setAttribute("aria-expanded", String(nodes.length > 0));
    mark(nodes.length ? 0 : -1);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && nodes[active] !== undefined) take(nodes[active]);
    else if (event.key === "Escape") close();
    else if (event.key === "ArrowDown" && nodes.length) mark((active + 1) % nodes.length);
    else if (event.key === "ArrowUp" && nodes.length) mark((active + nodes.length - 1) % nodes.length);
    else return;
    event.preventDefault();
  });
  input.addEventListener("blur", close);
}

function matches(data, text, limit) {
  if (!text) return [];
  const query = text.toLowerCase();
  const ranks = [[], [], []];
  for (let node = 0; node < data.nodes; node++) {
    const at = idOf(data, node).toLowerCase().indexOf(query);
    if (at < 0) continue;
    const rank = at > 0 ? 2 : idOf(data, node).length === text.length ? 0 : 1;
    if (ranks[rank].length < limit) ranks[rank].push(node);
  }
  return ranks.flat().slice(0, limit);
}

try {
  start(await unpack(find("data").textContent));
} catch (error) {
  find("summary").textContent = `This page cannot be shown: ${error.message}. It needs a browser from 2023 or later.`;
  throw error;
}
