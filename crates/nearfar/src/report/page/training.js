// The run: loss and λ, scores while training, time, memory and settings as they were used.

const epochsOf = (log) => log.filter((event) => event.event === "epoch");

function trainingChart(log) {
  const epochs = epochsOf(log);
  if (!epochs.length) return null;
  const pairs = epochs.reduce((sum, event) => sum + event.pairs, 0);
  const line = (name, field, colour) =>
    ({ kind: "line", colour, name, points: epochs.map((event) => [event.epoch, event[field]]).filter(([, value]) => Number.isFinite(value)) });
  const x = { label: "epoch", integer: true };
  const made = chart({
    title: "Training",
    caption: `${trainingCaption(epochs)} ${withSeparators(pairs)} pairs in ${formatNumber(epochs.at(-1).seconds)} s.`,
    plots: [
      { x, y: {}, series: [line("mean loss of a pair", "loss", "near")] },
      { x, y: { zero: true }, series: [line("λ, strength of L2 regularisation", "l2", "third")] },
    ],
    columns: ["epoch", "loss", "λ", "effective rank", "pairs"],
    rows: epochs.map((event) => [event.epoch, fixed(event.loss), formatNumber(event.l2), formatNumber(event.effective_rank), formatNumber(event.pairs)]),
  });
  made.classList.add("wide");
  return made;
}

function scoreChart(log) {
  const scores = log.filter((event) => event.event === "scores");
  if (!scores.length) return null;
  const line = (split, colour, name) => ({ kind: "line", colour, name,
    points: scores.filter((event) => Number.isFinite(event[split]?.f1_macro)).map((event) => [event.epoch, event[split].f1_macro]) });
  return chart({
    title: "Scores during training", caption: "F1-macro.",
    plots: [{
      x: { label: "epoch", integer: true }, y: {},
      series: [line("test", "far", "test"), line("val", "third", "validation")].filter((one) => one.points.length),
    }],
    columns: ["epoch", "test", "validation"],
    rows: scores.map((event) => [event.epoch, fixed(event.test?.f1_macro), fixed(event.val?.f1_macro)]),
  });
}

function settingCards(head) {
  const text = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));
  const settings = Object.entries(head.settings).filter(([, value]) => value !== null);
  const resolved = ([name, value]) => [name, name === "l2" && value === "auto" ? lambdaText(head.log) : text(value)];
  const run = runRows(head);
  return [
    settings.length && settingsCard(settings.map(resolved)),
    run.length && card("Run", keyValueTable(run)),
    mapCard(head),
  ].filter(Boolean);
}

function mapCard({ map, version }) {
  const made = card("Map", keyValueTable([
    ...map.layouts.map((layout) => [layout.title, layout.detail]),
    ["metric", map.metric],
    ["seed", map.seed],
    ["nearfar version", version],
  ]));
  made.classList.add("words");
  return made;
}

// In columns.
function settingsCard(rows) {
  const third = Math.ceil(rows.length / 3);
  const made = card("Settings", element("div", { class: "columns" }, ...[0, 1, 2].map((at) => keyValueTable(rows.slice(at * third, (at + 1) * third)))));
  made.classList.add("wide");
  return made;
}

function lambdaText(log) {
  const known = epochsOf(log ?? []).map((event) => event.l2).filter(Number.isFinite);
  const [least, most] = [known.reduce((a, b) => Math.min(a, b), Infinity), known.reduce((a, b) => Math.max(a, b), 0)].map((value) => formatNumber(value));
  const range = !known.length ? "" : least === most ? `: ${least} in all` : `: from ${least} to ${most}, at last ${formatNumber(known.at(-1))}`;
  return `adjusted after each epoch${range}`;
}

// Times by stage and memory, as far as the run or its log recorded them.
function runRows(head) {
  const event = (name) => (head.log ?? []).findLast((one) => one.event === name);
  const [started, finished] = [event("started"), event("finished")];
  const { read, prepare, train = epochsOf(head.log ?? []).at(-1)?.seconds, save } = event("times") ?? {};
  const bytes = (value) => `${formatNumber(value / 1e6)} MB`;
  return [
    ...Object.entries({ read, prepare, train, save }).filter(([, value]) => Number.isFinite(value)).map(([stage, value]) => [`${stage}, seconds`, formatNumber(value)]),
    started?.memory && ["memory, planned", bytes(started.memory)],
    finished?.peak_memory && ["memory, at most used", bytes(finished.peak_memory)],
    started?.kernel && ["instruction set", started.kernel],
  ].filter(Boolean);
}
