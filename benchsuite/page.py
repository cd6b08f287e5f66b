"""Writes README.md and the figures of a run from all the CSV files that are in its folder."""

import importlib
import json
import re
import subprocess

import measure
from summary import grouped

ORDER = ["pairs", "memory", "quality", "walks", "distances", "loading", "threads", "growth", "samplers"]
ORDER += ["embed", "draws", "training", "large"]


def axis(name):
    return importlib.import_module(f"axes.{name}")


def write(folder, environments):
    sections, figures = [], []
    machines = json.loads((folder / "machine.json").read_text())
    for name in ORDER:
        module = axis(name)
        source = getattr(module, "FROM", name)
        rows = measure.read(folder / f"{source}.csv")
        if not rows:
            continue
        drawn = module.plots(rows)
        figures += drawn
        pictures = "".join(f"\n![{each['title']}]({each['file']})\n" for each in drawn)
        note = f"[Every run]({source}.csv){repeats(rows)}. {machines[source]}. {versions(rows)}"
        text = [f"## {module.TITLE}", about(module), module.show(rows) + pictures, note]
        sections.append("\n\n".join(text))
    head = (
        "# Recorded run\n\nMade by `benchsuite/run`; [what is measured, and how](../../README.md). "
        "Figures are medians with the least and the most of all runs; the cases of an axis ran in "
        "turn. Two threads where nothing else is said.\n"
    )
    left_out = [f"- {name}: {why}" for name, why in environments.suite["left_out"].items()]
    sections.append("## Not run\n\n" + "\n".join(left_out))
    text = "\n\n".join([head, *sections]) + "\n"
    (folder / "README.md").write_text(re.sub(r"\n{3,}", "\n\n", text))
    program = [environments.python("suite"), environments.here / "plot.py", folder]
    subprocess.run(program, input=json.dumps(figures), text=True, check=True)


def repeats(rows):
    """How often cases ran; benchmarks that give only a median and a range do not count."""
    ran = [row for row in rows if row.get("seconds") not in (None, 1.0)]
    sizes = [len(found) for found in grouped(ran, "graph", "system", "setting", "threads").values()]
    if not sizes:
        return ", median and range of the benchmark's own runs"
    least, most = min(sizes), max(sizes)
    return f", {least} to {most} of each case" if least < most else f", {most} of each case"


def versions(rows):
    """Everyone's, in one sentence."""
    named = [row for row in rows if "version" in row]
    found = {f"{row['system'].split(',')[0]} {row['version']}": None for row in named}
    return f"{', '.join(found)}." if found else ""


def about(module):
    """The axis' own words, a paragraph or an item a line; not those that only repeat the title."""
    paragraphs = [
        re.sub(r"\s*\n\s*(?!- )", " ", paragraph)
        for paragraph in module.__doc__.strip().split("\n\n")
    ]
    return "\n\n".join(each for each in paragraphs if each != f"{module.TITLE}.")
