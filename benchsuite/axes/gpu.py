"""Whole processes on a GPU (`--device cuda`) and on all processors of the same machine.

The time of training is that of the log: all epochs, sampling included, without the start of the driver,
initial vectors and smoothing. Where there is no GPU, this axis says so and measures nothing.
"""

from measure import Failure, in_turn
from summary import failures, grouped, rates, spread, table

TITLE = "GPU"


def run(bench):
    axis = bench.axis("gpu")
    cases = []
    for graph, laws in bench.chosen(axis["graphs"]).items():
        for law in laws:
            for device in ("cuda", "cpu"):
                options = f"--negatives {law} --device {device} {axis['options']}"
                cases.append(bench.nearfar(graph, "nearfar", options, f"{law}: {device}", axis["threads"]))
    probe = bench.graphs.path(axis["probe"])
    try:
        bench.ours.embed(probe, "--epochs 1 --device cuda", 1)
    except Failure as failure:
        return [{"graph": "—", "system": "nearfar", "failure": str(failure)}]
    return in_turn(cases, bench.general)


def show(rows):
    lines = []
    for (graph, setting), found in grouped(rows, "graph", "setting").items():
        if not any("seconds" in row for row in found):
            continue
        trained = rates([{**row, "seconds": row.get("train_seconds")} for row in found])
        lines.append([graph, setting, spread(found, "seconds"), spread(trained, "rate", 1e6)])
    return table(["graph", "negatives: device", "seconds, whole process", "M pairs/s"], lines) + failures(rows)
