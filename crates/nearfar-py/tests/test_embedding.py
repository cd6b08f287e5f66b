"""Embeddings: memory, access, files, and agreement with the command line."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nearfar
import networkx as nx
import numpy as np
import pytest


@pytest.fixture(scope="module")
def emb() -> nearfar.Embedding:
    return nearfar.embed(nx.relabel_nodes(nx.karate_club_graph(), "m{}".format), dim=8, epochs=3, seed=1)


def test_vectors_share_memory_with_the_extension() -> None:
    emb = nearfar.embed("builtin:karate", dim=8, epochs=1)
    address = emb._engine.__array_interface__["data"][0]
    assert emb.vectors.ctypes.data == address
    assert emb.vectors.dtype == np.float32 and emb.vectors.shape == (34, 8)
    assert np.shares_memory(emb[3], emb.vectors)
    assert not emb.vectors.flags.writeable
    vectors, before = emb.vectors, emb.vectors.copy()
    del emb
    gc.collect()
    assert vectors.ctypes.data == address and (vectors == before).all(), "the array keeps the memory alive"


def test_access_by_id(emb: nearfar.Embedding) -> None:
    assert emb.nodes[:2] == ["m0", "m1"] and len(emb) == 34 and emb.dim == 8
    assert (emb["m5"] == emb.vectors[5]).all()
    assert (emb[["m5", "m2"]] == emb.vectors[[5, 2]]).all()
    assert "m5" in emb and "x" not in emb and [] not in emb
    assert list(emb) == emb.nodes
    assert repr(emb) == "Embedding of 34 nodes in 8 dimensions: 'm0', 'm1', 'm2', ..."
    assert np.asarray(emb) is emb.vectors or np.shares_memory(np.asarray(emb), emb.vectors)


def test_neighbors_agree_with_a_full_sort(emb: nearfar.Embedding) -> None:
    unit = emb.vectors / np.linalg.norm(emb.vectors, axis=1, keepdims=True)
    for by, table in (("cosine", unit), ("dot", emb.vectors)):
        similarity = table @ table[7]
        similarity[7] = -np.inf
        order = np.argsort(-similarity)[:5]
        found = emb.neighbors("m7", k=5, by=by)
        assert [node for node, _ in found] == [f"m{row}" for row in order]
        assert np.allclose([value for _, value in found], similarity[order], atol=1e-6)
    assert len(emb.neighbors("m7", k=1000)) == 33


@pytest.mark.parametrize("extension", ["npy", "w2v", "parquet", "safetensors", "tsv"])
def test_files_preserve_ids_and_bytes(emb: nearfar.Embedding, extension: str, tmp_path: Path) -> None:
    file = tmp_path / f"x.{extension}"
    emb.save(file)
    loaded = nearfar.load(str(file))
    assert loaded.nodes == emb.nodes
    assert (loaded.vectors == emb.vectors).all()
    integers = nearfar.Embedding([5, -2, 10**12], [[1], [2], [3]])
    integers.save(file)
    assert nearfar.load(file).nodes == [5, -2, 10**12]
    nearfar.Embedding(["5", "05"], [[1], [2]]).save(file)
    assert nearfar.load(file).nodes == ["5", "05"]


def test_ids_with_the_same_string_cannot_be_saved(tmp_path: Path) -> None:
    emb = nearfar.embed([(1, "1"), ("1", (2,))], dim=2, epochs=1)
    assert emb.nodes == [1, "1", (2,)]
    with pytest.raises(ValueError, match="nodes 1 and '1' are both written as '1'"):
        emb.save(tmp_path / "x.npy")


def test_pickle_and_copy(emb: nearfar.Embedding) -> None:
    for copied in (pickle.loads(pickle.dumps(emb)), copy.deepcopy(emb)):
        assert copied.nodes == emb.nodes and (copied.vectors == emb.vectors).all()
        assert copied.neighbors("m3") == emb.neighbors("m3")
    graph = nearfar.synth("sparse", nodes=100)
    restored = pickle.loads(pickle.dumps(graph))
    assert (restored.nodes, restored.labels, restored.splits) == (graph.nodes, graph.labels, graph.splits)
    assert (nearfar.embed(restored, dim=4).vectors == nearfar.embed(graph, dim=4).vectors).all()


def test_to_pandas(emb: nearfar.Embedding) -> None:
    frame = emb.to_pandas()
    assert frame.shape == (34, 8) and frame.index.name == "node"
    assert (frame.loc["m5"].to_numpy() == emb["m5"]).all()


def test_gensim_keys_are_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    class KeyedVectors:
        def __init__(self, vector_size: int) -> None:
            self.vector_size = vector_size

        def add_vectors(self, keys: list[str], vectors: Any) -> None:
            self.keys, self.vectors = keys, vectors

    models = types.ModuleType("gensim.models")
    models.KeyedVectors = KeyedVectors  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gensim", types.ModuleType("gensim"))
    monkeypatch.setitem(sys.modules, "gensim.models", models)
    vectors = nearfar.Embedding(range(2), [[1, 2], [3, 4]]).to_keyedvectors()
    assert (vectors.vector_size, vectors.keys) == (2, ["0", "1"])


COMMANDS: list[tuple[str, dict[str, Any]]] = [
    ("builtin:karate", {"dim": 16, "seed": 7}),
    ("builtin:sparse", {"dim": 24, "epochs": 2, "negatives": "landmark-approx", "landmarks": 0.05, "gamma": -1.0}),
    ("builtin:karate", {"negatives": "degree", "degree_power": 0.5, "walks": 3, "k": 5, "l2": 0.1, "context": 4}),
    ("builtin:moderate", {"epochs": 1, "negatives": "distance-max", "negative_weight": 2.0, "threads": 1}),
    ("builtin:karate", {"model": "node2vec", "p": 0.5, "q": 2.0, "walk_length": 9, "epochs": 2}),
    ("builtin:karate", {"model": "line", "order": 2, "epochs": 2}),
]


@pytest.mark.parametrize(("graph", "options"), COMMANDS)
def test_bytes_equal_those_of_the_command_line(
    graph: str, options: dict[str, Any], command_line: Callable[..., str], tmp_path: Path
) -> None:
    flags = [part for name, value in options.items() for part in ("--" + name.replace("_", "-"), value)]
    command_line("embed", graph, "-o", tmp_path / "a.npy", *flags)
    nearfar.embed(graph, **options).save(tmp_path / "b.npy")
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()
    assert (tmp_path / "a.nodes.tsv").read_bytes() == (tmp_path / "b.nodes.tsv").read_bytes()


def test_bytes_do_not_depend_on_the_graph_type(
    command_line: Callable[..., str], tmp_path: Path
) -> None:
    graph = nx.relabel_nodes(nx.karate_club_graph(), "m{}".format)
    (tmp_path / "nodes.tsv").write_text("\n".join(graph))
    with open(tmp_path / "edges.tsv", "w") as file:
        for a, b, data in graph.edges(data=True):
            file.write(f"{a}\t{b}\t{data['weight']}\n")
    command_line("embed", tmp_path, "-o", tmp_path / "a.parquet", "--dim", 8)
    nearfar.embed(graph, dim=8).save(tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_stats_equal_those_of_the_command_line(command_line: Callable[..., str]) -> None:
    import json

    expected = json.loads(command_line("stats", "builtin:sparse", "--json"))
    assert expected.pop("read")["nodes"] == expected["nodes"]
    histogram = expected["distance_histogram"].items()
    expected["distance_histogram"] = {int(hops): count for hops, count in histogram}
    assert nearfar.stats("builtin:sparse") == expected


def test_distances_equal_those_of_networkx() -> None:
    graph = nx.gnm_random_graph(60, 50, seed=1)
    table = nearfar.distances(graph, list(graph))
    for a, row in nx.all_pairs_shortest_path_length(graph):
        assert table[a].tolist() == [row.get(b, -1) for b in graph]
    assert table.dtype == np.int32
    assert (nearfar.distances(graph, 7) == table[7]).all()
    assert nearfar.distances(graph, []).shape == (0, 60)
