"""Draws figures as SVG. Runs in the environment of the suite, which has Matplotlib.

    python plot.py FOLDER < figures.json

A figure is data: bars as (group, system, median, minimum, maximum), or lines as (system, points).
Colours are the colour-blind safe palette of Okabe and Ito: blues are nearfar, and a system has the
same colour and marker in all figures.
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
STYLE = {"svg.hashsalt": "nearfar", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3}
matplotlib.rcParams.update(STYLE)

import matplotlib.pyplot as pyplot

OURS = ["#0072B2", "#56B4E9", "#003F63"]
THEIRS = ["#E69F00", "#D55E00", "#009E73", "#CC79A7", "#F0E442", "#000000", "#999999"]
MARKS = "osD^vP*X"


def bars(axes, figure, looks):
    """Draws the bars of a group side by side, centred on its tick; all bars are equally wide."""
    groups = {}
    for bar in figure["bars"]:
        groups.setdefault(bar[0], []).append(bar)
    width = 0.85 / max(map(len, groups.values()), default=1)
    for place, group in enumerate(groups.values()):
        for at, (_, system, middle, least, most) in enumerate(sorted(group, key=ours_first)):
            x = place + (at - (len(group) - 1) / 2) * width
            axes.bar(x, middle, 0.92 * width, color=looks[system][0], label=system)
            if least < most:
                ranges = [[middle - least], [most - middle]]
                axes.errorbar(x, middle, ranges, color="#444444", capsize=2, linewidth=1)
    axes.set_xticks(range(len(groups)), groups)
    axes.grid(axis="x", visible=False)


def lines(axes, figure, looks):
    for _, system, points in sorted(([None, *line] for line in figure["lines"]), key=ours_first):
        if points:
            colour, mark = looks[system]
            axes.plot(*zip(*points), marker=mark, color=colour, label=system)
    axes.set_xlabel(figure["x"])
    if "x" in figure.get("log", ""):
        axes.set_xscale("log")
    if "y" in figure.get("log", ""):
        axes.set_yscale("log")


def ours_first(entry):
    return not entry[1].startswith("nearfar")


def looks_of(figures):
    """Colour and marker of every system, by first appearance in any figure."""
    named = [bar[1] for figure in figures for bar in figure.get("bars", [])]
    named += [line[0] for figure in figures for line in figure.get("lines", [])]
    systems = list(dict.fromkeys(named))
    ours = [system for system in systems if system.startswith("nearfar")]
    theirs = [system for system in systems if system not in ours]
    colours = [(ours, OURS), (theirs, THEIRS)]
    return {
        system: (choice[at % len(choice)], MARKS[(at + len(ours) * (some is theirs)) % len(MARKS)])
        for some, choice in colours
        for at, system in enumerate(some)
    }


def main():
    folder = Path(sys.argv[1])
    figures = json.load(sys.stdin)
    looks = looks_of(figures)
    for figure in figures:
        canvas, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
        axes.set_axisbelow(True)
        {"bars": bars, "lines": lines}[figure["kind"]](axes, figure, looks)
        axes.set_title(figure["title"], fontsize=10)
        axes.set_ylabel(figure["y"])
        handles, labels = axes.get_legend_handles_labels()
        named = dict(zip(labels, handles))
        if len(named) > 1:
            canvas.legend(named.values(), named.keys(), loc="outside right center", fontsize=8)
        canvas.savefig(folder / figure["file"], metadata={"Date": None, "Creator": None})
        pyplot.close(canvas)


if __name__ == "__main__":
    main()
