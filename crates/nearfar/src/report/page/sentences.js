// Sentences about numbers. A mean is worth a sentence if it is over enough pairs: 1 000, or 1 % of all.
// Of sampled pairs, ten for each source: a rare distance is seen from few sources, so its pairs are alike.

const ENOUGH_PAIRS = 1000;
const ENOUGH_SHARE = 0.01;
const enoughPairs = (measures) => (measures.counted === "all" ? ENOUGH_PAIRS : Math.max(ENOUGH_PAIRS, 10 * measures.sources));

const unitOf = (measures) => (measures.length ? "length" : "hops");

const signed = (value, digits = 2) => value.toFixed(digits).replace("-", "−");

// The distances of a curve with enough compared pairs: { d, unit, xi, std, pairs, compared, interval }. Of
// sampled measures, `pairs` are estimates and `compared` is what was compared. Where distances are lengths,
// d is the largest of a bin.
function carried(measures) {
  const share = measures.counted === "all" ? 1 : measures.sources / measures.nodes;
  const total = measures.pairs.reduce((sum, pairs) => sum + pairs, 0);
  const enough = Math.min(enoughPairs(measures), ENOUGH_SHARE * total * share);
  return measures.distance
    .map((d, at) => ({
      d: measures.length?.[at] ?? d, unit: unitOf(measures), xi: measures.xi[at], std: measures.xi_std[at], pairs: measures.pairs[at],
      compared: Math.round(measures.pairs[at] * share), interval: measures.interval?.xi[at] ?? 0,
    }))
    .filter((one) => one.compared >= enough && Number.isFinite(one.xi));
}

// What a curve of means does: "falls", "rises", "flat", "turns" (with the distance of its extreme), or
// "one" if there is a single distance. Changes within the intervals, or of less than 0.01, are none.
function courseOf(curve) {
  if (curve.length < 2) return { kind: "one" };
  const [first, last] = [curve[0], curve.at(-1)];
  const differs = (a, b) => Math.abs(a.xi - b.xi) > Math.max(0.01, a.interval + b.interval);
  const extreme = (sign) => curve.reduce((best, one) => (sign * one.xi > sign * best.xi ? one : best));
  const turns = (one) => one !== first && one !== last && differs(one, first) && differs(one, last);
  const [highest, lowest] = [extreme(1), extreme(-1)];
  if (turns(highest) && turns(lowest)) return { kind: "varies" };
  if (turns(highest)) return { kind: "turns", at: highest, way: "rises" };
  if (turns(lowest)) return { kind: "turns", at: lowest, way: "falls" };
  if (!differs(first, last)) return { kind: "flat" };
  return { kind: last.xi < first.xi ? "falls" : "rises" };
}

const pairCount = (one) => `${withSeparators(one.pairs)} pairs`;
const meanText = (one) => signed(one.xi) + (one.interval > 0 ? ` ± ${formatNumber(one.interval, 1)}` : "");
const atDistance = (one) => (one.unit === "length" ? `length ${formatNumber(one.d)}` : `${one.d} ${one.d === 1 ? "hop" : "hops"}`);

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
function courseCaption(measures, curve) {
  const meaning = {
    falls: "It falls with distance: near nodes have similar vectors, far nodes less similar ones.",
    rises: "It rises with distance: far nodes have larger products than near ones. It would fall if products alone ordered pairs by distance.",
    flat: "It hardly changes with distance: products do not tell near nodes from far ones.",
    varies: "It neither falls nor rises steadily with distance.",
    one: "",
  };
  const course = courseOf(curve);
  const turn = course.kind === "turns" && `It ${course.way} until ${atDistance(course.at)} and ${course.way === "falls" ? "rises" : "falls"} beyond.`;
  const pairs = measures.counted === "all" ? "All pairs of connected nodes."
    : `Estimated from the pairs of ${withSeparators(measures.sources)} nodes${measures.interval ? ", with 95 % intervals in the table" : ""}.`;
  const left = measures.length ? [] : measures.distance.filter((d) => !curve.some((one) => one.d === d));
  const missing = left.length ? `${listOfNumbers(left)} hops: left out, with fewer than 1 % of pairs and fewer than ${withSeparators(enoughPairs(measures))}${measures.counted === "all" ? "" : " compared"}.` : "";
  return [turn || meaning[course.kind], pairs, missing].filter(Boolean).join(" ");
}

// 1, 2, 5–7
function listOfNumbers(numbers) {
  const runs = [];
  for (const number of numbers) {
    if (runs.length && runs.at(-1)[1] === number - 1) runs.at(-1)[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([a, b]) => (a === b ? `${a}` : b === a + 1 ? `${a}, ${b}` : `${a}–${b}`)).join(", ");
}

// What loss and λ do over the epochs.
function trainingCaption(epochs) {
  const known = epochs.filter((epoch) => Number.isFinite(epoch.loss));
  if (known.length < 2) return "";
  const [first, last] = [known[0], known.at(-1)];
  const extreme = (list, sign) => list.reduce((best, epoch) => (sign * epoch.loss > sign * best.loss ? epoch : best));
  const low = extreme(known, -1);
  const peak = extreme(known.slice(known.indexOf(low)), 1);
  const number = (value) => formatNumber(value);
  const differ = (a, b) => Math.abs(a.loss - b.loss) > 0.005 * Math.abs(a.loss);
  // What λ does from one epoch to another.
  const lambdaFrom = (a, b) => (Number.isFinite(a.l2) && Number.isFinite(b.l2) && Math.abs(b.l2 - a.l2) > 0.02 * a.l2 ? Math.sign(b.l2 - a.l2) : 0);
  const steps = [];
  const step = (a, b) => {
    const way = b.loss > a.loss ? "rises" : "falls";
    const along = lambdaFrom(a, b);
    const same = along !== 0 && (way === "rises") === (along > 0) && a !== first;
    steps.push(`${way} to ${number(b.loss)} in epoch ${b.epoch}${same ? ` while λ ${along > 0 ? "grows" : "shrinks"} from ${number(a.l2)} to ${number(b.l2)}` : ""}`);
  };
  if (low !== first) step(first, low);
  if (peak !== low && differ(low, peak)) step(low, peak);
  if (last !== peak && peak !== low && differ(peak, last)) step(peak, last);
  const way = steps.length ? `From ${number(first.loss)}, the loss ${steps.join(", ")}` : `The loss stays near ${number(first.loss)}`;
  const why = steps.some((text) => text.includes("while λ")) ? " A larger λ shortens vectors, which raises the loss of a pair." : "";
  const constant = known.every((epoch) => epoch.l2 === first.l2);
  const lambda = constant ? (Number.isFinite(first.l2) ? ` λ is ${number(first.l2)} throughout.` : "")
    : " λ is adjusted after each epoch, towards an effective rank of the vectors.";
  return `${way}.${why}${lambda} The loss is the mean of −log σ(±z·z) over the trained pairs; the L2 term is not part of it.`;
}
