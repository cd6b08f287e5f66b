"""The same budget on one and two threads. nearfar gives the same bytes on any number of threads."""

from measure import in_turn
from summary import failures, grouped, median, rates, spread, table

TITLE = "Threads"


def run(bench):
    axis = bench.axis("threads")
    rows = []
    for graph, what in bench.chosen(axis["graphs"]).items():
        cases = []
        for threads in axis["threads"]:
            cases += bench.at_budget(graph, threads)
            theirs = what["rivals"]
            cases += [bench.rival(name, graph, "embed", threads=threads) for name in theirs]
        rows += in_turn(cases, bench.general, what.get("repeats"))
    return rows


def show(rows):
    lines = []
    for (graph, system), found in grouped(rates(rows), "graph", "system").items():
        by_threads = grouped(found, "threads")
        one = median(by_threads.get((1.0,), []), "rate")
        for (threads,), some in by_threads.items():
            gain = f"{median(some, 'rate') / one:.2f}" if one else ""
            lines.append([graph, system, f"{threads:.0f}", spread(some, "rate", 1e6), gain])
    head = ["graph", "system", "threads", "M pairs/s", "speedup"]
    return table(head, lines) + failures(rows)
