"""Reading a text edge list into a graph in memory.

For nearfar, the reader of the library is timed in a process of its own (the program of
`cargo bench --bench large`); as for the rivals, only reading is timed.
"""

import re

from axes.pairs import bars
from measure import child, in_turn
from summary import failures, grouped, is_ours, median, rates, spread, table

TITLE = "Loading a text edge list"


def run(bench):
    rows = []
    for graph, what in bench.chosen(bench.axis("loading")["graphs"]).items():
        cases = [ours(bench, graph)]
        cases += [bench.rival(name, graph, "load") for name in what["rivals"]]
        rows += in_turn(cases, bench.general, what.get("repeats"))
    return rows


def ours(bench, graph):
    def once(_):
        edges = bench.suite["graphs"][graph]["edges"]
        command = [bench.ours.executable("large"), "read", bench.graphs.job(graph)["edges"]]
        done = child(command, bench.general["timeout_seconds"], bench.general["threads"])
        seconds = float(re.match(r"read .*?: ([\d.]+) s", done["output"])[1])
        taken = {"seconds": seconds, "peak_bytes": done["peak_bytes"], "base_bytes": 0}
        return {**taken, "amount": edges, "version": bench.ours.version}

    return bench.fixed(graph, "nearfar"), once


def show(rows):
    lines = []
    for (graph,), of_graph in grouped(rates(rows), "graph").items():
        theirs = grouped([row for row in of_graph if not is_ours(row["system"])], "system").values()
        best = max((median(found, "rate") for found in theirs), default=None)
        for (system,), found in grouped(of_graph, "system").items():
            times = f"{median(found, 'rate') / best:.1f}" if best else ""
            speed, peak = spread(found, "rate", 1e6), spread(found, "peak_bytes", 1e6)
            lines.append([graph, system, spread(found, "seconds"), speed, times, peak])
    head = ["graph", "system", "seconds", "M edges/s", "ratio to the best rival", "peak MB"]
    return table(head, lines) + failures(rows)


def plots(rows):
    return [
        {
            "file": "loading.svg",
            "kind": "bars",
            "title": "Reading a text edge list",
            "y": "million edges per second",
            "bars": bars(rates(rows), 1e6),
        }
    ]
