"""Vectors of graphs that changed, of unseen nodes, and runs that start from vectors."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar


@pytest.fixture
def edges() -> list[tuple[str, str]]:
    pairs = nearfar.Graph("builtin:karate").edge_index.T
    return [(f"n{a}", f"n{b}") for a, b in pairs.tolist()]


def without(edges: list[tuple[str, str]], node: str) -> list[tuple[str, str]]:
    return [edge for edge in edges if node not in edge]


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_update_adds_and_removes_nodes(edges: list[tuple[str, str]]) -> None:
    old = nearfar.embed(without(edges, "n33"), dim=16)
    now = without(edges, "n16")
    new = old.update(now)
    assert new.updated == {"new": 1, "removed": 1, "moved": 17, "kept": 15}
    assert "n33" in new and "n16" not in new and old.updated is None
    neighbors = {a for edge in now for a in edge if "n33" in edge} - {"n33"}
    for node in new:
        if node != "n33":
            same = bool((new[node] == old[node]).all())
            assert same != (node in neighbors), node
    assert (new.vectors == old.update(now, threads=1).vectors).all()


def test_update_of_the_same_graph_changes_nothing(edges: list[tuple[str, str]]) -> None:
    old = nearfar.embed(edges, dim=8)
    assert (old.update(edges, edges).vectors == old.vectors).all()
    moved = old.update([*edges, ("n15", "n16")], old_graph=edges)
    assert moved.updated == {"new": 0, "removed": 0, "moved": 2, "kept": 32}


def test_transform_moves_nobody(edges: list[tuple[str, str]]) -> None:
    emb = nearfar.embed(edges, dim=8)
    unseen = emb.transform([("x", "n0"), ("x", "n1"), ("y", "x")])
    assert unseen.nodes == ["x", "y"]
    mean = emb["n0"] + emb["n1"]
    assert cosine(unseen["x"], mean) > 0.99
    lengths = np.linalg.norm(emb[["n0", "n1"]], axis=1)
    np.testing.assert_allclose(np.linalg.norm(unseen.vectors, axis=1), lengths.mean(), rtol=1e-5)
    with pytest.raises(ValueError, match="'b' has no path to a node with a vector"):
        emb.transform([("x", "n0"), ("b", "c")])
    with pytest.raises(ValueError, match="every node of the graph has a vector"):
        emb.transform(edges)


def test_the_estimator_transforms_unseen_nodes(edges: list[tuple[str, str]]) -> None:
    model = nearfar.NearFar(dim=8).fit(edges)
    found = model.transform([("n3", "new"), ("n2", "new")])
    assert found.shape == (3, 8)
    assert (found[0] == model.embedding_["n3"]).all()
    assert (found[1] == model.embedding_.transform([("n3", "new"), ("n2", "new")])["new"]).all()
    subset = model.transform([("n3", "n2"), ("n2", "n1")])
    assert (subset == model.embedding_[["n3", "n2", "n1"]]).all()


def test_init_starts_from_vectors(edges: list[tuple[str, str]]) -> None:
    old = nearfar.embed(without(edges, "n33"), dim=8)
    new = nearfar.embed(edges, dim=8, init=old, lr=1e-9, epochs=1, smoothing=0)
    np.testing.assert_allclose(new["n5"], old["n5"], atol=1e-5)
    with pytest.raises(ValueError, match="dim=16: the given vectors have 8 dimensions"):
        nearfar.embed(edges, dim=16, init=old)
    with pytest.raises(ValueError, match="gcn computes its vectors"):
        nearfar.embed(edges, dim=8, model="gcn", init=old)
    broken = nearfar.Embedding(old.nodes, np.where(old.vectors > 0, np.nan, old.vectors))
    with pytest.raises(ValueError, match="has NaN in dimension"):
        nearfar.embed(edges, dim=8, init=broken)
    with pytest.raises(ValueError, match="no node of the graph has a given vector"):
        old.update([(1, 2), (2, 3)])


def test_init_may_be_a_file(edges: list[tuple[str, str]], tmp_path) -> None:
    old = nearfar.embed(edges, dim=8)
    old.save(tmp_path / "x.npy")
    again = nearfar.embed(edges, dim=8, epochs=2, init=tmp_path / "x.npy")
    assert (again.vectors == nearfar.embed(edges, dim=8, epochs=2, init=old).vectors).all()
