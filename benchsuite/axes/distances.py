"""All-pairs distances: the table alone (nearfar, NetworKit), and a whole process of nearfar."""

import json

from measure import Failure, child, in_turn
from summary import failures, grouped, median, spread, table

TITLE = "All-pairs distances"


def run(bench):
    rows = []
    for graph, what in bench.chosen(bench.axis("distances")["graphs"]).items():
        sums = set()
        theirs = [bench.rival(name, graph, "distances") for name in what["rivals"]]
        cases = [a_table(bench, graph, sums), process(bench, graph)]
        cases += [(fixed, checked(once, sums)) for fixed, once in theirs]
        rows += in_turn(cases, bench.general)
    return rows


def a_table(bench, graph, sums):
    def once(_):
        found = json.loads(bench.ours.bench("distances", threads=bench.general["threads"]))
        sums.add(found["first_row"])
        taken = {"seconds": found["table_seconds"], "nodes": found["nodes"]}
        return {**taken, "amount": found["nodes"] ** 2, "version": bench.ours.version}

    return bench.fixed(graph, "nearfar, a table"), once


def process(bench, graph):
    """A whole process: start, reading, table, sampler, one draw."""
    threads = bench.general["threads"]
    command = [
        bench.ours.binary(),
        "-q",
        "sample",
        bench.graphs.path(graph),
        "--node",
        "0",
        "-n",
        "1",
    ]
    command += ["--negatives", "distance", "--strategy", "table", "--threads", str(threads)]

    def once(_):
        done = child(command, bench.general["timeout_seconds"], threads)
        return {**done, "version": bench.ours.version}

    return bench.fixed(graph, "nearfar, the whole process"), once


def checked(once, sums):
    """The same case, which fails if the sum of the distances of node 0 differs from ours."""

    def again(repeat):
        measured = once(repeat)
        if measured.pop("sum") not in sums:
            raise Failure("distances differ from those of nearfar")
        return measured

    return again


def show(rows):
    lines = []
    theirs = [row for row in rows if not row["system"].startswith("nearfar")]
    for (graph, system), found in grouped(rows, "graph", "system").items():
        if median(found, "seconds") is None:
            continue
        best = median([row for row in theirs if row["graph"] == graph], "seconds")
        times = f"{best / median(found, 'seconds'):.1f}" if best else ""
        peak = spread(found, "peak_bytes", 1e6)
        lines.append([graph, system, spread(found, "seconds"), peak, times])
    head = ["graph", "system", "seconds", "peak MB", "speedup over the best rival"]
    return table(head, lines) + failures(rows)
