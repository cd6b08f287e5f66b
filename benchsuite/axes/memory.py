"""Peak memory of the processes of `pairs`.

The process of a rival includes Python and its packages; its memory before it opens the graph is
given beside it.
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
    return table(["graph", "system", "peak MB", "before the graph, MB"], lines)
