// Colours that people of every colour vision can tell apart.

const isDark = () => !printing && matchMedia("(prefers-color-scheme: dark)").matches;
let printing = false;

// Okabe and Ito's colours, black left out, a little darker where they have to stand out on white.
const CLASSES = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e0a100", "#3fa7dc", "#7a4bc4", "#8c6d31", "#5a6270"],
  dark: ["#4fa3e0", "#f08a3c", "#2ec49a", "#e59cc4", "#f0c53a", "#8fd3f7", "#b08cf0", "#c2a365", "#9aa3b2"],
};
const GREY = { light: "#b4b2ac", dark: "#565c68" };
// From near and alike, warm, to far and unlike, cold.
const RAMP = {
  light: ["#a62a00", "#dd6b20", "#e9b872", "#b9c3bd", "#6fa8d6", "#2f6fb8", "#173f7a"],
  dark: ["#ffb184", "#f0763a", "#c27d5d", "#8f8b89", "#5f93c4", "#5aa3ee", "#bcdcff"],
};
// For amounts: from few, pale, to many, strong.
const AMOUNT = {
  light: ["#c9d3dc", "#8fb8cf", "#4d94b8", "#1f6a96", "#0d3f66", "#071d33"],
  dark: ["#39424e", "#3b6a86", "#4596b8", "#6cc0d8", "#b0e4ea", "#f4fbf0"],
};

// Lines and letters around the dots.
const INK = {
  light: { edge: "#1d1f2418", spoke: "#1d1f2460", text: "#1d1f24", halo: "#ffffff" },
  dark: { edge: "#eceae518", spoke: "#eceae566", text: "#eceae5", halo: "#1c1f25" },
};

const themed = (colours) => (isDark() ? colours.dark : colours.light);

function rgb(hex) {
  const number = parseInt(hex.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

// The colour at a share of a ramp, from 0 to 1.
function along(ramp, share) {
  const at = Math.max(0, Math.min(1, share)) * (ramp.length - 1);
  const low = Math.min(ramp.length - 2, Math.floor(at));
  const [a, b] = [rgb(ramp[low]), rgb(ramp[low + 1])];
  return a.map((x, channel) => Math.round(x + (b[channel] - x) * (at - low)));
}

// A colouring says for every node which of its groups it is in (`of`), what each group's colour is
// (`colour`, by theme), and what the legend says of it: `groups` that can be hidden, or a `scale`.

function byClass(data) {
  return byGroups(data.labels, data.head.labels, NO_LABEL, "no label");
}

const byComponent = (data) => byParts(components(data.graph), "component");

const byCommunity = (data) => byParts(communities(data.graph), "community");

// The parts of a graph, counted from the largest on.
function byParts(of, kind) {
  const sizes = [];
  for (const part of of) sizes[part] = (sizes[part] ?? 0) + 1;
  const order = [...sizes.keys()].sort((a, b) => sizes[b] - sizes[a] || a - b);
  const names = [];
  order.forEach((part, at) => (names[part] = `${kind} ${at + 1}`));
  return byGroups(of, names, UNREACHED, "");
}

// The largest groups have colours of their own; the others share one.
function byGroups(values, names, none, noneText) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const known = [...counts.keys()].filter((value) => value !== none);
  known.sort((a, b) => counts.get(b) - counts.get(a) || a - b);
  const own = CLASSES.light.length;
  const groups = [];
  const place = new Map();
  const add = (text, count, colour) => groups.push({ text, count, colour }) - 1;
  known.slice(0, own).forEach((value, at) =>
    place.set(value, add(names[value], counts.get(value), () => rgb(themed(CLASSES)[at]))));
  const grey = () => rgb(themed(GREY));
  const rest = known.slice(own);
  if (rest.length) {
    const count = rest.reduce((sum, value) => sum + counts.get(value), 0);
    const group = add(`${rest.length} others`, count, grey);
    rest.forEach((value) => place.set(value, group));
  }
  if (counts.has(none)) place.set(none, add(noneText, counts.get(none), grey));
  const of = Uint16Array.from(values, (value) => place.get(value));
  return { of, groups, colour: (group) => groups[group].colour() };
}

const STEPS = 64;

// Numbers from low to high on a ramp.
function byNumber(values, low, high, ramp, text) {
  const width = high - low || 1;
  const of = new Uint16Array(values.length);
  for (let node = 0; node < values.length; node++) {
    const share = Math.max(0, Math.min(1, (values[node] - low) / width));
    of[node] = Math.round(share * (STEPS - 1));
  }
  const scale = { low: text(low), high: text(high), at: (share) => along(themed(ramp), share) };
  return { of, scale, colour: (step) => along(themed(ramp), step / (STEPS - 1)) };
}

function byDegree(data) {
  const logs = Float64Array.from({ length: data.nodes }, (_, node) => Math.log2(1 + degree(data.graph, node)));
  const most = logs.reduce((a, b) => Math.max(a, b), 0);
  return byNumber(logs, 0, most, AMOUNT, (log) => `${Math.round(2 ** log - 1)} neighbours`);
}

// Hops: the nearest on top, those that cannot be reached in grey. Half of the ramp goes by hops, half
// by how many nodes are nearer: a few that are very far do not take all colours for themselves.
function byHops(hops) {
  const most = hops.reduce((a, b) => Math.max(a, b), 1);
  const far = most + 1;
  const of = Uint16Array.from(hops, (hop) => (hop === UNREACHED ? far : hop));
  const counts = new Array(far + 1).fill(0);
  of.forEach((hop) => counts[hop]++);
  const reached = hops.length - counts[far];
  let nearer = 0;
  const shares = counts.map((count, hop) => {
    const share = (hop / most + nearer / Math.max(1, reached - counts[most])) / 2;
    nearer += count;
    return share;
  });
  const colour = (hop) => (hop === far ? rgb(themed(GREY)) : along(themed(RAMP), shares[hop]));
  const groups = counts.map((count, hop) => ({
    text: hop === far ? "no path" : String(hop), count, share: shares[hop], colour: () => colour(hop),
  }));
  return { of, groups, colour, farFirst: true };
}

// Similarities: from the least to the most alike, but for the few most extreme.
function bySimilarity(values, text) {
  const sorted = Float64Array.from(values).sort();
  const share = (part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
  const [low, high] = [share(0.005), Math.max(share(0.99), sorted[sorted.length - 2] ?? 1)];
  const flipped = values.map((value) => -value);
  const colouring = byNumber(flipped, -high, -low, RAMP, (value) => text(-value));
  return { ...colouring, farFirst: true };
}
