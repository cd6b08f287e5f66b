"""Files as other libraries and collections write them: what was read, in the words that users see.

Each case is written by the library itself; files of collections and programs without a library here
(SNAP, KONECT, METIS, Gephi) have the text that those publish.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nearfar
import numpy as np
import pytest

NAMES = ["a", "b", "c", "d", "e"]
#: A triangle with a tail, and a node without edges.
ENDS = [(0, 1), (1, 2), (0, 2), (2, 3)]
WEIGHTS = [2.0, 0.5, 3.0, 1.5]
LETTERS = [(NAMES[a], NAMES[b]) for a, b in ENDS]


def lines(rows: list[Any], sep: str = " ", head: str = "") -> bytes:
    return (head + "".join(sep.join(map(str, row)) + "\n" for row in rows)).encode()


def networkx(ids: list[Any], weighted: bool = True, kind: str = "Graph") -> Any:
    import networkx as nx

    graph = getattr(nx, kind)()
    graph.add_nodes_from(ids)
    for (a, b), weight in zip(ENDS, WEIGHTS, strict=True):
        graph.add_edge(ids[a], ids[b], **({"weight": weight} if weighted else {}))
    return graph


def igraph(named: bool = True, weighted: bool = True, directed: bool = False) -> Any:
    import igraph

    graph = igraph.Graph(n=5, edges=ENDS, directed=directed)
    if named:
        graph.vs["name"] = NAMES
    if weighted:
        graph.es["weight"] = WEIGHTS
    return graph


def columns(ends: list[Any] = LETTERS, **more: Any) -> dict[str, list[Any]]:
    return {"source": [a for a, _ in ends], "target": [b for _, b in ends], "weight": WEIGHTS, **more}


def pandas(**more: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(columns(**more))


def polars(**more: Any) -> Any:
    import polars as pl

    return pl.DataFrame(columns(**more))


def arrow(path: Path, **options: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.table(columns()), path, **options)


def arrow_stream(path: Path) -> None:
    import pyarrow as pa

    table = pa.table(columns())
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def matrix(symmetric: bool, ones: bool = False) -> Any:
    import scipy.sparse as sp

    values = [1.0] * 4 if ones else WEIGHTS
    upper = sp.coo_array((values, ([a for a, _ in ENDS], [b for _, b in ENDS])), shape=(5, 5))
    return (upper + upper.T).tocsr() if symmetric else upper.tocsr()


def asymmetric() -> Any:
    import scipy.sparse as sp

    return sp.csr_array(np.array([[0, 2, 0], [1, 0, 4], [0, 0, 0]]))


def market(path: Path, values: Any, **options: Any) -> None:
    import scipy.io

    scipy.io.mmwrite(path, values, **options)


def npz(path: Path, values: Any) -> None:
    import scipy.sparse as sp

    sp.save_npz(path, values)


def nx(name: str) -> Callable[..., Any]:
    import networkx as nx

    return getattr(nx, name)  # type: ignore[no-any-return]


def zipped(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("edges.txt", lines(LETTERS))


@dataclass
class Case:
    file: str
    write: Callable[[Path], Any]
    summary: str
    #: Names of the nodes of ENDS, or the weight of each edge by its ends.
    ids: list[Any] = field(default_factory=lambda: NAMES)
    weights: list[float] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    #: What the warning says, if there is one.
    warning: str = ""
    edges: dict[tuple[Any, Any], float] | None = None


INTEGERS = list(range(5))
ONE_TO_FIVE = list(range(1, 6))


CASES: dict[str, Case] = {
    # NetworkX
    "networkx write_edgelist": Case(
        "x.edgelist",
        lambda p: nx("write_edgelist")(networkx(NAMES), p),
        "NetworkX edge list, 4 nodes, 4 edges, undirected, weighted, 1 component",
        weights=WEIGHTS,
    ),
    "networkx write_edgelist without attributes": Case(
        "x.edgelist",
        lambda p: nx("write_edgelist")(networkx(NAMES, False), p),
        "NetworkX edge list, 4 nodes, 4 edges, undirected, unweighted, 1 component",
    ),
    "networkx write_edgelist data=False": Case(
        "x.edgelist", lambda p: nx("write_edgelist")(networkx(NAMES), p, data=False), "4 nodes, 4 edges, undirected, unweighted, 1 component"
    ),
    "networkx write_weighted_edgelist": Case(
        "x.txt",
        lambda p: nx("write_weighted_edgelist")(networkx(INTEGERS), p),
        "4 nodes, 4 edges, undirected, weighted, 1 component",
        INTEGERS,
        WEIGHTS,
    ),
    "networkx write_adjlist": Case(
        "x.adjlist", lambda p: nx("write_adjlist")(networkx(NAMES), p), "adjacency list, 5 nodes, 4 edges, undirected, unweighted, 2 components"
    ),
    "networkx write_graphml": Case(
        "x.graphml",
        lambda p: nx("write_graphml")(networkx(NAMES), p),
        "GraphML, 5 nodes, 4 edges, undirected, weighted, 2 components",
        weights=WEIGHTS,
    ),
    "networkx write_graphml directed": Case(
        "x.graphml",
        lambda p: nx("write_graphml")(networkx(NAMES, kind="DiGraph"), p),
        "GraphML, 5 nodes, 4 edges, directed edges read as undirected, weighted, 2 components",
        weights=WEIGHTS,
    ),
    "networkx write_gexf": Case(
        "x.gexf", lambda p: nx("write_gexf")(networkx(NAMES), p), "GEXF, 5 nodes, 4 edges, undirected, weighted, 2 components", weights=WEIGHTS
    ),
    "networkx write_gml": Case(
        "x.gml",
        lambda p: nx("write_gml")(networkx(NAMES), p),
        "GML, 5 nodes, 4 edges, undirected, weighted, 2 components",
        warning="node ids are the names of the node",
        weights=WEIGHTS,
    ),
    "networkx write_pajek": Case(
        "x.net",
        lambda p: nx("write_pajek")(networkx(NAMES), p),
        "Pajek, 5 nodes, 4 edges, undirected, weighted, 2 components",
        warning="node ids are the names of the node",
        weights=WEIGHTS,
    ),
    "networkx node_link_data": Case(
        "x.json",
        lambda p: p.write_text(json.dumps(nx("node_link_data")(networkx(NAMES), edges="links"))),
        "JSON, 5 nodes, 4 edges, undirected, weighted, 2 components",
        weights=WEIGHTS,
    ),
    "networkx node_link_data of integers": Case(
        "x.json",
        lambda p: p.write_text(json.dumps(nx("node_link_data")(networkx(INTEGERS), edges="edges"))),
        "JSON, 5 nodes, 4 edges, undirected, weighted, 2 components",
        INTEGERS,
        WEIGHTS,
    ),
    "networkx write_dot": Case(
        "x.dot", lambda p: nx("nx_pydot").write_dot(networkx(NAMES), p), "DOT, 5 nodes, 4 edges, undirected, weighted, 2 components", weights=WEIGHTS
    ),
    # igraph
    "igraph write_ncol": Case(
        "x.ncol", lambda p: igraph().write_ncol(str(p)), "4 nodes, 4 edges, undirected, weighted, 1 component", weights=WEIGHTS
    ),
    "igraph write_edgelist": Case(
        "x.txt", lambda p: igraph().write_edgelist(str(p)), "4 nodes, 4 edges, undirected, unweighted, 1 component", INTEGERS
    ),
    "igraph write_graphml": Case(
        "x.graphml",
        lambda p: igraph().write_graphml(str(p)),
        "GraphML, 5 nodes, 4 edges, undirected, weighted, 2 components",
        warning="node ids are the names of the node",
        weights=WEIGHTS,
    ),
    "igraph write_gml": Case(
        "x.gml",
        lambda p: igraph().write_gml(str(p)),
        "GML, 5 nodes, 4 edges, undirected, weighted, 2 components",
        warning="node ids are the names of the node",
        weights=WEIGHTS,
    ),
    "igraph write_pajek": Case(
        "x.net",
        lambda p: igraph().write_pajek(str(p)),
        "Pajek, 5 nodes, 4 edges, undirected, weighted, 2 components",
        warning="node ids are the names of the node",
        weights=WEIGHTS,
    ),
    "igraph write_dot": Case(
        "x.dot",
        lambda p: igraph().write_dot(str(p)),
        "DOT, 5 nodes, 4 edges, undirected, weighted, 2 components",
        warning="node ids are the names of the node",
        weights=WEIGHTS,
    ),
    # pandas
    "pandas to_csv": Case(
        "x.csv",
        lambda p: pandas().to_csv(p),
        "4 nodes, 4 edges, undirected, weighted, 1 component, header in line 1, columns source and target, weights from weight",
        weights=WEIGHTS,
    ),
    "pandas to_csv index=False": Case(
        "x.csv", lambda p: pandas().to_csv(p, index=False), "4 nodes, 4 edges, undirected, weighted, 1 component, header in line 1", weights=WEIGHTS
    ),
    "pandas to_csv more columns": Case(
        "x.csv",
        lambda p: pandas(year=[1990, 1991, 1992, 1993], kind=["x"] * 4).to_csv(p),
        "4 nodes, 4 edges, undirected, weighted, 1 component, header in line 1, columns source and target, weights from weight",
        weights=WEIGHTS,
        warning="not read: columns",
    ),
    "pandas to_csv user_id, friend_id": Case(
        "x.tsv",
        lambda p: pandas().rename(columns={"source": "user_id", "target": "friend_id"}).to_csv(p, sep="\t", index=False),
        "4 nodes, 4 edges, undirected, weighted, 1 component, header in line 1",
        weights=WEIGHTS,
    ),
    "pandas to_parquet": Case(
        "x.parquet", lambda p: pandas().to_parquet(p), "4 nodes, 4 edges, undirected, weighted, 1 component", weights=WEIGHTS
    ),
    "pandas to_feather": Case(
        "x.feather", lambda p: pandas().to_feather(p), "Arrow, 4 nodes, 4 edges, undirected, weighted, 1 component", weights=WEIGHTS
    ),
    "pandas to_json lines": Case(
        "x.jsonl",
        lambda p: pandas().to_json(p, orient="records", lines=True),
        "JSON Lines, 4 nodes, 4 edges, undirected, weighted, 1 component",
        weights=WEIGHTS,
    ),
    "pandas to_json records": Case(
        "x.json", lambda p: pandas().to_json(p, orient="records"), "JSON, 4 nodes, 4 edges, undirected, weighted, 1 component", weights=WEIGHTS
    ),
    # polars
    "polars write_csv": Case(
        "x.csv", lambda p: polars().write_csv(p), "4 nodes, 4 edges, undirected, weighted, 1 component, header in line 1", weights=WEIGHTS
    ),
    "polars write_parquet": Case(
        "x.parquet", lambda p: polars().write_parquet(p), "4 nodes, 4 edges, undirected, weighted, 1 component", weights=WEIGHTS
    ),
    "polars write_ipc": Case(
        "x.arrow", lambda p: polars().write_ipc(p), "Arrow, 4 nodes, 4 edges, undirected, weighted, 1 component", weights=WEIGHTS
    ),
    "polars write_ipc zstd": Case(
        "x.arrow", lambda p: polars().write_ipc(p, compression="zstd"), "Arrow, 4 nodes, 4 edges, undirected, weighted, 1 component", weights=WEIGHTS
    ),
    "polars write_ndjson": Case(
        "x.ndjson", lambda p: polars().write_ndjson(p), "JSON Lines, 4 nodes, 4 edges, undirected, weighted, 1 component", weights=WEIGHTS
    ),
    # pyarrow
    "pyarrow Parquet brotli": Case(
        "x.parquet", lambda p: arrow(p, compression="brotli"), "4 nodes, 4 edges, undirected, weighted, 1 component", weights=WEIGHTS
    ),
    "pyarrow IPC stream": Case(
        "x.arrows", arrow_stream, "Arrow, 4 nodes, 4 edges, undirected, weighted, 1 component", weights=WEIGHTS
    ),
    # SciPy
    "scipy save_npz symmetric": Case(
        "x.npz", lambda p: npz(p, matrix(True)), "5 nodes, 4 edges, undirected, weighted, 2 components", INTEGERS, WEIGHTS
    ),
    "scipy save_npz triangular": Case(
        "x.npz", lambda p: npz(p, matrix(False)), "5 nodes, 4 edges, undirected, weighted, 2 components", INTEGERS, WEIGHTS
    ),
    "scipy save_npz ones": Case(
        "x.npz", lambda p: npz(p, matrix(True, ones=True)), "5 nodes, 4 edges, undirected, unweighted, 2 components", INTEGERS
    ),
    "scipy save_npz asymmetric": Case(
        "x.npz",
        lambda p: npz(p, asymmetric()),
        "3 nodes, 2 edges, asymmetric matrix read as undirected, weights w(i,j) + w(j,i), weighted, 1 component, merged 1 repeated edge (weights added)",
        edges={(0, 1): 3.0, (1, 2): 4.0},
    ),
    "scipy mmwrite symmetric": Case(
        "x.mtx", lambda p: market(p, matrix(True)), "5 nodes, 4 edges, undirected, weighted, 2 components", ONE_TO_FIVE, WEIGHTS
    ),
    "scipy mmwrite general": Case(
        "x.mtx",
        lambda p: market(p, asymmetric(), symmetry="general"),
        "3 nodes, 2 edges, asymmetric matrix read as undirected, weights w(i,j) + w(j,i), weighted, 1 component, merged 1 repeated edge (weights added)",
        edges={(1, 2): 3.0, (2, 3): 4.0},
    ),
    "scipy mmwrite pattern": Case(
        "x.mtx", lambda p: market(p, matrix(True), field="pattern"), "5 nodes, 4 edges, undirected, unweighted, 2 components", ONE_TO_FIVE
    ),
    # NumPy
    "numpy save": Case("x.npy", lambda p: np.save(p, np.array(ENDS)), "4 nodes, 4 edges, undirected, unweighted, 1 component", INTEGERS),
    "numpy savetxt": Case(
        "x.txt", lambda p: np.savetxt(p, np.array(ENDS), fmt="%d"), "4 nodes, 4 edges, undirected, unweighted, 1 component", INTEGERS
    ),
    "numpy savetxt with weights": Case(
        "x.csv",
        lambda p: np.savetxt(p, np.column_stack([ENDS, WEIGHTS]), fmt=["%d", "%d", "%.3f"], delimiter=","),
        "4 nodes, 4 edges, undirected, weighted, 1 component",
        INTEGERS,
        WEIGHTS,
    ),
    # Collections and programs
    "SNAP": Case(
        "x.txt",
        lambda p: p.write_bytes(lines(ENDS, "\t", "# Directed graph (each unordered pair of nodes is saved once): x.txt\n# FromNodeId\tToNodeId\n")),
        "4 nodes, 4 edges, undirected, unweighted, 1 component",
        INTEGERS,
    ),
    "SNAP temporal": Case(
        "x.txt",
        lambda p: p.write_bytes(lines([(*ends, 1217567877 + 40 * i) for i, ends in enumerate(ENDS)])),
        "4 nodes, 4 edges, undirected, unweighted, 1 component",
        INTEGERS,
        warning="time stamps",
    ),
    "KONECT": Case(
        "out.x",
        lambda p: p.write_bytes(lines([(a + 1, b + 1, w) for (a, b), w in zip(ENDS, WEIGHTS, strict=True)], " ", "% sym posweighted\n% 4 4 4\n")),
        "4 nodes, 4 edges, undirected, weighted, 1 component",
        ONE_TO_FIVE,
        WEIGHTS,
    ),
    "METIS": Case(
        "x.metis",
        lambda p: p.write_text("% x\n5 4\n2 3\n1 3\n1 2 4\n3\n\n"),
        "METIS, 5 nodes, 4 edges, undirected (listed in both directions), unweighted, 2 components",
        ONE_TO_FIVE,
    ),
    "METIS with weights": Case(
        "x.graph",
        lambda p: p.write_text("4 4 001\n2 4 3 6\n1 4 3 1\n1 6 2 1 4 3\n3 3\n"),
        "METIS, 4 nodes, 4 edges, undirected (listed in both directions), weighted, 1 component",
        ONE_TO_FIVE,
        [4.0, 1.0, 6.0, 3.0],
    ),
    "Gephi's table of edges": Case(
        "x.csv",
        lambda p: p.write_bytes(
            lines(
                [(a, b, "Undirected", i, "", "", w) for i, ((a, b), w) in enumerate(zip(LETTERS, WEIGHTS, strict=True))],
                ",",
                "Source,Target,Type,Id,Label,timeset,Weight\n",
            )
        ),
        "4 nodes, 4 edges, undirected, weighted, 1 component, header in line 1, columns Source and Target, weights from Weight",
        weights=WEIGHTS,
        warning="not read: columns",
    ),
    "Gephi's directed table of edges": Case(
        "x.csv",
        lambda p: p.write_bytes(
            lines([(a, b, "Directed", w) for (a, b), w in zip(LETTERS, WEIGHTS, strict=True)], ";", "Source;Target;Type;Weight\n")
        ),
        "4 nodes, 4 edges, directed edges read as undirected, weighted, 1 component, header in line 1, columns Source and Target, weights from Weight",
        weights=WEIGHTS,
    ),
    # Compressed by Python
    "gzip": Case("x.txt.gz", lambda p: p.write_bytes(gzip.compress(lines(LETTERS))), "4 nodes, 4 edges, undirected, unweighted, 1 component"),
    "bz2": Case("x.txt.bz2", lambda p: p.write_bytes(bz2.compress(lines(LETTERS))), "4 nodes, 4 edges, undirected, unweighted, 1 component"),
    "lzma": Case("x.txt.xz", lambda p: p.write_bytes(lzma.compress(lines(LETTERS))), "4 nodes, 4 edges, undirected, unweighted, 1 component"),
    "zipfile": Case("x.zip", zipped, "4 nodes, 4 edges, undirected, unweighted, 1 component"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_was_read(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    monkeypatch.chdir(tmp_path)
    # What the writers warn about is not ours.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            case.write(Path(case.file))
        except ImportError as error:
            pytest.skip(str(error))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        graph = nearfar.Graph(case.file, **case.options)
    messages = "\n".join(str(warning.message) for warning in caught)
    assert bool(messages) == bool(case.warning) and case.warning in messages, messages
    assert graph.summary == f"read {case.file}: {case.summary}"
    sources, targets, weights = graph._engine.edge_arrays()
    found = {
        frozenset((graph.nodes[a], graph.nodes[b])): 1.0 if weights is None else float(weights[at])
        for at, (a, b) in enumerate(zip(sources, targets, strict=True))
    }
    expected = case.edges or {(case.ids[a], case.ids[b]): weight for (a, b), weight in zip(ENDS, case.weights or [1.0] * len(ENDS), strict=True)}
    assert found == {frozenset(ends): weight for ends, weight in expected.items()}
    assert graph.weighted == (set(expected.values()) != {1.0})


REFUSED: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "networkx write_multiline_adjlist": (
        "x.adjlist",
        lambda p: nx("write_multiline_adjlist")(networkx(NAMES), p),
        "x.adjlist:5: this is NetworkX's multiline adjacency list; write the graph with write_edgelist",
    ),
    "networkx write_graph6": (
        "x.g6",
        lambda p: nx("write_graph6")(networkx(INTEGERS), p),
        "x.g6: graph6 is not supported; save the graph as GraphML",
    ),
    "igraph write_lgl": ("x.lgl", lambda p: igraph().write_lgl(str(p)), "x.lgl: LGL is not supported; save the graph as GraphML"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_by_its_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, write, message = REFUSED[name]
    pytest.importorskip(name.split()[0])
    monkeypatch.chdir(tmp_path)
    write(Path(file))
    with pytest.raises(ValueError, match=re.escape(message)):
        nearfar.Graph(file)


@pytest.mark.parametrize("name", ["networkx write_graphml", "igraph write_ncol", "pandas to_csv", "scipy mmwrite general"])
def test_the_command_line_says_the_same(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command_line: Callable[..., str]) -> None:
    case = CASES[name]
    pytest.importorskip(name.split()[0])
    monkeypatch.chdir(tmp_path)
    case.write(Path(case.file))
    read = json.loads(command_line("embed", case.file, "--epochs", 1, "--dim", 2, "--json", "-o", "x.npy"))["read"]
    graph = nearfar.Graph(case.file)
    assert (read["nodes"], read["edges"], read["weighted"]) == (graph.num_nodes, graph.num_edges, graph.weighted)
