"""Features of nodes, and networks applied to other graphs."""

from __future__ import annotations

from pathlib import Path

import nearfar
import numpy as np
import pytest
import scipy.sparse as sp

EDGES = [("ann", "bob"), ("bob", "eve"), ("eve", "tim"), ("tim", "ann"), ("tim", "zoe")]
OPTIONS = {"model": "gcn", "dim": 4, "epochs": 3, "negatives": "uniform", "seed": 1}


def test_arrays_sparse_matrices_and_files_are_the_same(tmp_path: Path) -> None:
    dense = np.zeros((5, 7), np.float32)
    dense[np.arange(5), [0, 3, 3, 6, 1]] = [1, 2, 0.5, -1, 4]
    from_array = nearfar.embed(EDGES, features=dense, **OPTIONS)
    names = nearfar.Graph(EDGES).nodes
    (tmp_path / "f.nodes.tsv").write_text("".join(f"{name}\n" for name in names[::-1]))
    np.save(tmp_path / "f.npy", dense[::-1])
    sp.save_npz(tmp_path / "f.npz", sp.csr_matrix(dense[::-1]))
    for features in (tmp_path / "f.npy", tmp_path / "f.npz", sp.csr_array(dense), sp.coo_matrix(dense), dense.tolist()):
        found = nearfar.embed(EDGES, features=features, **OPTIONS)
        np.testing.assert_allclose(found.vectors, from_array.vectors, rtol=1e-4, atol=1e-6)


def test_a_saved_network_is_applied_to_another_graph(tmp_path: Path) -> None:
    features = np.random.default_rng(0).normal(size=(5, 3))
    file = tmp_path / "gcn.safetensors"
    emb = nearfar.embed(EDGES, features=features, save_model=file, **OPTIONS)
    again = nearfar.apply(file, EDGES, features)
    np.testing.assert_array_equal(again.vectors, emb.vectors)
    other = nearfar.apply(file, [(10, 11), (11, 12)], np.eye(3))
    assert other.nodes == [10, 11, 12] and other.vectors.shape == (3, 4)


def test_wrong_features_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="3 rows of features for 5 nodes"):
        nearfar.embed(EDGES, features=np.eye(3), **OPTIONS)
    with pytest.raises(ValueError, match="feature 1 of row 2 is NaN"):
        broken = np.zeros((5, 2))
        broken[2, 1] = np.nan
        nearfar.embed(EDGES, features=broken, **OPTIONS)
    with pytest.raises(ValueError, match="expected numbers of shape"):
        nearfar.embed(EDGES, features=np.zeros(5), **OPTIONS)
    with pytest.raises(ValueError, match="reads no features"):
        nearfar.embed(EDGES, features=np.eye(5), dim=4)
    with pytest.raises(ValueError, match="save_model needs features"):
        nearfar.embed(EDGES, save_model=tmp_path / "x", **OPTIONS)
