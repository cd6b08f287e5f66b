"""Maps, notebooks, other libraries' types, and what is known of how vectors were made."""

from __future__ import annotations

import json
import pickle
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nearfar
import numpy as np
import pytest

SETTINGS: dict[str, Any] = {"dim": 8, "epochs": 3, "seed": 5, "negatives": "degree"}


@pytest.fixture(scope="module")
def emb() -> nearfar.Embedding:
    return nearfar.embed("builtin:karate", **SETTINGS)


def test_info_is_what_the_command_line_shows(
    emb: nearfar.Embedding, command_line: Callable[..., str], tmp_path: Path
) -> None:
    assert {name: emb.info[name] for name in SETTINGS} == SETTINGS
    assert emb.info["version"] == nearfar.__version__
    emb.save(tmp_path / "x.parquet")
    shown = json.loads(command_line("show", tmp_path / "x.parquet", "--json"))
    head = {name: shown[name] for name in ("version", "graph", "seed")}
    assert {**head, **shown["settings"]} == {name: value for name, value in emb.info.items() if value is not None}


@pytest.mark.parametrize("extension", ["parquet", "safetensors"])
def test_info_is_kept(emb: nearfar.Embedding, extension: str, tmp_path: Path) -> None:
    emb.save(tmp_path / f"x.{extension}")
    assert nearfar.load(tmp_path / f"x.{extension}").info == emb.info
    assert pickle.loads(pickle.dumps(emb)).info == emb.info
    emb.save(tmp_path / "x.npy")
    assert nearfar.load(tmp_path / "x.npy").info == {}
    assert nearfar.Embedding([1], [[2]]).info == {}


def test_map(emb: nearfar.Embedding) -> None:
    positions = emb.map()
    assert positions.shape == (34, 2) and positions.dtype == np.float32
    assert (emb.map(threads=1) == positions).all() and (emb.map(seed=1) != positions).any()
    unit = emb.vectors / np.linalg.norm(emb.vectors, axis=1, keepdims=True)
    left, scales, _ = np.linalg.svd(unit - unit.mean(0), full_matrices=False)
    expected = left[:, :2] * scales[:2]
    assert np.allclose(np.abs(emb.map("pca")), np.abs(expected), atol=1e-3)
    with pytest.raises(ValueError, match="perplexity=0"):
        emb.map(perplexity=0)


def test_plot(emb: nearfar.Embedding) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed").use("Agg")
    labels = nearfar.Graph("builtin:karate").labels
    axes = emb.plot(labels, method="pca")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["Mr. Hi", "Officer"]
    drawn = np.concatenate([points.get_offsets() for points in axes.collections])
    assert sorted(map(tuple, drawn.tolist())) == sorted(map(tuple, emb.map("pca").tolist()))
    assert len(emb.plot(method="pca").collections) == 1
    with pytest.raises(ValueError, match="labels has 2 entries for 34 vectors"):
        emb.plot(["a", "b"])


def test_html_for_notebooks_is_escaped() -> None:
    page = nearfar.Embedding(["<b>", "c"], [[1, 2], [3, 4]])._repr_html_()
    assert "2 nodes in 2 dimensions" in page and "&lt;b&gt;" in page and "<b>'" not in page
    assert "negatives degree" in nearfar.embed("builtin:karate", **SETTINGS)._repr_html_()


def test_polars(emb: nearfar.Embedding) -> None:
    polars = pytest.importorskip("polars")
    frame = emb.to_polars()
    assert frame.columns == ["node", "vector"] and frame["vector"].dtype == polars.Array(polars.Float32, 8)
    assert frame["node"].to_list() == emb.nodes
    assert (frame["vector"].to_numpy() == emb.vectors).all()


def test_anndata(emb: nearfar.Embedding) -> None:
    pytest.importorskip("anndata", reason="anndata is not installed")
    data = emb.to_anndata()
    assert data.shape == (34, 8) and (data.X == emb.vectors).all()
    assert list(data.obs_names[:3]) == ["0", "1", "2"]


def test_progress_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, page: str) -> None:
            shown.append(page)

    def display(page: str, display_id: bool) -> Handle:
        shown.append(page)
        return Handle()

    ipython, of_display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    of_display.HTML, of_display.display = str, display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", of_display)
    nearfar.embed("builtin:karate", progress=True, **SETTINGS)
    assert 'value="1.000"' in shown[-1] and "100% · 00:0" in shown[-1] and "epoch 3/3 " in shown[-1]
