"""The trainer, a bare kernel and Hogwild: `cargo bench -p nearfar --bench training`.

Graphs of mean degree 5, five walks of five nodes and 50 negatives per node. *Bare kernel* is only
the arithmetic, on random rows of a table of the same size; *Hogwild* is the same trainer without
blocks, on one table shared by all threads without locks.
"""

import re

from bench import three
from summary import failures, grouped, median, rates, spread, table

TITLE = "Training: million pairs per second"
# As in the CSV, and as on the page.
WAYS = {
    "with sampling": "with sampling",
    "without": "without sampling",
    "bare": "bare kernel",
    "racing": "Hogwild",
}
RATE = r"([\d.]+) \(([\d.]+)–([\d.]+)\)"
LINE = re.compile(
    rf"\s*(\d+) nodes\s+(\w+)\s+(\d) threads  M pairs/s: {RATE} with sampling, {RATE} without; "
    rf"bare {RATE} .*, Hogwild {RATE} .*"
)


def run(bench):
    rows = []
    for words in map(str.split, bench.axis("training")["words"]):
        rows += bench.or_failure(lambda words=words: parse(bench.ours.bench("training", *words)))
    return rows


def parse(output):
    rows = []
    for found in filter(None, map(LINE.fullmatch, output.splitlines())):
        nodes, law, threads, *rates_ = found.groups()
        for at, way in enumerate(WAYS):
            fixed = {"graph": f"{nodes} nodes", "nodes": int(nodes), "system": "nearfar"}
            fixed |= {"setting": f"{law}: {way}", "threads": int(threads)}
            rows += three(fixed, *(1e6 * float(rate) for rate in rates_[3 * at : 3 * at + 3]))
    return rows


def show(rows):
    lines = []
    measured = [dict(row, law=row["setting"].split(": ")[0]) for row in rates(rows)]
    for (graph, law, threads), found in grouped(measured, "graph", "law", "threads").items():
        ways = [[row for row in found if row["setting"] == f"{law}: {way}"] for way in WAYS]
        of_bare = 100 * median(ways[0], "rate") / median(ways[2], "rate")
        rates_ = [spread(way, "rate", 1e6) for way in ways]
        lines.append([graph, law, f"{threads:.0f}", *rates_, f"{of_bare:.0f} %"])
    head = ["graph", "negatives", "threads", *WAYS.values(), "with sampling, % of bare"]
    return table(head, lines) + failures(rows)
