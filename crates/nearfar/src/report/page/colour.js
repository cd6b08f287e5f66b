// Colour scales that are safe for colour-blind readers.

const isDark = () => !printing && matchMedia("(prefers-color-scheme: dark)").matches;
let printing = false;

// The palette of Okabe and Ito without black, darkened where contrast on white is low.
const CLASSES = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e0a100", "#3fa7dc", "#7a4bc4", "#8c6d31", "#5a6270"],
  dark: ["#4fa3e0", "#f08a3c", "#2ec49a", "#e59cc4", "#f0c53a", "#8fd3f7", "#b08cf0", "#c2a365", "#9aa3b2"],
};
const GREY = { light: "#b4b2ac", dark: "#565c68" };
// Diverging: from near and similar (warm) to far and dissimilar (cold).
const DIVERGING = {
  light: ["#a62a00", "#dd6b20", "#e9b872", "#b9c3bd", "#6fa8d6", "#2f6fb8", "#173f7a"],
  dark: ["#ffb184", "#f0763a", "#c27d5d", "#8f8b89", "#5f93c4", "#5aa3ee", "#bcdcff"],
};
// Sequential: from low (pale) to high (strong).
const SEQUENTIAL = {
  light: ["#c9d3dc", "#8fb8cf", "#4d94b8", "#1f6a96", "#0d3f66", "#071d33"],
  dark: ["#39424e", "#3b6a86", "#4596b8", "#6cc0d8", "#b0e4ea", "#f4fbf0"],
};

// Lines and text around the dots.
const INK = {
  light: { edge: "#1d1f2418", spoke: "#1d1f2460", text: "#1d1f24", halo: "#ffffff" },
  dark: { edge: "#eceae518", spoke: "#eceae566", text: "#eceae5", halo: "#1c1f25" },
};

const themed = (colours) => (isDark() ? colours.dark : colours.light);

function rgb(hex) {
  const number = parseInt(hex.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

// The colour at a fraction of a ramp, from 0 to 1.
function rampColour(ramp, fraction) {
  const at = Math.max(0, Math.min(1, fraction)) * (ramp.length - 1);
  const low = Math.min(ramp.length - 2, Math.floor(at));
  const [a, b] = [rgb(ramp[low]), rgb(ramp[low + 1])];
  return a.map((x, channel) => Math.round(x + (b[channel] - x) * (at - low)));
}

// A colouring has the group of every node (`of`), the colour of each group (`colour`, by theme), and
// the legend: `groups` that can be hidden, or a `scale`.

function byClass(data) {
  return byGroups(data.labels, data.head.labels, NO_LABEL, "no label");
}

const byComponent = (data) => bySubgraph(components(data.graph), "component");

const byCommunity = (data) => bySubgraph(communities(data.graph), "community");

// Components or communities, numbered by descending size.
function bySubgraph(of, kind) {
  const sizes = [];
  for (const subgraph of of) sizes[subgraph] = (sizes[subgraph] ?? 0) + 1;
  const order = [...sizes.keys()].sort((a, b) => sizes[b] - sizes[a] || a - b);
  const names = [];
  order.forEach((subgraph, at) => (names[subgraph] = `${kind} ${at + 1}`));
  return byGroups(of, names, UNREACHED, "");
}

// The largest groups have distinct colours; the others share grey.
function byGroups(values, names, none, noneText) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const known = [...counts.keys()].filter((value) => value !== none);
  known.sort((a, b) => counts.get(b) - counts.get(a) || a - b);
  const distinct = CLASSES.light.length;
  const groups = [];
  const groupOf = new Map();
  const add = (text, count, colour) => groups.push({ text, count, colour }) - 1;
  known.slice(0, distinct).forEach((value, at) =>
    groupOf.set(value, add(names[value], counts.get(value), () => rgb(themed(CLASSES)[at]))));
  const grey = () => rgb(themed(GREY));
  const rest = known.slice(distinct);
  if (rest.length) {
    const count = rest.reduce((sum, value) => sum + counts.get(value), 0);
    const group = add(`${rest.length} others`, count, grey);
    rest.forEach((value) => groupOf.set(value, group));
  }
  if (counts.has(none)) groupOf.set(none, add(noneText, counts.get(none), grey));
  const of = Uint16Array.from(values, (value) => groupOf.get(value));
  return { of, groups, colour: (group) => groups[group].colour() };
}

const STEPS = 64;

// Values from low to high on a colour ramp.
function byNumber(values, low, high, ramp, text) {
  const width = high - low || 1;
  const of = new Uint16Array(values.length);
  for (let node = 0; node < values.length; node++) {
    const fraction = Math.max(0, Math.min(1, (values[node] - low) / width));
    of[node] = Math.round(fraction * (STEPS - 1));
  }
  const scale = { low: text(low), high: text(high), at: (fraction) => rampColour(themed(ramp), fraction) };
  return { of, scale, colour: (step) => rampColour(themed(ramp), step / (STEPS - 1)) };
}

function byDegree(data) {
  const logs = Float64Array.from({ length: data.nodes }, (_, node) => Math.log2(1 + degree(data.graph, node)));
  const most = logs.reduce((a, b) => Math.max(a, b), 0);
  return byNumber(logs, 0, most, SEQUENTIAL, (log) => `${Math.round(2 ** log - 1)} neighbours`);
}

// Hops: the nearest drawn last, unconnected nodes in grey. The position on the ramp is the mean of the
// hops and of the fraction of nearer nodes, so that few very far nodes do not use up the ramp.
function byHops(hops) {
  const most = hops.reduce((a, b) => Math.max(a, b), 1);
  const unconnected = most + 1;
  const of = Uint16Array.from(hops, (hop) => (hop === UNREACHED ? unconnected : hop));
  const counts = new Array(unconnected + 1).fill(0);
  of.forEach((hop) => counts[hop]++);
  const reached = hops.length - counts[unconnected];
  let nearer = 0;
  const fractions = counts.map((count, hop) => {
    const fraction = (hop / most + nearer / Math.max(1, reached - counts[most])) / 2;
    nearer += count;
    return fraction;
  });
  const colour = (hop) => (hop === unconnected ? rgb(themed(GREY)) : rampColour(themed(DIVERGING), fractions[hop]));
  const groups = counts.map((count, hop) => ({
    text: hop === unconnected ? "unconnected" : String(hop), count, fraction: fractions[hop], colour: () => colour(hop),
  }));
  return { of, groups, colour, farFirst: true };
}

// Similarities, between their 0.5th and 99th percentiles.
function bySimilarity(values, text) {
  const sorted = Float64Array.from(values).sort();
  const quantile = (p) => sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))];
  const [low, high] = [quantile(0.005), Math.max(quantile(0.99), sorted[sorted.length - 2] ?? 1)];
  const flipped = values.map((value) => -value);
  const colouring = byNumber(flipped, -high, -low, DIVERGING, (value) => text(-value));
  return { ...colouring, farFirst: true };
}
