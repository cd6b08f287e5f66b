"""Similar vectors: against NumPy, and approximate against exact."""

from __future__ import annotations

from typing import Any

import nearfar
import numpy as np
import pytest


@pytest.fixture(scope="module")
def emb() -> nearfar.Embedding:
    vectors = np.random.default_rng(0).standard_normal((300, 12))
    return nearfar.Embedding([f"n{row}" for row in range(300)], vectors)


def units(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("by", ["cosine", "dot"])
def test_nearest_agrees_with_a_full_sort(emb: nearfar.Embedding, by: Any) -> None:
    table = units(emb.vectors) if by == "cosine" else emb.vectors
    similarity = table @ table.T
    np.fill_diagonal(similarity, -np.inf)
    order = np.argsort(-similarity, axis=1)[:, :7]
    rows, similarities = emb.nearest(k=7, by=by)
    assert rows.dtype == np.int64 and similarities.dtype == np.float32
    assert (rows == order).all()
    assert np.allclose(similarities, np.take_along_axis(similarity, order, 1), atol=1e-5)
    some = ["n9", "n200"]
    assert (emb.nearest(some, k=7, by=by)[0] == order[[9, 200]]).all()
    assert emb.neighbors(some, k=7, by=by) == [emb.neighbors(node, k=7, by=by) for node in some]


def test_nearest_of_vectors(emb: nearfar.Embedding) -> None:
    queries = np.random.default_rng(1).standard_normal((5, 12))
    expected = np.argsort(-(units(queries) @ units(emb.vectors).T), axis=1)[:, :4]
    assert (emb.nearest(vectors=queries, k=4)[0] == expected).all()
    assert emb.nearest(vectors=emb.vectors[3:4], k=1)[0].tolist() == [[3]], "no node is left out"
    with pytest.raises(ValueError, match=r"vectors have shape \(5,\); expected \(m, 12\)"):
        emb.nearest(vectors=np.zeros(5))
    with pytest.raises(ValueError, match="nodes cannot be combined with vectors"):
        emb.nearest(["n1"], vectors=queries)


def test_most_similar_and_similarity(emb: nearfar.Embedding) -> None:
    table = units(emb.vectors)
    query = table[4] + table[7] - table[11]
    similarity = table @ (query / np.linalg.norm(query))
    similarity[[4, 7, 11]] = -np.inf
    order = np.argsort(-similarity)[:6]
    found = emb.most_similar(["n4", "n7"], negative="n11", k=6)
    assert [node for node, _ in found] == [f"n{row}" for row in order]
    assert np.allclose([value for _, value in found], similarity[order], atol=1e-5)
    assert dict(emb.most_similar("n3", k=5)) == pytest.approx(dict(emb.neighbors("n3", k=5)))
    assert emb.similarity("n1", "n2") == pytest.approx(float(table[1] @ table[2]), abs=1e-6)
    assert np.allclose(emb.similarity("n1", ["n2", "n3"], by="dot"), emb.vectors[[2, 3]] @ emb.vectors[1])
    assert emb.similarity(["n1", "n2"], ["n1", "n2"]) == pytest.approx([1.0, 1.0])
    assert nearfar.Embedding([0, 1], [[0, 0], [1, 0]]).similarity(0, 1) == 0.0


def test_approximate_search(emb: nearfar.Embedding) -> None:
    pytest.importorskip("usearch", reason="usearch is not installed")
    index = emb.ann_index()
    assert index.recall(k=10, sample=100) > 0.95
    assert index.neighbors("n5", k=1)[0][0] == emb.neighbors("n5", k=1)[0][0]
    rows, similarities = index.nearest(["n5", "n6"], k=3)
    assert rows.shape == similarities.shape == (2, 3) and 5 not in rows[0]
    assert np.allclose(similarities[0], emb.similarity("n5", [emb.nodes[row] for row in rows[0]]), atol=1e-4)
