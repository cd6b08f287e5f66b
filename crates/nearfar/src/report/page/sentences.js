// Sentences about numbers. A mean is worth a sentence if it is over enough pairs: 1 000, or 1 % of all.
// Every node of a connected graph has nodes at all distances up to half of the diameter. Larger ones may be
// seen from few sources, so that their pairs are alike: of a sample, ten pairs for each source are asked.

const ENOUGH_PAIRS = 1000;
const ENOUGH_SHARE = 0.01;
// Means of wider intervals, ± this, are left out.
const WIDEST = 0.1;
const enoughPairs = ({ counted, sources }, half) => (half || counted === "all" ? ENOUGH_PAIRS : Math.max(ENOUGH_PAIRS, 10 * sources));

// Distances are hops, or the largest lengths of bins.
const unitOf = (measures) => (measures.length ? "length" : "hops");
const distancesOf = (measures) => measures.length ?? measures.distance;

const signed = (value, digits = 2) => value.toFixed(digits).replace("-", "−");

// The ranges of distances up to `most` hops: single ones, or from MANY_HOPS on, each of a fifth of its
// distance.
const MANY_HOPS = 60;
const rangeEnds = (first, last, most) => most < MANY_HOPS || last - first + 1 >= Math.floor(first / 5);

// The distances of a curve with enough compared pairs: { unit, from, to, d, xi, std, pairs, compared, interval },
// where d is the mean of a range. Lengths are in bins already, named by their largest length. Of sampled
// measures, `pairs` are estimates and `compared` is what was compared.
function carried(measures) {
  const share = measures.counted === "all" ? 1 : measures.sources / measures.nodes;
  const total = measures.pairs.reduce((sum, pairs) => sum + pairs, 0);
  const unit = unitOf(measures);
  const most = distancesOf(measures).at(-1) ?? 0;
  const joined = unit === "hops" && most >= MANY_HOPS;
  const enough = (d) => Math.min(enoughPairs(measures, 2 * d <= most), ENOUGH_SHARE * total * share);
  const curve = [];
  let range = null;
  distancesOf(measures).forEach((d, at) => {
    const [pairs, xi, std, interval] = [measures.pairs[at], measures.xi[at], measures.xi_std[at], measures.interval?.xi[at] ?? 0];
    if (!Number.isFinite(xi)) return;
    // Few pairs would say nothing among so many.
    if (range && pairs > 10 * range.pairs) range = null;
    range ??= { from: d, pairs: 0, d: 0, xi: 0, square: 0, interval: 0 };
    range.to = d;
    range.pairs += pairs;
    for (const [name, value] of Object.entries({ d, xi, square: std * std + xi * xi, interval })) range[name] += pairs * value;
    const isEnough = range.pairs * share >= enough(d);
    if (joined && !(isEnough && rangeEnds(range.from, d, most))) return;
    const means = meansOf(range, share);
    if (isEnough && means.interval <= WIDEST) curve.push({ unit, ...means });
    range = null;
  });
  return curve;
}

// The means of a range, from sums over its pairs. The interval is at most the mean of those of its distances.
function meansOf({ from, to, pairs, d, xi, square, interval }, share) {
  const mean = xi / pairs;
  const std = Math.sqrt(Math.max(0, square / pairs - mean * mean));
  return { from, to, d: d / pairs, xi: mean, std, pairs, compared: Math.round(pairs * share), interval: interval / pairs };
}

// The most steps against the way of a curve that is steady, as a share of it; and the least turn.
const MOST_AGAINST = 0.2;
const LEAST_TURN = 0.1;

// What a curve of means does: "falls", "rises", "flat", "turns" (with the distance of its extreme), or
// "one" if there is a single distance. Changes within the intervals, or of less than 0.01, are none.
function courseOf(curve) {
  if (curve.length < 2) return { kind: "one" };
  const [first, last] = [curve[0], curve.at(-1)];
  const differs = (a, b) => Math.abs(a.xi - b.xi) > Math.max(0.01, a.interval + b.interval);
  const extreme = (sign) => curve.reduce((best, one) => (sign * one.xi > sign * best.xi ? one : best));
  const [highest, lowest] = [extreme(1), extreme(-1)];
  const apart = (a, b) => differs(a, b) && Math.abs(a.xi - b.xi) > LEAST_TURN * (highest.xi - lowest.xi);
  const turns = (one) => apart(one, first) && apart(one, last);
  if (turns(highest) && turns(lowest)) return { kind: "varies" };
  // Whether steps against the way from one place to another are small beside it.
  const steady = (from, to) => {
    const part = curve.slice(curve.indexOf(from), curve.indexOf(to) + 1);
    const against = part.slice(1).reduce((sum, one, at) => {
      const [step, way] = [one.xi - part[at].xi, to.xi - from.xi];
      return sum + (step * way < 0 && differs(one, part[at]) ? Math.abs(step) : 0);
    }, 0);
    return against <= MOST_AGAINST * Math.abs(to.xi - from.xi);
  };
  const turn = [highest, lowest].find(turns);
  if (turn) return steady(first, turn) && steady(turn, last) ? { kind: "turns", at: turn, way: turn === highest ? "rises" : "falls" } : { kind: "varies" };
  if (!differs(highest, lowest)) return { kind: "flat" };
  if (!differs(first, last) || !steady(first, last)) return { kind: "varies" };
  return { kind: last.xi < first.xi ? "falls" : "rises" };
}

const pairCount = (one) => `${withSeparators(one.pairs)} pairs`;
const meanText = (one) => signed(one.xi) + (one.interval > 0 ? ` ± ${formatNumber(one.interval, 1)}` : "");
const rangeText = ({ from, to }) => (from === to ? withSeparators(from) : `${withSeparators(from)}–${withSeparators(to)}`);
const distanceText = (one) => (one.unit === "hops" ? rangeText(one) : formatNumber(one.to));
const atDistance = (one) => (one.unit === "hops" ? `${rangeText(one)} ${one.to === 1 ? "hop" : "hops"}` : `length ${distanceText(one)}`);

// One sentence: how similarity changes with distance.
function courseSentence(curve) {
  if (curve.length === 0) return "";
  const place = (one) => `${meanText(one)} at ${atDistance(one)} (${pairCount(one)})`;
  const course = courseOf(curve);
  const [first, last] = [curve[0], curve.at(-1)];
  const subject = "The mean similarity σ(z·z)";
  switch (course.kind) {
    case "one": return `${subject} is ${place(first)}.`;
    case "flat": return `${subject} hardly changes with distance: ${place(first)}, ${place(last)}.`;
    case "varies": return `${subject} neither falls nor rises steadily with distance: ${place(first)}, ${place(last)}.`;
    case "turns": return `${subject} ${course.way} from ${place(first)} to ${place(course.at)}, and is ${place(last)}.`;
    default: return `${subject} ${course.kind} from ${place(first)} to ${place(last)}.`;
  }
}

// The caption under the curve: what it does, what that means, and which pairs it is about.
function courseCaption(measures, curve, directed = false) {
  const meaning = {
    falls: "It falls with distance: near nodes have similar vectors, far nodes less similar ones.",
    rises: "It rises with distance: far nodes have larger products than near ones. It would fall if products alone ordered pairs by distance.",
    flat: "It hardly changes with distance: products do not tell near nodes from far ones.",
    varies: "It neither falls nor rises steadily with distance.",
    one: "",
  };
  const course = courseOf(curve);
  const turn = course.kind === "turns" && `It ${course.way} until ${atDistance(course.at)} and ${course.way === "falls" ? "rises" : "falls"} beyond.`;
  const pairs = measures.counted === "all" ? (directed ? "All ordered pairs of nodes with a path from the first to the second." : "All pairs of connected nodes, each in both directions.")
    : `Estimated from the pairs of ${withSeparators(measures.sources)} nodes${measures.interval ? ", with 95 % intervals in the table" : ""}.`;
  const left = distancesOf(measures).filter((d, at) => measures.pairs[at] > 0 && !curve.some(({ from, to }) => d >= from && d <= to));
  const wide = measures.interval ? ` or with an interval of more than ± ${WIDEST}` : "";
  const few = `fewer than 1 % of pairs and fewer than ${withSeparators(enoughPairs(measures, false))}${measures.counted === "all" ? "" : " compared"}${wide}`;
  const missing = left.length ? `${leftText(left, unitOf(measures))}: left out, with ${few}.` : "";
  return [turn || meaning[course.kind], pairs, missing].filter(Boolean).join(" ");
}

function leftText(left, unit) {
  if (unit === "length") return `${left.length} ${left.length === 1 ? "bin" : "bins"} of lengths`;
  return `${listOfNumbers(left)} ${left.length === 1 && left[0] === 1 ? "hop" : "hops"}`;
}

// 1, 2, 5–7
function listOfNumbers(numbers) {
  const runs = [];
  for (const number of numbers) {
    if (runs.length && runs.at(-1)[1] === number - 1) runs.at(-1)[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([a, b]) => (b === a + 1 ? `${a}, ${b}` : rangeText({ from: a, to: b }))).join(", ");
}

// What loss and λ do over the epochs. Changes of less than a tenth of the range of the loss are none.
function trainingCaption(epochs) {
  const known = epochs.filter((epoch) => Number.isFinite(epoch.loss));
  if (known.length < 2) return "";
  const [first, last] = [known[0], known.at(-1)];
  const extreme = (list, sign) => list.reduce((best, epoch) => (sign * epoch.loss > sign * best.loss ? epoch : best));
  const low = extreme(known, -1);
  const peak = extreme(known.slice(known.indexOf(low)), 1);
  const spread = extreme(known, 1).loss - low.loss;
  const differ = (a, b) => Math.abs(a.loss - b.loss) > Math.max(0.1 * spread, 0.005 * Math.abs(a.loss));
  // What λ does from one epoch to another.
  const lambdaFrom = (a, b) => (Number.isFinite(a.l2) && Number.isFinite(b.l2) && Math.abs(b.l2 - a.l2) > 0.1 * a.l2 ? Math.sign(b.l2 - a.l2) : 0);
  const steps = [];
  let at = first;
  for (const next of [low, peak, last]) {
    if (next.epoch <= at.epoch || !differ(at, next)) continue;
    const way = next.loss > at.loss ? "rises" : "falls";
    const along = lambdaFrom(at, next);
    const same = along !== 0 && (way === "rises") === (along > 0) && at !== first;
    steps.push(`${way} to ${formatNumber(next.loss)} in epoch ${next.epoch}${same ? ` while λ ${along > 0 ? "grows" : "shrinks"} from ${formatNumber(at.l2)} to ${formatNumber(next.l2)}` : ""}`);
    at = next;
  }
  if (steps.length && at !== last) steps.push("and stays near it");
  const way = steps.length ? `From ${formatNumber(first.loss)}, the loss ${steps.join(", ")}` : `The loss stays near ${formatNumber(first.loss)}`;
  const why = steps.some((text) => text.includes("while λ")) ? " A larger λ shortens vectors, which raises the loss of a pair." : "";
  const constant = known.every((epoch) => epoch.l2 === first.l2);
  const lambda = constant ? (Number.isFinite(first.l2) ? ` λ is ${formatNumber(first.l2)} throughout.` : "")
    : " λ is adjusted after each epoch, towards an effective rank of the vectors.";
  return `${way}.${why}${lambda} The loss is the mean of −log σ(±z·z) over the trained pairs; the L2 term is not part of it.`;
}
