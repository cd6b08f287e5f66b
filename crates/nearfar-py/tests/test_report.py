"""HTML reports."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import networkx
import numpy as np
import pytest

import nearfar


@pytest.fixture(scope="module")
def emb() -> nearfar.Embedding:
    return nearfar.embed("builtin:karate", dim=8, seed=0)


def test_page_equals_that_of_the_command_line(emb: nearfar.Embedding, tmp_path: Path) -> None:
    emb.save(tmp_path / "v.npy")
    page = nearfar.report(tmp_path / "v.npy", tmp_path / "python.html", "builtin:karate", seed=3)
    expected = tmp_path / "command.html"
    command = [os.environ["NEARFAR_BIN"], "report", tmp_path / "v.npy", "--graph", "builtin:karate"]
    subprocess.run([*command, "--seed", "3", "-q", "-o", expected], check=True)
    assert page.read_bytes() == expected.read_bytes()


def test_labels_by_id_and_vectors_in_another_order(emb: nearfar.Embedding, tmp_path: Path) -> None:
    graph = networkx.karate_club_graph()
    labels = {node: club for node, club in graph.nodes(data="club")}
    page = tmp_path / "page.html"
    # Without the record of its run, which vectors from an array do not have.
    plain = nearfar.Embedding(emb.nodes, emb.vectors)
    first = nearfar.report(plain, page, graph, labels, title="x").read_bytes()
    order = list(reversed(emb.nodes))
    reordered = nearfar.Embedding(order, emb[order])
    assert nearfar.report(reordered, page, graph, labels, title="x").read_bytes() == first
    assert nearfar.report(np.asarray(emb), page, title="x").read_bytes() != first


def test_errors(emb: nearfar.Embedding, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    with pytest.raises(ValueError, match="pass the graph that was embedded"):
        nearfar.report(emb, page, networkx.path_graph(5))
    with pytest.raises(TypeError, match="perplexity"):
        nearfar.report(emb, page, perplexitty=3)
    with pytest.raises(ValueError, match="perplexity=0: .*1 to 1000"):
        nearfar.report(emb, page, perplexity=0)
    with pytest.raises(OSError, match="/no"):
        nearfar.report(emb, tmp_path / "no" / "page.html")
    assert not page.exists()
