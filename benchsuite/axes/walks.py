"""Walk steps per second: uniform steps (order 1) and node2vec steps (order 2).

For nearfar, `cargo bench -p nearfar --bench walks`: the walks of the trainer, written to memory as
there. For rivals, the walks alone, as arrays of integers, without conversion to strings.
"""

import json

from axes.pairs import bars
from bench import three
from measure import in_turn
from summary import failures, grouped, is_ours, median, rates, spread, table

TITLE = "Walks: million steps per second"
NAMES = {"pubmed": "pubmed", "uniform": "random-1m-10m"}


def run(bench):
    axis = bench.axis("walks")
    rows = bench.or_failure(lambda: ours(bench))
    for graph, what in bench.chosen(axis["graphs"]).items():
        cases = []
        for name in what["rivals"]:
            budget = {"walks": what["walks"], "length": what["length"]}
            text = name == "grape"
            for p, q in [(1.0, 1.0), (axis["p"], axis["q"])]:
                setting = order(1 if p == q == 1 else 2, p, q)
                cases.append(
                    bench.rival(name, graph, "walks", setting, None, text, p=p, q=q, **budget)
                )
        rows += in_turn(cases, bench.general, what.get("repeats"))
    return rows


def ours(bench):
    """Runs the benchmark, whose graphs have names of their own."""
    graphs = bench.chosen(bench.axis("walks")["graphs"])
    words = [name for name, graph in NAMES.items() if graph in graphs]
    rows = parse(bench.ours.bench("walks", *words)) if words else []
    return [{**row, "version": bench.ours.version} for row in rows]


def parse(output):
    """Parses lines of JSON, one per case."""
    rows = []
    for case in (json.loads(line) for line in output.splitlines() if line.startswith("{")):
        graph = NAMES[case["graph"]]
        setting = order(case["order"], case.get("p", 1.0), case.get("q", 1.0))
        fixed = {"graph": graph, "nodes": case["nodes"], "system": "nearfar", "setting": setting}
        fixed["threads"] = case["threads"]
        rows += three(fixed, case["steps_per_second"], *case["range"])
    return rows


def order(number, p, q):
    return "order 1" if number == 1 else f"order 2, p = {p:g}, q = {q:g}"


def show(rows):
    measured = rates(rows)
    lines = []
    for (graph, setting, threads), found in grouped(
        measured, "graph", "setting", "threads"
    ).items():
        theirs = grouped([row for row in found if not is_ours(row["system"])], "system").values()
        best = max((median(some, "rate") for some in theirs), default=None)
        for (system,), some in grouped(found, "system").items():
            times = f"{median(some, 'rate') / best:.1f}" if best else ""
            speed = spread(some, "rate", 1e6)
            lines.append([graph, setting, f"{threads:.0f}", system, speed, times])
    lines.sort(key=lambda line: (line[0], line[1], line[2]))
    head = ["graph", "walks", "threads", "system", "M steps/s", "ratio to the best rival"]
    return table(head, lines) + failures(rows)


def plots(rows):
    measured = [row for row in rates(rows) if row.get("threads") == 2]
    named = [{**row, "graph": f"{row['graph']}\n{row['setting']}"} for row in measured]
    return [
        {
            "file": "walks.svg",
            "kind": "bars",
            "title": "Walk steps per second, two threads",
            "y": "million steps per second",
            "bars": bars(named, 1e6),
        }
    ]
