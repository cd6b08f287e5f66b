"""Negatives drawn per second on one core: `cargo bench -p nearfar --bench negatives`.

A few draws for each of many random centres, whose rows come from memory, and many draws for one
centre, whose row is in cache.
"""

import re

from bench import three
from summary import failures, grouped, median, rates, table

TITLE = "Negatives: million draws per second on one core"


def run(bench):
    words = bench.axis("draws")["words"]
    return bench.or_failure(lambda: parse(bench.ours.bench("negatives", *words)))


def parse(output):
    """Parses lines of Criterion: a name, optionally followed by the time, then the throughput."""
    rows, name = [], None
    scale = {"K": 1e3, "M": 1e6, "G": 1e9}
    for line in output.splitlines():
        found = re.match(r"(\S+)/(\S+)/gamma (\S+)/(.*?)(\s+time:.*)?$", line)
        if found and not line.startswith("Benchmarking"):
            name = found[1], f"{found[2]}, γ = {found[3]}: {found[4].strip()}"
        rate = re.search(r"thrpt:\s+\[(\S+) ([KMG])elem/s (\S+) ([KMG])elem/s (\S+) ([KMG])", line)
        if rate and name:
            low, middle, high = (float(rate[i]) * scale[rate[i + 1]] for i in (1, 3, 5))
            fixed = {"graph": name[0], "system": "nearfar", "setting": name[1], "threads": 1}
            rows += three(fixed, middle, low, high)
    return rows


def show(rows):
    measured = [{**row, **split(row["setting"])} for row in rates(rows)]
    ways = list(dict.fromkeys(row["way"] for row in measured))
    lines = []
    for (graph, law), found in grouped(measured, "graph", "law").items():
        by_way = grouped(found, "way")
        each = [f"{median(by_way.get((way,), []), 'rate') / 1e6:.0f}" for way in ways]
        lines.append([graph, law, *each])
    return table(["graph", "negatives", *ways], lines) + failures(rows)


def split(setting):
    law, way = setting.split(": ")
    return {"law": law, "way": way}
