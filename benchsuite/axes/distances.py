"""All distances of a graph: a table of them, ours and NetworKit's, and our whole process besides."""

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
        told = json.loads(bench.ours.bench("distances", threads=bench.general["threads"]))
        sums.add(told["first_row"])
        taken = {"seconds": told["table_seconds"], "nodes": told["nodes"]}
        return {**taken, "amount": told["nodes"] ** 2, "version": bench.ours.version}

    return bench.fixed(graph, "nearfar, a table"), once


def process(bench, graph):
    """Start, reading, table, sampler, one draw."""
    threads = bench.general["threads"]
    command = [bench.ours.binary(), "-q", "sample", bench.graphs.path(graph), "--node", "0", "-n", "1"]
    command += ["--negatives", "distance", "--strategy", "table", "--threads", str(threads)]

    def once(_):
        done = child(command, bench.general["timeout_seconds"], threads)
        return {**done, "version": bench.ours.version}

    return bench.fixed(graph, "nearfar, the whole process"), once


def checked(once, sums):
    """The same; the distances of node 0 have to add up to the same."""

    def again(repeat):
        measured = once(repeat)
        if measured.pop("sum") not in sums:
            raise Failure("its distances differ from ours")
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
    head = ["graph", "system", "seconds", "peak MB", "times as fast as the best rival"]
    return table(head, lines) + failures(rows)


def plots(rows):
    return []
