"""Time and memory of `embed --negatives auto` against the number of nodes, at constant mean degree.

The exponents are slopes of least-squares lines through the logarithms of the medians against the
logarithm of the number of nodes.
"""

import math

from measure import in_turn
from summary import failures, grouped, median, spread, table

TITLE = "Scaling with the size of the graph"


def run(bench):
    axis = bench.axis("growth")
    cases = []
    for nodes in axis["nodes"]:
        name = f"{axis['kind']}-{nodes}"
        edges = nodes * axis["degree"] // 2
        bench.suite["graphs"][name] = {"kind": axis["kind"], "nodes": nodes, "edges": edges}
        cases.append(bench.nearfar(name, "nearfar", axis["options"], axis["options"]))
    rows = in_turn(cases, bench.general, axis["repeats"])
    return [{**row, "score": float(axis["fit_from"])} for row in rows]


def show(rows):
    lines = [
        [f"{nodes:.0f}", spread(found, "seconds"), spread(found, "peak_bytes", 1e6)]
        for (nodes,), found in grouped(measured(rows), "nodes").items()
    ]
    time, memory = exponent(rows, "seconds"), exponent(rows, "peak_bytes")
    fits = ""
    if time is not None:
        least = rows[0]["score"]
        fits = (
            f"\nFitted exponents from {least:.0f} nodes on: time {time:.2f}, memory {memory:.2f}.\n"
        )
    return table(["nodes", "seconds", "peak MB"], lines) + fits + failures(rows)


def measured(rows):
    return [row for row in rows if "seconds" in row]


def exponent(rows, name):
    fitted = [row for row in measured(rows) if row["nodes"] >= row["score"]]
    points = [
        (math.log(nodes), math.log(median(found, name)))
        for (nodes,), found in grouped(fitted, "nodes").items()
    ]
    if len(points) < 2:
        return None
    x_mean = sum(x for x, _ in points) / len(points)
    y_mean = sum(y for _, y in points) / len(points)
    across = sum((x - x_mean) * (y - y_mean) for x, y in points)
    return across / sum((x - x_mean) ** 2 for x, _ in points)


def plots(rows):
    def line(name, scale):
        groups = grouped(measured(rows), "nodes").items()
        return [[nodes, median(found, name) / scale] for (nodes,), found in groups]

    return [
        {
            "file": f"growth-{what}.svg",
            "kind": "lines",
            "title": f"{what.capitalize()} of embed --negatives auto at mean degree 10",
            "x": "nodes",
            "y": label,
            "log": "xy",
            "lines": [["nearfar", line(name, scale)]],
        }
        for what, label, name, scale in [
            ("time", "seconds, whole process", "seconds", 1.0),
            ("memory", "peak memory, MB", "peak_bytes", 1e6),
        ]
    ]
