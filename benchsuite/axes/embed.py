"""Whole processes with default settings, from the graph file to the file of vectors."""

from measure import in_turn
from summary import failures, grouped, spread, table

TITLE = "`nearfar embed`, default settings"


def run(bench):
    axis = bench.axis("embed")
    graphs = [name for name in axis["graphs"] if bench.graphs.is_wanted(name)]
    cases = [
        bench.nearfar(graph, "nearfar", f"--negatives {law}", law)
        for graph in graphs
        for law in axis["laws"]
    ]
    return in_turn(cases, bench.general)


def show(rows):
    lines = [
        [graph, law, spread(found, "seconds"), spread(found, "peak_bytes", 1e6)]
        for (graph, law), found in grouped(rows, "graph", "setting").items()
    ]
    return table(["graph", "negatives", "seconds", "peak MB"], lines) + failures(rows)
