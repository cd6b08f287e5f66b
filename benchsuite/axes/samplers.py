"""Cost of each distribution of negatives relative to uniform: whole processes, default settings."""

from measure import in_turn
from summary import grouped, median, spread, table

TITLE = "Samplers relative to uniform"


def run(bench):
    rows = []
    for graph, what in bench.chosen(bench.axis("samplers")["graphs"]).items():
        cases = [bench.nearfar(graph, "nearfar", f"--negatives {law}", law) for law in what["laws"]]
        rows += in_turn(cases, bench.general, what.get("repeats"))
    return rows


def show(rows):
    lines = []
    for (graph,), of_graph in grouped(rows, "graph").items():
        by_law = grouped(of_graph, "setting")
        uniform = median(by_law.get(("uniform",), []), "seconds")
        for (law,), found in by_law.items():
            seconds = median(found, "seconds")
            if seconds is None:
                lines.append([graph, law, found[0].get("failure", "—"), "", ""])
                continue
            times = f"{seconds / uniform:.2f}" if uniform else ""
            taken, peak = spread(found, "seconds"), spread(found, "peak_bytes", 1e6)
            lines.append([graph, law, taken, times, peak])
    return table(["graph", "negatives", "seconds", "ratio to uniform", "peak MB"], lines)
