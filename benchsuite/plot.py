"""Draws figures as SVG; runs in the suite's environment, which has Matplotlib.

    python plot.py FOLDER < figures.json

A figure is data: bars as (group, system, median, least, most), or lines as (system, points). Colours
are those of Okabe and Ito, which colour-blind readers can tell apart; ours is always the first, and
systems have marks besides.
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
STYLE = {"svg.hashsalt": "nearfar", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3}
matplotlib.rcParams.update(STYLE)

import matplotlib.pyplot as pyplot

COLOURS = ["#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00", "#CC79A7", "#F0E442", "#000000"]
MARKS = "osD^vP*X"


def bars(axes, figure):
    groups = list(dict.fromkeys(bar[0] for bar in figure["bars"]))
    systems = ours_first({bar[1]: None for bar in figure["bars"]})
    width = 0.85 / max(1, len(systems))
    for at, system in enumerate(systems):
        own = [bar for bar in figure["bars"] if bar[1] == system]
        places = [groups.index(bar[0]) + (at - (len(systems) - 1) / 2) * width for bar in own]
        middle = [bar[2] for bar in own]
        ranges = [[bar[2] - bar[3] for bar in own], [bar[4] - bar[2] for bar in own]]
        colour = COLOURS[at % len(COLOURS)]
        axes.bar(places, middle, width * 0.92, yerr=ranges, color=colour, label=system, capsize=2)
    axes.set_xticks(range(len(groups)), groups)
    axes.grid(axis="x", visible=False)


def lines(axes, figure):
    named = dict(figure["lines"])
    for at, system in enumerate(ours_first(named)):
        points = named[system]
        if points:
            x, y = zip(*points)
            mark, colour = MARKS[at % len(MARKS)], COLOURS[at % len(COLOURS)]
            axes.plot(x, y, marker=mark, color=colour, label=system)
    axes.set_xlabel(figure["x"])
    if "x" in figure.get("log", ""):
        axes.set_xscale("log")
    if "y" in figure.get("log", ""):
        axes.set_yscale("log")


def ours_first(systems):
    return sorted(systems, key=lambda system: not system.startswith("nearfar"))


def main():
    folder = Path(sys.argv[1])
    for figure in json.load(sys.stdin):
        canvas, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
        axes.set_axisbelow(True)
        {"bars": bars, "lines": lines}[figure["kind"]](axes, figure)
        axes.set_title(figure["title"], fontsize=10)
        axes.set_ylabel(figure["y"])
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=8)
        canvas.savefig(folder / figure["file"], metadata={"Date": None, "Creator": None})
        pyplot.close(canvas)


if __name__ == "__main__":
    main()
