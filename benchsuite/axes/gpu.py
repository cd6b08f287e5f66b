"""Whole processes on a GPU (`--device cuda`), on all processors of its machine.

The time of training is that of the log: all epochs, sampling included, without the start of the driver,
initial vectors and smoothing. All runs of a case have the same seed, and the table says whether their files
of vectors have the same bytes. Where memory is limited, the table of vectors stays on the host and streams
through the GPU in parts. Tests of the kernels run before, if their program is given (`--tests`). Where there
is no GPU, this axis says so and measures nothing.
"""

import hashlib
import os

from measure import Failure, child, in_turn
from summary import failures, grouped, rates, spread, table

TITLE = "GPU"


def run(bench):
    axis, threads = bench.axis("gpu"), os.cpu_count()
    try:
        bench.ours.embed("builtin:karate", "--epochs 1 --device cuda", threads)
    except Failure as failure:
        return [{"graph": "—", "system": "nearfar", "failure": str(failure)}]
    rows = tests(bench)
    for group in axis["groups"]:
        graph = group["graph"]
        is_left = group.get("if_named") and graph not in bench.asked.graph
        if is_left or not bench.graphs.is_wanted(graph):
            continue
        cases = [case(bench, graph, axis["options"], own, threads) for own in group["cases"]]
        rows += in_turn(cases, bench.general, group.get("repeats"))
        bench.save(rows)
    return rows


def tests(bench):
    """A row of the tests of kernels, which compare a GPU with plain Rust, if they are given."""
    if not bench.asked.tests:
        return []
    fixed = {"graph": "—", "system": "nearfar", "setting": "tests"}
    once = lambda _: {"seconds": child([str(bench.asked.tests), "a_gpu"], 120)["seconds"]}
    return in_turn([(fixed, once)], bench.general, 1)


def case(bench, graph, common, own, threads):
    vectors = bench.ours.scratch / "vectors.npy"
    fixed, once = bench.nearfar(graph, "nearfar", f"{common} {own}", own, threads, vectors)

    def digested(_):
        measured = once(0)
        with open(vectors, "rb") as file:
            measured["digest"] = hashlib.file_digest(file, "sha256").hexdigest()[:16]
        return measured

    return fixed, digested


def show(rows):
    lines = []
    for (graph, setting), found in grouped(rows, "graph", "setting").items():
        if not any("seconds" in row for row in found):
            continue
        trained = [{**row, "seconds": row["train_seconds"]} for row in found if "amount" in row]
        seconds, rate = spread(trained, "seconds"), spread(rates(trained), "rate", 1e6)
        lines.append([graph, setting, spread(found, "seconds"), seconds, rate, digests(found)])
    head = ["graph", "options", "seconds, whole process", "seconds, epochs", "M pairs/s", "bytes"]
    return table(head, lines) + failures(rows)


def digests(rows):
    """Of which bytes the vectors of runs are: `5 × 0123456789abcdef`."""
    found = grouped([row for row in rows if "digest" in row], "digest")
    return ", ".join(f"{len(same)} × {digest[:8]}" for (digest,), same in found.items())
