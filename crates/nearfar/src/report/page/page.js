// The page: fills in what is there, and does what people ask of it.

const find = (id) => document.getElementById(id);

function start(data) {
  const { head } = data;
  document.title = `${short(head.title, 80)} – nearfar`;
  find("title").textContent = short(head.title, 200);
  find("version").textContent = head.version;
  find("summary").textContent = summaryText(head);
  find("facts").append(...facts(head).map(([name, value, meaning]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value, element("small", {}, meaning)))));
  find("main").hidden = false;
  find("numbers").append(...numberCards(head));
  find("settings").append(...settingCards(head));
  find("notes").append(...notes(data).map((note) => element("li", {}, note)));

  const options = { onChoose: choose, onHover: hover };
  const main = new PointMap(find("map"), data, { ...options, filtered: true });
  const byHop = data.graph ? new PointMap(find("hops-map"), data, options) : null;
  const alike = new PointMap(find("similarity-map"), data, options);
  find("hops-figure").hidden = !data.graph;
  let seen = null;

  const colourings = [
    data.labels && ["label", "label", byClass],
    data.graph && ["degree", "degree", byDegree],
    data.graph && ["component", "component", byComponent],
    data.graph && ["community", "community", byCommunity],
  ].filter(Boolean);
  fill(find("colour"), colourings.length ? colourings : [["none", "nothing", null]]);
  fill(find("layout"), [["tsne", "t-SNE: neighbours stay neighbours"], ["pca", "PCA: the widest view"]]);
  find("colour").addEventListener("change", recolour);
  find("layout").addEventListener("change", (event) => {
    view.layout = event.target.value;
    showAll();
  });
  find("similarity").addEventListener("change", showNear);
  find("zoom-in").addEventListener("click", () => zoomBy(1.6));
  find("zoom-out").addEventListener("click", () => zoomBy(1 / 1.6));
  find("zoom-all").addEventListener("click", showAll);
  searchBox(data, (node) => {
    choose(node);
    find("selected").scrollIntoView({ block: "nearest" });
  });

  const theme = () => {
    recolour();
    showNear();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme);
  for (const [event, on] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(event, () => {
      printing = on;
      theme();
      for (const map of maps) map.draw();
    });
  }

  // Ways of colouring that were chosen before are remembered: communities take a moment to find.
  const found = new Map();
  function recolour() {
    const way = colourings.find(([name]) => name === find("colour").value);
    view.hidden.clear();
    const plain = { of: new Uint16Array(data.nodes), groups: [], colour: () => rgb(themed(CLASSES)[0]) };
    if (way && !found.has(way[0])) found.set(way[0], way[2](data));
    const colouring = way ? found.get(way[0]) : plain;
    main.set(colouring, `Map of ${grouped(data.nodes)} nodes${way ? `, coloured by ${way[1]}` : ""}`);
    legend(find("legend"), colouring, true);
  }

  function choose(node) {
    view.chosen = node;
    seen = lookAt(data, node);
    showNear();
  }

  function showNear() {
    if (!seen) return;
    const { node, hops, measures } = seen;
    const way = find("similarity").value;
    const exact = head.similarity.error < 0.004;
    const digits = exact ? 3 : 2;
    const values = measures[way];
    const text = (value) => value.toFixed(2).replace("-", "−");
    if (hops) {
      const colouring = byHops(hops);
      byHop.set(colouring, `Map coloured by hops from ${short(nameOf(data, node))}`);
      legend(find("hops-legend"), colouring, false);
    }
    const colouring = bySimilarity(values, text);
    alike.set(colouring, `Map coloured by similarity to ${short(nameOf(data, node))}`);
    legend(find("similarity-legend"), colouring, false, "alike", "unlike");
    const [most, least] = extremes(values, node, 10);
    find("near-cards").replaceChildren(
      listing("Most alike", data, most, values, seen, digits, choose),
      listing("Least alike", data, least, values, seen, digits, choose),
      ...(seen.curve?.length ? [curveChart(data, seen)] : []));
    const label = labelOf(data, node);
    const reached = hops ? hops.reduce((count, hop) => count + (hop > 0), 0) : 0;
    const about = [
      label && `label ${short(label)}`,
      data.graph && `${grouped(degree(data.graph, node))} neighbours`,
      hops && `${grouped(reached)} nodes in reach, the farthest ${hops.reduce((a, b) => Math.max(a, b), 0)} hops away`,
    ].filter(Boolean);
    find("selected").replaceChildren("Node ",
      element("span", { class: "name", dir: "auto" }, short(nameOf(data, node), 300)),
      about.length ? `: ${about.join("; ")}.` : ".");
    find("selected").dataset.node = node;
    redraw();
  }

  function hover(node, event) {
    const tip = find("tip");
    tip.hidden = node === null;
    if (node === null) return;
    const label = labelOf(data, node);
    const more = seen && node !== seen.node
      ? [seen.hops && hopText(seen.hops[node]), `cosine ${seen.measures.cosine[node].toFixed(2).replace("-", "−")}`] : [];
    tip.textContent = [short(nameOf(data, node), 80), short(label, 60), ...more].filter(Boolean).join(" · ");
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    tip.style.transform = `translate(${left}px, ${event.clientY + 16}px)`;
  }

  recolour();
  choose(firstChoice(data));
  document.documentElement.dataset.ready = "true";
  // For tests and the curious.
  globalThis.nearfar = { data, view, maps: { main, byHop, alike }, choose, seen: () => seen };
}

// A node with many neighbours, but no hub of all; or the longest vector: there is much to see of it.
function firstChoice(data) {
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
  const kept = dims < head.dim ? ` in the ${dims} directions in which they differ most` : "";
  const list = [
    `Similarities on this page are computed from vectors of small integers${kept}: 95 % of cosines are within ${error < 1e-4 ? "0.0001" : figure(error, 2)} of the true ones.`,
  ];
  if (head.map.fitted < head.shown) {
    list.push(`t-SNE placed ${grouped(head.map.fitted)} random nodes; the other ${grouped(head.shown - head.map.fitted)} are put among those that are most like them.`);
  }
  if (head.several_labels) list.push("Nodes with several labels have the colour of their first.");
  list.push("On a map by t-SNE, neighbours mean something; distances across it mean little.");
  return [...list, ...head.notes];
}

function fill(select, options) {
  select.append(...options.map(([value, text]) => element("option", { value }, text)));
}

// What colours mean. Groups can be hidden and shown where that is wanted.
function legend(place, colouring, filters, high, low) {
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
    place.replaceChildren(high ? `${high}, ${from}` : from, bar, low ? `${to}, ${low}` : to);
    return;
  }
  const entry = (group, at) => {
    const text = [swatch(group.colour()), short(group.text, 40)];
    if (!filters) return element("span", { class: "key" }, ...text);
    text.push(" ", element("small", {}, grouped(group.count)));
    const button = element("button", { type: "button", "aria-pressed": "true", title: short(group.text, 300) }, ...text);
    button.addEventListener("click", () => {
      const shown = view.hidden.delete(at) || !view.hidden.add(at);
      button.setAttribute("aria-pressed", String(shown));
      redraw();
    });
    return button;
  };
  const shown = colouring.groups.map((group, at) => [group, at]).filter(([group]) => group.count > 0);
  // A long list of hops: one of every twelfth of the ramp.
  let next = 0;
  const chosen = filters ? shown : shown.filter(([group], at) => {
    const kept = group.share >= next || shown.length <= 12 || at === shown.length - 1;
    if (kept) next = group.share + 1 / 12;
    return kept;
  });
  place.replaceChildren(...(filters ? [] : ["hops:"]), ...chosen.map(([group, at]) => entry(group, at)));
}

// Finding nodes by their ids: those that are the text, begin with it, contain it.
function searchBox(data, choose) {
  const [input, list] = [find("search"), find("found")];
  let [nodes, active] = [[], -1];
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const take = (node) => {
    input.value = short(nameOf(data, node));
    close();
    choose(node);
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
        element("span", { class: "name", dir: "auto" }, short(nameOf(data, node))), " ", element("span", {}, short(labelOf(data, node), 40)))));
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

function matches(data, text, most) {
  if (!text) return [];
  const wanted = text.toLowerCase();
  const ranks = [[], [], []];
  for (let node = 0; node < data.nodes; node++) {
    const at = nameOf(data, node).toLowerCase().indexOf(wanted);
    if (at < 0) continue;
    const rank = at > 0 ? 2 : nameOf(data, node).length === text.length ? 0 : 1;
    if (ranks[rank].length < most) ranks[rank].push(node);
  }
  return ranks.flat().slice(0, most);
}

try {
  start(await unpack(find("data").textContent));
} catch (error) {
  find("summary").textContent = `This page cannot be shown: ${error.message}. It takes a browser of 2023 or later.`;
  throw error;
}
