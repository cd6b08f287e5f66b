"""Steps of walks per second: to any neighbour (order 1), and by node2vec's law (order 2).

Ours are those of `cargo bench -p nearfar --bench walks`: the walks that the trainer makes, written to
memory as it does. Theirs are the walks alone, as arrays of numbers: no strings, no sentences.
"""

import json

from axes.pairs import bars
from bench import three
from measure import in_turn
from summary import failures, grouped, is_ours, median, rates, spread, table

TITLE = "Walks: million steps per second"


def run(bench):
    axis = bench.axis("walks")
    rows = bench.told(lambda: ours(bench))
    for graph, what in bench.chosen(axis["graphs"]).items():
        cases = []
        for name in what["rivals"]:
            budget = {"walks": what["walks"], "length": what["length"]}
            text = name == "grape"
            for p, q in [(1.0, 1.0), (axis["p"], axis["q"])]:
                setting = order(1 if p == q == 1 else 2, p, q)
                cases.append(bench.rival(name, graph, "walks", setting, None, text, p=p, q=q, **budget))
        rows += in_turn(cases, bench.general, what.get("repeats"))
    return rows


def ours(bench):
    rows = []
    for line in bench.ours.bench("walks", *bench.axis("walks").get("words", "").split()).splitlines():
        if not line.startswith("{"):
            continue
        told = json.loads(line)
        known = "pubmed" if told["graph"] == "pubmed" else "random-1m-10m"
        setting = order(told["order"], told.get("p", 1.0), told.get("q", 4.0))
        fixed = {"graph": known, "system": "nearfar", "setting": setting}
        fixed |= {"nodes": told.get("nodes"), "threads": told.get("threads", 2)}
        fixed["version"] = bench.ours.version
        rows += three(fixed, told["steps_per_second"], *told.get("range", []))
    return rows


def order(number, p, q):
    return "order 1" if number == 1 else f"order 2, p = {p:g}, q = {q:g}"


def show(rows):
    measured = rates(rows)
    lines = []
    for (graph, setting, threads), found in grouped(measured, "graph", "setting", "threads").items():
        theirs = grouped([row for row in found if not is_ours(row["system"])], "system").values()
        best = max((median(some, "rate") for some in theirs), default=None)
        for (system,), some in grouped(found, "system").items():
            times = f"{median(some, 'rate') / best:.1f}" if best else ""
            speed = spread(some, "rate", 1e6)
            lines.append([graph, setting, f"{threads:.0f}", system, speed, times])
    lines.sort(key=lambda line: (line[0], line[1], line[2]))
    head = ["graph", "walks", "threads", "system", "M steps/s", "times the best rival"]
    return table(head, lines) + failures(rows)


def plots(rows):
    measured = [row for row in rates(rows) if row.get("threads") == 2]
    named = [{**row, "graph": f"{row['graph']}\n{row['setting']}"} for row in measured]
    return [{
        "file": "walks.svg",
        "kind": "bars",
        "title": "Steps of walks per second, two threads",
        "y": "million steps per second",
        "bars": bars(named, 1e6),
    }]
