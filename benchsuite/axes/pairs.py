"""Pairs per second at equal budget.

A pair is one product of two rows and the two updates that follow, of a positive or a negative alike;
a positive with its five negatives is six of them. Everyone's pairs are counted as trained:

- word2vec (gensim, PecanPy, fastnode2vec, nodevectors, karateclub, NetworKit) draws the width of
  every window from 1 to 10, to both sides, and five negatives for every positive;
- GRAPE takes whole windows of 19 and five negatives for every *centre*;
- ours takes the ten nodes after a centre, where all ten are there, and 50 negatives with them.
"""

import re

from bench import three
from measure import in_turn
from summary import failures, grouped, is_ours, median, rates, spread, table

TITLE = "Pairs per second at equal budget"


def run(bench):
    rows = []
    for graph, what in bench.chosen(bench.axis("pairs")["graphs"]).items():
        cases = bench.at_budget(graph)
        cases += [bench.rival(name, graph, "embed") for name in what["rivals"]]
        rows += in_turn(cases, bench.general, what.get("repeats"))
    return rows + bench.told(lambda: bare(bench))


def bare(bench):
    """The arithmetic alone, at random rows of a table of a size: what the machine can do."""
    words = bench.axis("pairs")["bare"].split()
    output = bench.ours.bench("training", *words)
    rows = []
    for line in output.splitlines():
        found = re.search(r"(\d+) nodes .* 2 threads .* bare ([\d.]+) \(([\d.]+)–([\d.]+)\)", line)
        if found:
            nodes, *rate = (float(text) for text in found.groups())
            fixed = {"graph": f"{nodes:.0f} rows", "nodes": nodes, "system": "bare kernel"}
            fixed["threads"] = 2
            rows += three(fixed, *(1e6 * each for each in rate))
    return rows


def show(rows):
    rows = rates(rows) + [row for row in rows if "failure" in row]
    kernels = [row for row in rows if row["system"] == "bare kernel"]
    lines, told = [], []
    measured = [row for row in rows if row["system"] != "bare kernel"]
    for (graph,), of_graph in grouped(measured, "graph").items():
        theirs = [row for row in of_graph if not is_ours(row["system"])]
        by_system = grouped(theirs, "system")
        best = max((median(found, "rate") or 0 for found in by_system.values()), default=0)
        kernel = nearest(kernels, median(of_graph, "nodes"))
        for (system,), found in grouped(of_graph, "system").items():
            rate = median(found, "rate")
            if rate is None:
                continue
            share = f"{100 * rate / kernel:.0f} %" if kernel and is_ours(system) else ""
            times = f"{rate / best:.1f}" if best else ""
            speed, seconds = spread(found, "rate", 1e6), spread(found, "seconds")
            lines.append([graph, system, speed, spread(found, "rate", 6e6), seconds, times, share])
    for (name,), found in grouped(kernels, "graph").items():
        told.append(f"a table of {name} {spread(found, 'rate', 1e6)}")
    head = ["graph", "system", "M pairs/s", "M positives with five negatives/s", "seconds"]
    head += ["times the best rival", "of the bare kernel"]
    bare = f"\nThe bare kernel, M pairs/s on two threads: {'; '.join(told)}.\n" if told else ""
    return table(head, lines) + bare + failures(rows)


def nearest(kernels, nodes):
    """The bare kernel's rate on the smallest table that is as large, or the largest there is."""
    sizes = sorted({row["nodes"] for row in kernels})
    fitting = [size for size in sizes if size >= 0.8 * (nodes or 0)] or sizes[-1:]
    return median([row for row in kernels if row["nodes"] == fitting[0]], "rate") if fitting else None


def plots(rows):
    measured = [row for row in rates(rows) if row["system"] != "bare kernel"]
    return [{
        "file": "pairs.svg",
        "kind": "bars",
        "title": "Pairs per second, ten walks of 80, window 10, five negatives, two threads",
        "y": "million pairs per second",
        "bars": bars(measured, 1e6),
    }]


def bars(rows, scale):
    """Medians and ranges of the rate, by graph and system."""
    answer = []
    for (graph, system), found in grouped(rows, "graph", "system").items():
        each = sorted(row["rate"] / scale for row in found)
        answer.append([graph, system, median(found, "rate") / scale, each[0], each[-1]])
    return answer
