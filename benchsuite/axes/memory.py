"""Peak memory at equal budget: from the runs of `pairs`, so there is nothing to run here.

A rival's process holds Python and its packages; what it has before it opens the graph is given
beside it. Ours is the whole process.
"""

from summary import grouped, is_ours, median, spread, table

TITLE = "Peak memory at equal budget"
FROM = "pairs"


def show(rows):
    lines = []
    for (graph, system), found in grouped(rows, "graph", "system").items():
        if median(found, "peak_bytes"):
            before = "" if is_ours(system) else spread(found, "base_bytes", 1e6)
            lines.append([graph, system, spread(found, "peak_bytes", 1e6), before])
    return table(["graph", "system", "peak MB", "of these before the graph"], lines)


def plots(rows):
    return []
