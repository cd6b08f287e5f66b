// A colouring has the group of every node (`of`), the colour of each group (`colour`, by theme), and for
// the legend `groups`, or a `scale` with the `values` it is of.

const STEPS = 64;

// The colouring of a column.
function byColumn(column) {
  return column.kind === "groups" ? byGroups(column.values, column.groups, column.name) : byValues(column.values);
}

// Every group by descending size. The largest have a colour of their own; the others are grey, or if that
// were most nodes, have the same colours again.
function byGroups(values, names, title) {
  const counts = new Uint32Array(names.length + 1);
  for (const value of values) counts[value === NO_GROUP ? names.length : value]++;
  const known = [...names.keys()].filter((value) => counts[value] > 0);
  known.sort((a, b) => counts[b] - counts[a] || a - b);
  const grey = () => rgb(themed(GREY));
  const distinct = CLASSES.light.length;
  const sum = (list) => list.reduce((all, value) => all + counts[value], 0);
  const repeats = sum(known.slice(distinct)) > sum(known.slice(0, distinct));
  const groups = known.map((value, at) => ({
    text: names[value], count: counts[value], value,
    colour: at < distinct || repeats ? () => rgb(themed(CLASSES)[at % distinct]) : grey,
  }));
  if (counts[names.length] > 0) groups.push({ text: `no ${title}`, count: counts[names.length], value: NO_GROUP, colour: grey });
  const groupOf = new Uint16Array(65536);
  groups.forEach((group, at) => (groupOf[group.value] = at));
  return { of: Uint16Array.from(values, (value) => groupOf[value]), groups, repeats, colour: (group) => groups[group].colour() };
}

// Numbers on a ramp, from low (pale) to high (strong); by logarithm if few are much larger than most.
function byValues(values) {
  const sorted = Float64Array.from(values).filter((value) => !Number.isNaN(value)).sort();
  if (sorted.length === 0) return plain(values.length);
  const quantile = (fraction) => sorted[Math.min(sorted.length - 1, Math.floor(fraction * sorted.length))];
  const [least, most] = [sorted[0], sorted[sorted.length - 1]];
  const log = least >= 0 && most > 30 * Math.max(1, quantile(0.5));
  const at = log ? (value) => Math.log1p(value) : (value) => value;
  const colouring = byNumber(Float64Array.from(values, at), at(least), at(most), SEQUENTIAL);
  return { ...colouring, values, scale: { ...colouring.scale, low: formatNumber(least), high: formatNumber(most), log } };
}

function byNumber(values, low, high, ramp) {
  const width = high - low || 1;
  const of = new Uint16Array(values.length);
  for (let node = 0; node < values.length; node++) {
    const fraction = Math.max(0, Math.min(1, (values[node] - low) / width));
    of[node] = Number.isNaN(values[node]) ? STEPS : Math.round(fraction * (STEPS - 1));
  }
  const at = (fraction) => rampColour(themed(ramp), fraction);
  return { of, scale: { at }, colour: (step) => (step === STEPS ? rgb(themed(GREY)) : at(step / (STEPS - 1))) };
}

const plain = (nodes) => ({ of: new Uint16Array(nodes), groups: [], colour: () => rgb(themed(CLASSES)[0]) });

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
    text: hop === unconnected ? "unconnected" : withSeparators(hop), count, fraction: fractions[hop], colour: () => colour(hop),
  }));
  return { of, groups, colour, farFirst: true, hops: true };
}

// Similarities, between their 0.5th and 99th percentiles.
function bySimilarity(values) {
  const sorted = Float64Array.from(values).sort();
  const quantile = (p) => sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))];
  const [low, high] = [quantile(0.005), Math.max(quantile(0.99), sorted[sorted.length - 2] ?? 1)];
  const colouring = byNumber(values.map((value) => -value), -high, -low, DIVERGING);
  return { ...colouring, farFirst: true, scale: { ...colouring.scale, low: signed(high), high: signed(low) } };
}
