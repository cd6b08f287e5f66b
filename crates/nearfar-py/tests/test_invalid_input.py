"""Errors name what is wrong and how to fix it.

Messages of the library are matched by the keyword and the value that they have to name; their wording
is tested there.
"""

from __future__ import annotations

from typing import Any

import nearfar
import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp


def weighted(weight: object) -> nx.Graph:
    graph = nx.path_graph(3)
    graph[1][2]["weight"] = weight
    return graph


INVALID: list[tuple[Any, type[Exception], str]] = [
    (weighted("heavy"), ValueError, "edge 1–2 has weight 'heavy'; expected a number"),
    (weighted("1.5"), ValueError, "edge 1–2 has weight '1.5'; expected a number"),
    (weighted(float("nan")), ValueError, "edge 1–2 has weight nan; expected a finite number"),
    (weighted(-1), ValueError, "edge 1–2 has weight -1; expected a finite number ≥ 0"),
    (weighted([1]), ValueError, r"edge 1–2 has weight \[1\]; expected a number"),
    (nx.Graph(), ValueError, "the graph has 0 nodes and 0 edges"),
    (nx.empty_graph(5), ValueError, "the graph has 5 nodes and 0 edges"),
    ([], ValueError, "the graph has 0 nodes and 0 edges"),
    (np.zeros((0, 2), int), ValueError, "the graph has 0 nodes and 0 edges"),
    (np.array([[0, -3]]), ValueError, "an edge has node -3; expected integers ≥ 0"),
    (np.array([[0.0, 1.0]]), ValueError, "the edge array has dtype float64; expected integers"),
    (np.array([["a", "b"]]), ValueError, "the edge array has dtype <U1; expected integers"),
    (np.array([[0, 2**40]]), ValueError, "num_nodes"),
    (np.zeros((3, 4), int), ValueError, r"the edge array has shape \(3, 4\); expected \(m, 2\)"),
    (sp.csr_array((2, 3)), ValueError, "the matrix has 2 rows and 3 columns; expected a square matrix"),
    (sp.csr_array(np.array([[0, np.nan], [np.nan, 0]])), ValueError, "edge 0–1 has weight nan"),
    (pd.DataFrame({"a": [1], "b": [2]}), ValueError, "no columns 'source' and 'target'; the columns are 'a', 'b'"),
    (pd.DataFrame({"source": [1.0], "target": [2.0]}), ValueError, "column 'source' has dtype float64"),
    (pd.DataFrame({"source": [1, None], "target": [2, 3]}), ValueError, "column 'source' has 1 missing values"),
    (pa.table({"source": ["a", None], "target": ["b", "c"]}), ValueError, "column 'source' has 1 missing values"),
    (pd.DataFrame({"source": [1], "target": [2], "weight": ["x"]}), ValueError, r"edge 1–2 \(row 0\) has weight 'x'"),
    ([({}, 1)], TypeError, "node ids must be hashable"),
    ([1, 2, 3], TypeError, "expected pairs"),
    (42, TypeError, "builtins.int is not a supported graph type; expected a path"),
    ("no/such/file.tsv", FileNotFoundError, "no/such/file.tsv"),
    ("builtin:nothing", ValueError, "builtin:nothing"),
]


@pytest.mark.parametrize(("graph", "error", "message"), INVALID)
def test_graphs(graph: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        nearfar.embed(graph)


OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"negative": 1}, TypeError, r"embed\(\) got an unexpected keyword argument 'negative'; did you mean 'k'"),
    ({"dimension": 8}, TypeError, "did you mean 'dim'"),
    ({"workers": 8}, TypeError, "did you mean 'threads'"),
    ({"gama": 8}, TypeError, "did you mean 'gamma'"),
    ({"xyzzy": 8}, TypeError, "expected one of batch, centre_power, checkpoint, config, context, "),
    ({"dim": 0}, ValueError, "^dim=0: .*1 to 4096"),
    ({"dim": "many"}, ValueError, '^dim="many": '),
    ({"dim": 1.5}, ValueError, "^dim=1.5: "),
    ({"lr": float("nan")}, ValueError, "^lr=nan: expected a finite number"),
    ({"negatives": "distanze"}, ValueError, "distanze.*auto.*uniform"),
    ({"degree_power": 99}, ValueError, "^degree_power=99: "),
    ({"negatives": "landmark", "landmarks": 99}, ValueError, "^landmarks=99: .*34"),
    ({"max_memory": "10kB"}, MemoryError, "max_memory"),
    ({"device_memory": "1GB"}, ValueError, "use device='cuda' or omit device_memory"),
    ({"max_memory": "plenty"}, ValueError, "^max_memory='plenty': .*800MB"),
    ({"threads": 0}, ValueError, "^threads=0: expected at least 1"),
    ({"callback": 3}, TypeError, "not callable"),
    ({"seed": -1}, ValueError, "^seed=-1: "),
]


@pytest.mark.parametrize(("options", "error", "message"), OPTIONS)
def test_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as raised:
        nearfar.embed("builtin:karate", **options)
    assert "--" not in str(raised.value), "options are spelled as keywords"


def test_other_functions() -> None:
    emb = nearfar.embed("builtin:karate", dim=4, epochs=1)
    with pytest.raises(KeyError, match="no node 'zoe'; the first node id is 0"):
        emb["zoe"]
    with pytest.raises(KeyError, match="no node 34"):
        emb[34]
    with pytest.raises(ValueError, match="k=0: expected at least 1"):
        emb.neighbors(0, k=0)
    with pytest.raises(ValueError, match="angle"):
        emb.neighbors(0, by="angle")
    with pytest.raises(ValueError, match="x.what: .*npy.* or give format"):
        emb.save("x.what")
    with pytest.raises(OSError, match="no/such/folder"):
        emb.save("no/such/folder/x.npy")
    with pytest.raises(FileNotFoundError, match="nothing.npy"):
        nearfar.load("nothing.npy")
    with pytest.raises(ValueError, match="two vectors have the same node id"):
        nearfar.Embedding(["a", "a"], [[1], [2]])
    with pytest.raises(ValueError, match="vectors have shape"):
        nearfar.Embedding(["a", "a"], [[1]])
    with pytest.raises(TypeError, match="either a preset, 'sparse'"):
        nearfar.synth()
    with pytest.raises(ValueError, match="thick"):
        nearfar.synth("thick")
    with pytest.raises(TypeError, match="did you mean 'num_nodes'"):
        nearfar.stats(np.array([[0, 1]]), num_node=3)


def test_options_that_do_not_apply_are_errors() -> None:
    for graph in (nx.path_graph(3), np.array([[0, 1]])):
        built = nearfar.Graph(graph)
        with pytest.raises(ValueError, match="num_nodes cannot be used with a Graph; set it when building"):
            nearfar.embed(built, num_nodes=7)
    with pytest.raises(ValueError, match="no columns to choose from.*weight"):
        nearfar.embed("builtin:karate", weight="cost")
    with pytest.raises(ValueError, match="no edge has the weight attribute 'cots'"):
        nearfar.embed(nx.path_graph(3), weight="cots")


def test_samplers() -> None:
    with pytest.raises(TypeError, match=r"NegativeSampler\(\) got an unexpected keyword argument 'gama'"):
        nearfar.NegativeSampler("builtin:karate", gama=1)
    sampler = nearfar.NegativeSampler("builtin:karate", "edge")
    with pytest.raises(KeyError, match="no node 34; the first node id is 0"):
        sampler.sample([0, 34])
    with pytest.raises(TypeError, match="'0' is a single node; expected a list"):
        sampler.sample("0")
    with pytest.raises(ValueError, match=r"edge_index has shape \(3,\); expected \(2, m\)"):
        sampler.sample_edges([1, 2, 3])
    star = nearfar.NegativeSampler([(0, 1), (0, 2)], "edge")
    with pytest.raises(ValueError, match="row 0"):
        star.sample([1, 0])
