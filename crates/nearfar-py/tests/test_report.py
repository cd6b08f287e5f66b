"""Reports from Python."""

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


def test_the_page_is_that_of_the_command_line(emb: nearfar.Embedding, tmp_path: Path) -> None:
    emb.save(tmp_path / "v.npy")
    ours = nearfar.report(tmp_path / "v.npy", tmp_path / "ours.html", "builtin:karate", seed=3)
    theirs = tmp_path / "theirs.html"
    command = [os.environ["NEARFAR_BIN"], "report", tmp_path / "v.npy", "--graph", "builtin:karate"]
    subprocess.run([*command, "--seed", "3", "-q", "-o", theirs], check=True)
    assert ours.read_bytes() == theirs.read_bytes()


def test_labels_of_any_kind_and_vectors_in_any_order(emb: nearfar.Embedding, tmp_path: Path) -> None:
    graph = networkx.karate_club_graph()
    labels = {node: club for node, club in graph.nodes(data="club")}
    page = tmp_path / "page.html"
    first = nearfar.report(emb, page, graph, labels, title="x").read_bytes()
    order = list(reversed(emb.nodes))
    swapped = nearfar.Embedding(order, emb[order])
    assert nearfar.report(swapped, page, graph, labels, title="x").read_bytes() == first
    assert nearfar.report(np.asarray(emb), page, title="x").read_bytes() != first


def test_what_is_wrong_is_said(emb: nearfar.Embedding, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    with pytest.raises(ValueError, match="give the graph that was embedded"):
        nearfar.report(emb, page, networkx.path_graph(5))
    with pytest.raises(TypeError, match="perplexity"):
        nearfar.report(emb, page, perplexitty=3)
    with pytest.raises(ValueError, match="expected 1 to 1000"):
        nearfar.report(emb, page, perplexity=0)
    with pytest.raises(OSError, match="make it, or choose another"):
        nearfar.report(emb, tmp_path / "no" / "page.html")
    assert not page.exists()
