"""What is wrong is said in words that help to mend it."""

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


WRONG: list[tuple[Any, type[Exception], str]] = [
    (weighted("heavy"), ValueError, "edge 1–2 has weight 'heavy'; weights are numbers"),
    (weighted("1.5"), ValueError, "edge 1–2 has weight '1.5'; weights are numbers"),
    (weighted(float("nan")), ValueError, "edge 1–2 has weight nan; weights are finite"),
    (weighted(-1), ValueError, "edge 1–2 has weight -1; weights are finite and not negative"),
    (weighted([1]), ValueError, r"edge 1–2 has weight \[1\]; weights are numbers"),
    (nx.Graph(), ValueError, "a graph of 0 nodes and 0 edges"),
    (nx.empty_graph(5), ValueError, "a graph of 5 nodes and 0 edges"),
    ([], ValueError, "a graph of 0 nodes and 0 edges"),
    (np.zeros((0, 2), int), ValueError, "a graph of 0 nodes and 0 edges"),
    (np.array([[0, -3]]), ValueError, "an edge of node -3; nodes are integers from 0 on"),
    (np.array([[0.0, 1.0]]), ValueError, "edges of type float64; nodes are integers"),
    (np.array([["a", "b"]]), ValueError, "edges of type <U1; nodes are integers"),
    (np.array([[0, 2**40]]), ValueError, "num_nodes"),
    (np.zeros((3, 4), int), ValueError, r"an array of shape \(3, 4\); edges are of shape"),
    (sp.csr_array((2, 3)), ValueError, "a matrix of 2 rows and 3 columns; a graph's is square"),
    (sp.csr_array(np.array([[0, np.nan], [np.nan, 0]])), ValueError, "edge 0–1 has weight nan"),
    (pd.DataFrame({"a": [1], "b": [2]}), ValueError, "no columns 'source' and 'target'; it has 'a', 'b'"),
    (pd.DataFrame({"source": [1.0], "target": [2.0]}), ValueError, "column 'source' holds float64"),
    (pd.DataFrame({"source": [1, None], "target": [2, 3]}), ValueError, "1 rows have no value in column 'source'"),
    (pa.table({"source": ["a", None], "target": ["b", "c"]}), ValueError, "1 rows have no value in column 'source'"),
    (pd.DataFrame({"source": [1], "target": [2], "weight": ["x"]}), ValueError, r"edge 1–2 \(row 0\) has weight 'x'"),
    ([({}, 1)], TypeError, "ids have to be hashable"),
    ([1, 2, 3], TypeError, "a list that is not one of pairs"),
    (42, TypeError, "builtins.int is not a graph; give a path"),
    ("no/such/file.tsv", FileNotFoundError, "no/such/file.tsv: cannot read: no such file"),
    ("builtin:nothing", ValueError, "builtin:nothing is unknown"),
]


@pytest.mark.parametrize(("graph", "error", "message"), WRONG)
def test_graphs(graph: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        nearfar.embed(graph)


OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"negative": 1}, TypeError, r"embed\(\) got an unexpected keyword argument 'negative'; did you mean 'k'"),
    ({"dimension": 8}, TypeError, "did you mean 'dim'"),
    ({"workers": 8}, TypeError, "did you mean 'threads'"),
    ({"gama": 8}, TypeError, "did you mean 'gamma'"),
    ({"xyzzy": 8}, TypeError, "there are batch, checkpoint, config, context, "),
    ({"dim": 0}, ValueError, "dim is 0; it takes 1 to 4096"),
    ({"dim": "many"}, ValueError, 'dim cannot be "many"'),
    ({"dim": 1.5}, ValueError, "dim cannot be 1.5"),
    ({"lr": float("nan")}, ValueError, "lr is nan; it takes a finite number"),
    ({"negatives": "distanze"}, ValueError, "unknown variant `distanze`, expected one of `auto`, `uniform`"),
    ({"degree_power": 99}, ValueError, "degree_power is 99; it takes"),
    ({"negatives": "landmark", "landmarks": 99}, ValueError, "use landmarks 34 or fewer"),
    ({"max_memory": "10kB"}, MemoryError, "more than max_memory"),
    ({"max_memory": "plenty"}, ValueError, "max_memory is plenty; it takes a size such as 800MB"),
    ({"threads": 0}, ValueError, "threads is 0; it takes at least 1"),
    ({"callback": 3}, TypeError, "not callable"),
    ({"seed": -1}, ValueError, "seed cannot be -1"),
]


@pytest.mark.parametrize(("options", "error", "message"), OPTIONS)
def test_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        nearfar.embed("builtin:karate", **options)


def test_other_calls() -> None:
    emb = nearfar.embed("builtin:karate", dim=4, epochs=1)
    with pytest.raises(KeyError, match="no node 'zoe'; ids look like 0"):
        emb["zoe"]
    with pytest.raises(KeyError, match="no node 34"):
        emb[34]
    with pytest.raises(ValueError, match="k is 0"):
        emb.neighbors(0, k=0)
    with pytest.raises(ValueError, match="unknown variant `angle`"):
        emb.neighbors(0, by="angle")
    with pytest.raises(ValueError, match="x.what: unknown file extension '.what'; use one of .npy"):
        emb.save("x.what")
    with pytest.raises(OSError, match="cannot write"):
        emb.save("no/such/folder/x.npy")
    with pytest.raises(FileNotFoundError, match="no such file"):
        nearfar.load("nothing.npy")
    with pytest.raises(ValueError, match="two vectors have the same node"):
        nearfar.Embedding(["a", "a"], [[1], [2]])
    with pytest.raises(ValueError, match="vectors of shape"):
        nearfar.Embedding(["a", "a"], [[1]])
    with pytest.raises(TypeError, match="a preset, 'sparse'"):
        nearfar.synth()
    with pytest.raises(ValueError, match="unknown variant `thick`"):
        nearfar.synth("thick")
    with pytest.raises(TypeError, match="did you mean 'num_nodes'"):
        nearfar.stats(np.array([[0, 1]]), num_node=3)


def test_what_does_not_apply_is_not_swallowed() -> None:
    for graph in (nx.path_graph(3), np.array([[0, 1]])):
        own = nearfar.Graph(graph)
        with pytest.raises(ValueError, match="num_nodes does not apply to this graph; a Graph is made"):
            nearfar.embed(own, num_nodes=7)
    with pytest.raises(ValueError, match="weight does not apply to this graph; a file says it itself"):
        nearfar.embed("builtin:karate", weight="cost")
    with pytest.raises(ValueError, match="no edge has an attribute 'cots' for weights"):
        nearfar.embed(nx.path_graph(3), weight="cots")


def test_samplers() -> None:
    with pytest.raises(TypeError, match=r"NegativeSampler\(\) got an unexpected keyword argument 'gama'"):
        nearfar.NegativeSampler("builtin:karate", gama=1)
    sampler = nearfar.NegativeSampler("builtin:karate", "edge")
    with pytest.raises(KeyError, match="no node 34; ids look like 0"):
        sampler.sample([0, 34])
    with pytest.raises(TypeError, match="'0' is one node; give a list"):
        sampler.sample("0")
    with pytest.raises(ValueError, match=r"edge_index of shape \(3,\)"):
        sampler.sample_edges([1, 2, 3])
    star = nearfar.NegativeSampler([(0, 1), (0, 2)], "edge")
    with pytest.raises(ValueError, match="row 0 is linked to every other node"):
        star.sample([1, 0])
