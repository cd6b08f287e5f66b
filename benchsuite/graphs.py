"""Graphs: dataset folders, and random graphs generated on demand.

    python graphs.py KIND NODES EDGES FOLDER

generates a random graph (in the environment of the suite, which has NumPy): `edges.npy`, and with
`--text` also `edges.tsv`. With `--labels N`, for KIND `planted`, also `labels.tsv` with N labels.
"""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path


class Graphs:
    """Finds graphs by name."""

    def __init__(self, suite, data, folder, environments, asked=()):
        self.suite, self.data, self.folder = suite, Path(data), Path(folder)
        self.environments, self.asked = environments, asked

    def is_wanted(self, name):
        """Whether a graph is available, and selected if there is a selection."""
        if self.asked and name not in self.asked:
            return False
        return name in self.suite["graphs"] or (self.data / name / "edges.tsv").exists()

    def job(self, name, text=True):
        """The fields of an adapter's job that describe a graph."""
        if name not in self.suite["graphs"]:
            folder = self.data / name
            nodes = json.loads((folder / "meta.json").read_text())["nodes"]
            return {"edges": str(folder / "edges.tsv"), "nodes": nodes}
        definition = self.suite["graphs"][name]
        folder = self.random(definition, text)
        files = {"edges": str(folder / "edges.tsv"), "edges_npy": str(folder / "edges.npy")}
        return {**files, "nodes": definition["nodes"]}

    def path(self, name):
        """The path that `nearfar` reads."""
        if name not in self.suite["graphs"]:
            return str(self.data / name)
        return self.job(name, text=False)["edges_npy"]

    def labels(self, name):
        """The file of labels."""
        if name not in self.suite["graphs"]:
            return str(self.data / name / "labels.tsv")
        return str(self.random(self.suite["graphs"][name]) / "labels.tsv")

    def random(self, definition, text=False):
        kind, nodes, edges = (definition[key] for key in ("kind", "nodes", "edges"))
        labels = f"-{definition['labels']}" if "labels" in definition else ""
        folder = self.folder / f"{kind}-{nodes}-{edges}{labels}"
        if not (folder / ("edges.tsv" if text else "edges.npy")).exists():
            python = sys.executable if find_spec("numpy") else self.environments.python("suite")
            command = [python, __file__, kind, str(nodes), str(edges), str(folder)]
            command += ["--labels", str(definition["labels"])] if labels else []
            subprocess.run([*command, *(["--text"] if text else [])], check=True)
        return folder


def make(kind, nodes, edges):
    """Random pairs. The first end iterates over all nodes, so that none is isolated."""
    import numpy

    random = numpy.random.default_rng(0)
    first = numpy.arange(edges, dtype=numpy.uint32) % nodes
    unit = random.random(edges)
    # `popular`: squaring the uniform number favours low rows, which gives heavy-tailed degrees.
    second = (nodes * (unit if kind == "uniform" else unit**2)).astype(numpy.uint32)
    second[first == second] = (second[first == second] + 1) % nodes
    return numpy.stack([first, second], 1)


def main():
    import numpy

    import planted

    kind, nodes, edges, folder = sys.argv[1:5]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "planted":
        labels = int(sys.argv[sys.argv.index("--labels") + 1])
        pairs, own = planted.make(int(nodes), int(edges), labels)
        lines = "".join(f"{node}\t{label}\n" for node, label in enumerate(own.tolist()))
        (folder / "labels.tsv").write_text(lines)
    else:
        pairs = make(kind, int(nodes), int(edges))
    numpy.save(folder / "edges.npy", pairs)
    if "--text" in sys.argv:
        with open(folder / "edges.tsv", "w") as file:
            for some in numpy.array_split(pairs, max(1, len(pairs) // 1_000_000)):
                file.write("\n".join(f"{a}\t{b}" for a, b in some.tolist()) + "\n")


if __name__ == "__main__":
    main()
