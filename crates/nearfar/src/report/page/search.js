// Search for nodes by id: exact matches first, then prefixes, then other places. Ids of all nodes are found;
// those of nodes that are not on the map are said to be so.

const FOUND_MOST = 12;

// The rows of all ids in one text, in lower case; a row's id starts after starts[row].
function idText(data) {
  return (data.idText ??= (() => {
    const list = data.names.map((id) => id.toLowerCase().replaceAll("\n", " "));
    const starts = new Uint32Array(list.length + 1);
    list.forEach((id, row) => (starts[row + 1] = starts[row] + id.length + 1));
    return { text: `\n${list.join("\n")}\n`, starts };
  })());
}

// Matches: { row, node }, where the node is null if it is not on the map.
function matches(data, query) {
  const wanted = query.toLowerCase().replaceAll("\n", " ");
  if (!wanted) return [];
  const rows = data.names ? matchingNames(idText(data), wanted) : matchingNumbers(data.head.nodes, query);
  return rows.map((row) => ({ row, node: data.head.only_shown_ids ? row : nodeOfRow(data, row) }));
}

function matchingNames({ text, starts }, wanted) {
  const rowAt = (place) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle] <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  const rows = new Set();
  for (const pattern of [`\n${wanted}\n`, `\n${wanted}`, wanted]) {
    // Several places of one row are one match.
    for (let at = text.indexOf(pattern); at >= 0 && rows.size < FOUND_MOST; at = text.indexOf(pattern, at + 1)) {
      rows.add(rowAt(Math.max(0, at - (pattern[0] === "\n" ? 0 : 1))));
    }
  }
  return [...rows];
}

// Without names, ids are 0, 1, 2, …: the number, those that begin with it, and those that hold it.
function matchingNumbers(count, query) {
  if (!/^\d{1,10}$/.test(query)) return [];
  const rows = new Set();
  const add = (row) => row < count && rows.size < FOUND_MOST && rows.add(row);
  if (String(Number(query)) === query) {
    add(Number(query));
    for (let digits = 1, power = 10; digits < 10; digits++, power *= 10) {
      for (let at = 0; query !== "0" && at < Math.min(power, FOUND_MOST); at++) add(Number(query) * power + at);
    }
  }
  for (let row = 0; row < Math.min(count, 100000) && rows.size < FOUND_MOST; row++) if (String(row).includes(query)) rows.add(row);
  return [...rows];
}

function searchBox(data, select) {
  const [input, list, note] = [find("search"), find("found"), find("search-note")];
  let [found, active] = [[], -1];
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const idOfRow = (row) => (data.names ? data.names[row] : String(row));
  const say = (text) => {
    note.textContent = text;
    note.hidden = !text;
  };
  const take = ({ row, node }) => {
    input.value = truncated(idOfRow(row));
    close();
    say(node === null ? `Node ${truncated(idOfRow(row))} is in the graph, but not in the sample on the map.` : "");
    if (node !== null) select(node);
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
    const query = input.value.trim();
    found = matches(data, query);
    list.replaceChildren(...found.map(({ row, node }, at) =>
      element("li", { role: "option", id: `found-${at}`, onpointerdown: (event) => { event.preventDefault(); take(found[at]); } },
        element("span", { class: "name", dir: "auto" }, truncated(idOfRow(row))), " ",
        element("span", { class: "label" }, node === null ? "not on the map" : truncated(labelOf(data, node), 40)))));
    list.hidden = found.length === 0;
    input.setAttribute("aria-expanded", String(found.length > 0));
    say(query && !found.length ? "No node has such an id." : "");
    mark(found.length ? 0 : -1);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && found[active] !== undefined) take(found[active]);
    else if (event.key === "Escape") close();
    else if (event.key === "ArrowDown" && found.length) mark((active + 1) % found.length);
    else if (event.key === "ArrowUp" && found.length) mark((active + found.length - 1) % found.length);
    else return;
    event.preventDefault();
  });
  input.addEventListener("blur", close);
}
