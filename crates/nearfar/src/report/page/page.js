// The page: fills in the data and handles user input.

function start(data) {
  const { head } = data;
  document.title = `${truncated(head.title, 80)} – nearfar`;
  find("title").textContent = truncated(head.title, 200);
  find("version").textContent = head.version;
  find("summary").textContent = summaryText(head);
  find("sample").textContent = sampleText(head);
  find("sample").hidden = !find("sample").textContent;
  find("facts").append(...facts(head).map(([name, value, explanation]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value, element("small", {}, explanation)))));
  find("main").hidden = false;
  find("numbers").append(...numberCards(head));
  find("numbers").parentElement.hidden = !find("numbers").firstChild;
  find("settings").append(...settingCards(head));
  find("notes").append(...notes(data).map((note) => element("li", {}, note)));

  const options = { onSelect: select, onHover: hover, onArea: showArea };
  const main = new PointMap(find("map"), data, { ...options, filtered: true });
  const hasHops = Boolean(data.graph || data.index);
  const hopsMap = hasHops ? new PointMap(find("hops-map"), data, options) : null;
  const similarityMap = new PointMap(find("similarity-map"), data, options);
  const colourBoth = head.against ? startComparison(data, null, options) : null;
  find("hops-figure").hidden = !hasHops;
  if (data.index) find("hops-title").textContent = "Distance: hops in the graph, estimated";
  else if (head.directed) find("hops-title").textContent = "Distance: hops along the edges from the node";
  let selection = null;
  let colouring = null;

  // Colourings are cached, because large columns take a moment.
  const cache = new Map();
  const colourings = data.columns.map((column, at) => [`${at}`, truncated(column.name, 40), column]).filter(([, , { kind }]) => kind !== "texts");
  const choices = [...colourings.map(([value, name]) => [value, name]), ...(hasHops ? [["hops", "hops from the selected node"]] : []), ...(colourings.length ? [] : [["none", "nothing"]])];
  fill(find("colour"), choices);
  fill(find("layout"), head.map.layouts.map(({ name, title }) => [name, title]));
  restore(readView(data, location.hash, choices.map(([value]) => value)), true);

  find("colour").addEventListener("change", () => {
    Object.assign(view, { hidden: new Set(), range: null, highlight: null });
    recolour();
    moved();
  });
  find("layout").addEventListener("change", (event) => {
    Object.assign(view, { layout: event.target.value, area: null });
    showArea(null);
    describeLayout();
    resetView();
  });
  find("names").addEventListener("change", (event) => {
    view.names = event.target.checked;
    moved();
  });
  find("similarity").addEventListener("change", showSelection);
  find("zoom-in").addEventListener("click", () => zoomBy(1.6));
  find("zoom-out").addEventListener("click", () => zoomBy(1 / 1.6));
  find("zoom-all").addEventListener("click", resetView);
  find("lasso").addEventListener("click", () => setLasso(!view.lasso));
  find("area-in-view").addEventListener("click", () => {
    const { outline, nodes } = areaInView(main);
    view.area = { outline };
    showArea(nodes);
  });
  find("area-clear").addEventListener("click", () => showArea(null));
  const fileName = (head.title.replace(/[^\w.-]+/g, "-").slice(0, 60) || "map").replace(/^\.+/, "");
  find("png").addEventListener("click", () => downloadPng(main, fileName));
  find("svg").addEventListener("click", () => download(`${fileName}.svg`, new Blob([svgOf(main)], { type: "image/svg+xml" })));
  find("area-csv").addEventListener("click", () => download(`${fileName}.csv`, new Blob([csvOf(data, view.area.nodes)], { type: "text/csv" })));
  find("link").addEventListener("click", copyLink);
  document.addEventListener("settled", () => history.replaceState(null, "", `#${viewText(data, find("colour").value)}`));
  addEventListener("hashchange", () => restore(readView(data, location.hash, choices.map(([value]) => value)), false));
  searchBox(data, (node) => {
    select(node);
    show(node);
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

  function restore(wanted, first) {
    const known = Object.fromEntries(Object.entries(wanted).filter(([name, value]) => value !== undefined && ["x", "y", "zoom"].includes(name)));
    Object.assign(view, known, { layout: wanted.layout ?? (first ? head.map.layouts[0].name : view.layout), hidden: new Set(wanted.hidden), range: wanted.range, names: wanted.names });
    find("layout").value = view.layout;
    find("names").checked = view.names;
    if (wanted.colour) find("colour").value = wanted.colour;
    describeLayout();
    recolour();
    const node = wanted.node ?? (first ? initialNode(data) : null);
    if (node !== null) select(node);
  }

  function describeLayout() {
    shapeMaps(data);
    const { detail, title } = head.map.layouts.find(({ name }) => name === view.layout);
    find("map-note").textContent = `${title}, ${detail}.`;
  }

  function colouringOf(choice) {
    if (choice === "hops") return selection ? byHops(selection.hops) : plain(data.nodes);
    const option = colourings.find(([value]) => value === choice);
    if (!option) return plain(data.nodes);
    if (!cache.has(choice)) cache.set(choice, byColumn(option[2]));
    return cache.get(choice);
  }

  function recolour() {
    const choice = find("colour").value;
    colouring = colouringOf(choice);
    const name = find("colour").selectedOptions[0]?.textContent;
    const label = `Map of ${withSeparators(data.nodes)} nodes, coloured by ${name}`;
    main.set(colouring, label);
    colourBoth?.(colouring);
    if (colouring.hops) plainLegend(find("legend"), colouring);
    else activeLegend(find("legend"), colouring, filtered);
  }

  function filtered() {
    main.refilter();
    moved();
  }

  function select(node) {
    view.selected = node;
    selection = selectionOf(data, node);
    if (find("colour").value === "hops") recolour();
    showSelection();
    moved();
  }

  // Moves the view so that a node is in it.
  function show(node) {
    const { x, y } = main.pixelOf(node);
    if (x >= 0 && y >= 0 && x <= main.canvas.width && y <= main.canvas.height) return;
    Object.assign(view, { x: main.positions[2 * node] / 65535, y: main.positions[2 * node + 1] / 65535 });
    moved();
  }

  function showSelection() {
    if (!selection) return;
    const { node, hops, similarities } = selection;
    const exact = head.similarity.error < 0.004;
    const digits = exact ? 3 : 2;
    const values = similarities[find("similarity").value];
    if (hops) {
      const byHop = byHops(hops);
      hopsMap.set(byHop, `Map coloured by hops from ${truncated(idOf(data, node))}`);
      plainLegend(find("hops-legend"), byHop);
    }
    const bySimilar = bySimilarity(values);
    similarityMap.set(bySimilar, `Map coloured by similarity to ${truncated(idOf(data, node))}`);
    plainLegend(find("similarity-legend"), bySimilar, ["similar:", ", dissimilar"]);
    const [most, least] = extremes(values, node, 10);
    find("near-cards").replaceChildren(
      nodeTable("Most similar", data, most, values, selection, digits, select),
      nodeTable("Least similar", data, least, values, selection, digits, select),
      ...(selection.curve?.length ? [curveChart(data, selection)] : []));
    if (head.against) find("kept-cards").replaceChildren(...keptCards(data, node, select));
    const reached = hops ? hops.reduce((count, hop) => count + (hop > 0), 0) : 0;
    const details = [
      ...data.columns.map((column) => [truncated(column.name, 40), truncated(valueText(column, node))]).filter(([, text]) => text).map(([name, text]) => (text.startsWith(name) ? text : `${name} ${text}`)),
      hops && `${withSeparators(reached)} reachable nodes${head.shown < head.nodes ? " on the map" : ""}, the farthest at ${withSeparators(hops.reduce((a, b) => Math.max(a, b), 0))} hops`,
    ].filter(Boolean);
    find("selected").replaceChildren("Node ",
      element("span", { class: "name", dir: "auto" }, truncated(idOf(data, node), 300)),
      details.length ? `: ${details.join("; ")}.` : ".");
    find("selected").dataset.node = node;
    const coarse = head.similarity.error > 0.05 ? " Nodes whose similarities differ by less are in no certain order; nearfar neighbors lists the exact ones." : "";
    find("near-note").textContent = exact ? "" : `Similarities on this page are approximate: 95 % of cosines are within ${formatNumber(head.similarity.error, 2)}.${coarse}`;
    redraw();
  }

  function setLasso(on) {
    view.lasso = on;
    find("lasso").setAttribute("aria-pressed", String(on));
    main.canvas.classList.toggle("lasso", on);
  }

  // Lists the nodes of the outlined area; without nodes, removes it.
  function showArea(nodes) {
    setLasso(false);
    find("area").hidden = !nodes;
    if (!nodes) view.area = null;
    else {
      Object.assign(view.area, { nodes, layout: view.layout });
      find("area-count").textContent = `${withSeparators(nodes.length)} nodes in the area.`;
      find("area-csv").disabled = nodes.length === 0;
      find("area-cards").replaceChildren(...areaCards(data, nodes, colouring, select));
    }
    redraw();
  }

  async function copyLink() {
    history.replaceState(null, "", `#${viewText(data, find("colour").value)}`);
    let said = "The address of the page now restores this view.";
    try {
      await navigator.clipboard.writeText(location.href);
      said = "Link copied.";
    } catch { /* Without permission, the address has it. */ }
    find("link-note").textContent = said;
  }

  function hover(node, event) {
    const tip = find("tip");
    tip.hidden = node === null;
    if (node === null) return;
    const group = colouring.groups?.[colouring.of[node]]?.text;
    const more = selection && node !== selection.node
      ? [selection.hops && hopText(selection.hops[node]), `cosine ${signed(selection.similarities.cosine[node])}`] : [];
    const texts = [idOf(data, node), labelOf(data, node), group === labelOf(data, node) || colouring.hops ? "" : group];
    tip.textContent = [...texts.map((text) => truncated(text ?? "", 80)), ...more].filter(Boolean).join(" · ");
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    tip.style.transform = `translate(${left}px, ${event.clientY + 16}px)`;
  }

  document.documentElement.dataset.ready = "true";
  performance.mark("ready");
  // For tests and the browser console.
  globalThis.nearfar = { data, view, maps: { main, hops: hopsMap, similarity: similarityMap }, all: maps, select, showArea, selection: () => selection, svg: () => svgOf(main), csv: (nodes) => csvOf(data, nodes), sentences: { carried, courseSentence, courseCaption, trainingCaption }, palettes: { CLASSES, DIVERGING, SEQUENTIAL } };
}

// The node selected at first: of high degree but not a hub, or without a graph that of the largest norm.
function initialNode(data) {
  const limit = Math.max(50, Math.sqrt(data.nodes));
  const degrees = data.columns.find((column) => column.name === "degree" && column.kind === "numbers")?.values;
  const weight = degrees && (data.graph || data.index)
    ? (node) => (degrees[node] <= limit ? degrees[node] : 0)
    : (node) => data.own.norms[node];
  let best = 0;
  for (let node = 1; node < data.nodes; node++) if (weight(node) > weight(best)) best = node;
  return best;
}

function sampleText({ nodes, shown, covered }) {
  if (shown === nodes) return "";
  const chosen = covered === null ? "a random sample" : `a sample chosen for coverage: ${formatNumber(100 * covered)} % of all nodes are on the map or next to a node that is`;
  return `The map shows ${withSeparators(shown)} of ${withSeparators(nodes)} nodes, ${chosen}. Statistics and scores are of all nodes. Search finds the ids of all, and says which are not on the map.`;
}

function notes(data) {
  const { head } = data;
  const { dims, error } = head.similarity;
  const reduced = dims < head.dim ? `, reduced to ${dims} principal directions` : "";
  const list = [
    `Similarities on this page are computed from vectors quantised to 8 bits${reduced}: 95 % of cosines are within ${error < 1e-4 ? "0.0001" : formatNumber(error, 2)} of the exact ones.`,
  ];
  if (data.index) {
    const { chosen, exact, within_one: withinOne, mean_error: mean } = data.index;
    const reason = head.shown < head.nodes ? "The map shows a part of the nodes" : "The graph has too many edges for one page";
    list.push(`${reason}: hops from the selected node are estimated from the distances of ${chosen} nodes to all others. Of random pairs, ${formatNumber(100 * exact)} % are exact and ${formatNumber(100 * withinOne)} % within one hop; the mean error is ${formatNumber(mean, 2)} hops.`);
  }
  if (head.several_labels) list.push("Nodes with several labels have the colour of the first one.");
  list.push("t-SNE preserves neighbourhoods; large distances on its map mean little.");
  return [...list, ...head.notes];
}

function fill(select, options) {
  select.append(...options.map(([value, text]) => element("option", { value }, text)));
}

try {
  start(await unpack(find("data").textContent));
} catch (error) {
  find("summary").textContent = `This page cannot be shown: ${error.message}. It needs a browser from 2023 or later.`;
  throw error;
}
