"""The trainer beside a bare kernel and racing threads: `cargo bench -p nearfar --bench training`.

Graphs of mean degree 5, five walks of five nodes and 50 negatives a node. *Bare* is only the
arithmetic, at random rows of a table of the same size; *racing* is the same trainer without blocks,
on one table without locks.
"""

import re

from bench import three
from summary import failures, grouped, median, rates, spread, table

TITLE = "Training beside its ceilings, million pairs per second"
WAYS = ["with sampling", "without", "bare", "racing"]
RATE = r"([\d.]+) \(([\d.]+)–([\d.]+)\)"
LINE = re.compile(
    rf"\s*(\d+) nodes\s+(\w+)\s+(\d) threads  M pairs/s: {RATE} with sampling, {RATE} without; "
    rf"bare {RATE} .*, racing {RATE} .*"
)


def run(bench):
    rows = []
    for words in bench.axis("training")["words"]:
        rows += bench.told(lambda: parse(bench.ours.bench("training", *words.split())))
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
        share = 100 * median(ways[0], "rate") / median(ways[2], "rate")
        rates_ = [spread(way, "rate", 1e6) for way in ways]
        lines.append([graph, law, f"{threads:.0f}", *rates_, f"{share:.0f} %"])
    head = ["graph", "negatives", "threads", *WAYS, "with sampling, of bare"]
    return table(head, lines) + failures(rows)


def plots(rows):
    return []
