"""Scores: node classification with the vectors of several methods.

Three judges, the same splits for all methods. `ridge`: ridge classifier with the penalty of the best
leave-one-out accuracy, ten random splits. `fair`: logistic regression with C from cross-validation
on the training nodes; one split and one seed, since it is slow. `c1`: `nearfar evaluate` with its
default settings, logistic regression with C = 1, on the given splits where the dataset has them; it
favours vectors of a certain scale.

- `ridge` and `fair`: F1-macro with 10 % of the nodes for training; where nodes have several labels
  (wikipedia-pos, ppi, blogcatalog) F1-micro with 50 %, the number of labels of each node given.
- `c1`: F1-macro.

Mean ± standard deviation over seeds; methods without a deviation are deterministic, or ran once. The
best method of each graph is bold. Seconds are those of the whole process, for all methods: start,
imports, reading, training, writing.
"""

import json
import statistics
from pathlib import Path

from measure import Failure, child, in_turn
from summary import failures, grouped, is_ours, median, number, table, values

TITLE = "Scores"
JUDGES = ["ridge", "fair", "c1"]
DEFAULT = "nearfar"


def run(bench):
    axis = bench.axis("scores")
    rows = []
    for graph in filter(bench.graphs.is_wanted, axis["graphs"]):
        by_seeds = {}
        for name, method in bench.selected_methods(axis["methods"]).items():
            seeds = [seed for seed in bench.seeds(axis) if seed < method.get("seeds", 1 + seed)]
            by_seeds.setdefault(tuple(seeds), []).append(case(bench, graph, method, seeds))
        for seeds, cases in by_seeds.items():
            if seeds:
                rows += by_judge(in_turn(cases, bench.general, len(seeds)))
        bench.save(rows)
    return rows


def case(bench, graph, method, seeds):
    """A case of which run r has seed seeds[r], and a score of each judge."""
    vectors = bench.ours.scratch / "scores.npy"
    if "rival" in method:
        changes = {"vectors": str(vectors), **method.get("job", {})}
        fixed, once = bench.rival(method["rival"], graph, "embed", **changes)
    else:
        fixed, once = bench.nearfar(graph, "", method["options"], vectors=str(vectors))

    def scored(repeat):
        # Vectors of the run before, and ids that `nearfar` wrote with them, must not be scored again.
        for old in [vectors, vectors.with_suffix(".nodes.tsv")]:
            old.unlink(missing_ok=True)
        measured = once(seeds[repeat])
        seconds = measured.get("process_seconds", measured["seconds"])
        scores = {
            judge: score_or_failure(bench, judge, graph, vectors)
            for judge in bench.selected_judges(JUDGES)
            if judge != "fair" or seeds[repeat] < bench.axis("scores")["fair_seeds"]
        }
        return {**measured, "seconds": seconds, "repeat": seeds[repeat], "scores": scores}

    return {**fixed, "system": method["title"]}, scored


def score_or_failure(bench, judge, graph, vectors):
    """The measured fields of a judge. A judge that refuses the labels does not stop the others."""
    try:
        return {"score": judged(bench, judge, graph, vectors)}
    except Failure as failure:
        return {"failure": str(failure)}


def judged(bench, judge, graph, vectors):
    labels = Path(bench.graphs.labels(graph))
    timeout, threads = bench.general["timeout_seconds"], bench.general["threads"]
    if judge == "c1":
        given = labels.parent if (labels.parent / "splits.tsv").exists() else labels
        command = [bench.ours.binary(), "-q", "evaluate", str(vectors), "--labels", str(given)]
        done = child([*command, "--json", "--threads", str(threads)], timeout)
        return json.loads(done["output"])["f1_macro"]["mean"]
    splits = bench.axis("scores")[f"{judge}_splits"]
    program = [bench.environments.python("suite"), bench.script("judge.py"), judge]
    done = child([*program, str(vectors), str(labels), str(splits)], timeout, threads)
    return json.loads(done["output"])["score"]


def by_judge(rows):
    """A row for each judge, or one with the failure."""
    answer = []
    for row in rows:
        scores = row.pop("scores", {})
        answer += [{**row, "judge": judge, **found} for judge, found in scores.items()]
        if "failure" in row:
            answer.append(row)
    return answer


def show(rows):
    text = []
    graphs = [graph for (graph,) in grouped(rows, "graph")]
    for judge in JUDGES:
        found = [row for row in rows if row.get("judge") == judge]
        if found:
            text += [f"### Judge `{judge}`\n", scores(found, graphs), against_rivals(found)]
    text += ["### Seconds of the whole process\n", seconds(rows, graphs)]
    # A judge that refuses a graph does so for every method: it is listed like a system.
    refused = [{**row, "system": f"judge `{row['judge']}`"} for row in rows if "judge" in row]
    return "\n".join(text) + failures(refused + [row for row in rows if "judge" not in row])


def scores(rows, graphs):
    """A line for each method, a column for each graph."""
    best = {graph: max(means(rows, graph).values(), default=None) for graph in graphs}
    lines = []
    for (system,), found in grouped(ours_first(rows), "system").items():
        cells = [cell(of_graph(found, graph), best[graph]) for graph in graphs]
        lines.append([system, *cells])
    return table(["method", *graphs], lines)


def cell(rows, best):
    found = values(rows, "score")
    if not found:
        return "—"
    mean = short(statistics.fmean(found))
    text = f"**{mean}**" if statistics.fmean(found) == best else mean
    return f"{text} ± {short(statistics.stdev(found))}" if len(found) > 1 else text


def short(value):
    """Three digits without the leading zero."""
    return f"{value:.3f}".replace("0.", ".", 1)


def against_rivals(rows):
    """The default of nearfar beside the best other system on each graph; losses are negative."""
    lines = []
    for (graph,), found in grouped(rows, "graph").items():
        mean = means(found, graph)
        theirs = {system: value for system, value in mean.items() if not is_ours(system)}
        if DEFAULT in mean and theirs:
            rival = max(theirs, key=theirs.get)
            difference = mean[DEFAULT] - theirs[rival]
            sign = "−" if difference < 0 else "+"
            cells = [short(mean[DEFAULT]), rival, short(theirs[rival])]
            lines.append([graph, *cells, sign + short(abs(difference))])
    head = ["graph", "nearfar, default", "best other method", "its score", "difference"]
    return table(head, lines) if lines else ""


def means(rows, graph):
    """The mean score of each method on a graph."""
    scored = [row for row in of_graph(rows, graph) if "score" in row]
    groups = grouped(scored, "system").items()
    return {system: statistics.fmean(values(found, "score")) for (system,), found in groups}


def seconds(rows, graphs):
    lines = []
    for (system,), found in grouped(ours_first(rows), "system").items():
        taken = [median(of_graph(found, graph), "seconds") for graph in graphs]
        lines.append([system, *("—" if value is None else number(value) for value in taken)])
    return table(["method", *graphs], lines)


def ours_first(rows):
    return sorted(rows, key=lambda row: not is_ours(row["system"]))


def of_graph(rows, graph):
    return [row for row in rows if row["graph"] == graph]
