"""Pairs per second at equal budget.

A pair is one dot product of two rows and the two updates that follow, for positives and negatives
alike; a positive with its five negatives is six pairs. Pairs are counted as each system trains
them:

- word2vec (gensim, PecanPy, fastnode2vec, nodevectors, karateclub, NetworKit) draws the width of
  every window from 1 to 10, on both sides, and five negatives per positive;
- GRAPE takes whole windows of 19 and five negatives per *centre*;
- nearfar takes the ten nodes after a centre, if the walk has as many, and 50 negatives with them.
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
    return rows + bench.or_failure(lambda: bare(bench))


def bare(bench):
    """The arithmetic alone, on random rows of a table of the same size."""
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
    lines, bare_rates = [], []
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
            of_bare = f"{100 * rate / kernel:.0f} %" if kernel and is_ours(system) else ""
            times = f"{rate / best:.1f}" if best else ""
            speed, seconds = spread(found, "rate", 1e6), spread(found, "seconds")
            sixths = spread(found, "rate", 6e6)
            lines.append([graph, system, speed, sixths, seconds, times, of_bare])
    for (name,), found in grouped(kernels, "graph").items():
        bare_rates.append(f"a table of {name} {spread(found, 'rate', 1e6)}")
    head = ["graph", "system", "M pairs/s", "M positives with five negatives/s", "seconds"]
    head += ["ratio to the best rival", "% of the bare kernel"]
    note = ""
    if bare_rates:
        note = f"\nBare kernel, M pairs/s on two threads: {'; '.join(bare_rates)}.\n"
    return table(head, lines) + note + failures(rows)


def nearest(kernels, nodes):
    """The rate of the bare kernel on the smallest table of about this size, or the largest."""
    sizes = sorted({row["nodes"] for row in kernels})
    fitting = [size for size in sizes if size >= 0.8 * (nodes or 0)] or sizes[-1:]
    return (
        median([row for row in kernels if row["nodes"] == fitting[0]], "rate") if fitting else None
    )


def plots(rows):
    measured = [row for row in rates(rows) if row["system"] != "bare kernel"]
    return [
        {
            "file": "pairs.svg",
            "kind": "bars",
            "title": "Pairs per second, ten walks of 80, window 10, five negatives, two threads",
            "y": "million pairs per second",
            "bars": bars(measured, 1e6),
        }
    ]


def bars(rows, scale):
    """Medians and ranges of the rate, by graph and system, as bars of a figure."""
    answer = []
    for (graph, system), found in grouped(rows, "graph", "system").items():
        each = sorted(row["rate"] / scale for row in found)
        answer.append([graph, system, median(found, "rate") / scale, each[0], each[-1]])
    return answer
