"""Scores and measures are those of the command line, however nodes are given."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nearfar
import networkx as nx
import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module")
def graph() -> nearfar.Graph:
    return nearfar.synth("sparse", nodes=300, seed=3)


@pytest.fixture(scope="module")
def emb(graph: nearfar.Graph) -> nearfar.Embedding:
    return nearfar.embed(graph, dim=16, epochs=4, seed=1)


@pytest.fixture(scope="module")
def folder(graph: nearfar.Graph, emb: nearfar.Embedding, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same on disk."""
    place = tmp_path_factory.mktemp("data")
    emb.save(place / "x.npy")
    pairs = graph.edge_index.T.tolist()
    columns: list[tuple[str, Any]] = [
        ("edges", pairs),
        ("nodes", [[node] for node in graph.nodes]),
        ("labels", enumerate(graph.labels or [])),
        ("splits", ((node, part) for node, part in enumerate(graph.splits or []) if part)),
    ]
    for name, rows in columns:
        (place / f"{name}.tsv").write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    return place


PROTOCOLS: list[dict[str, Any]] = [
    {},
    {"train_ratio": 0.3, "repeats": 3, "seed": 5, "c": 0.5},
    {"train_ratio": 0.5, "repeats": 2, "stratified": True, "per_class": True, "confusion": True},
]


@pytest.mark.parametrize("options", PROTOCOLS)
def test_classes_are_scored_as_on_the_command_line(
    options: dict[str, Any], graph: nearfar.Graph, emb: nearfar.Embedding, folder: Path, command_line: Callable[..., str]
) -> None:
    flags: list[object] = []
    for name, value in options.items():
        flags += ["--" + name.replace("_", "-")] + ([] if value is True else [value])
    told = json.loads(command_line("evaluate", folder / "x.npy", "--labels", folder, "--json", *flags))
    splits = graph.splits if not options else None
    own = nearfar.classify(emb, graph.labels, splits, **options)
    assert own.to_dict() == told
    assert nearfar.classify(str(folder / "x.npy"), folder, **options).to_dict() == told
    assert own.f1_macro.mean == told["f1_macro"]["mean"] and own.f1_macro.runs == told["f1_macro"]["runs"]
    assert pickle.loads(pickle.dumps(own)) == own


def test_labels_and_splits_in_every_form(graph: nearfar.Graph, emb: nearfar.Embedding, folder: Path) -> None:
    assert graph.labels is not None and graph.splits is not None
    expected = nearfar.classify(emb, graph.labels, graph.splits)
    assert expected.val is not None and expected.val.accuracy > 0 and expected.protocol.splits == "fixed"
    numbers = [int(label) for label in graph.labels]
    forms = [
        dict(enumerate(graph.labels)),
        dict(enumerate(numbers)),
        {node: [label] for node, label in enumerate(graph.labels)},
        pd.Series(graph.labels),
        pd.Series(graph.labels).sample(frac=1, random_state=0),
        pd.Series(graph.labels).astype("category"),
        np.array(graph.labels),
        np.array(numbers, dtype=float),
        np.eye(7, dtype=int)[numbers],
        folder / "labels.tsv",
        str(folder / "labels.tsv"),
    ]
    for labels in forms:
        assert nearfar.classify(emb, labels, graph.splits) == expected, labels
    parts = {node: part for node, part in enumerate(graph.splits) if part}
    for splits in (parts, pd.Series(parts), np.array(graph.splits), folder / "splits.tsv", folder):
        assert nearfar.classify(emb, graph.labels, splits) == expected, splits
    assert nearfar.classify(emb.vectors, graph.labels, graph.splits) == expected
    assert nearfar.classify(emb.vectors.tolist(), graph.labels, graph.splits) == expected


def test_ids_of_arrays_and_nodes_without_labels() -> None:
    vectors = np.array([[0.0, 1], [1, 0], [0, 1], [1, 0], [9, 9]], dtype=np.float32)
    labels = {"a": "far", "b": "near", "c": "far", "d": "near", "e": None}
    splits = {"a": "train", "b": "train", "c": "test", "d": "test"}
    scores = nearfar.classify(vectors, labels, splits, ids=list("abcde"))
    assert (scores.train, scores.scored, scores.accuracy.mean) == (2, 2, 1.0)
    gaps = pd.Series([1, 2, 1, 2, pd.NA], index=list("abcde"), dtype="Int64")
    assert nearfar.classify(vectors, gaps, splits, ids=list("abcde")).accuracy.mean == 1.0
    shown = nearfar.classify(vectors, {"a": 7, "b": 8, "c": 7, "d": 8}, splits, ids=list("abcde"), per_class=True)
    assert shown.per_class is not None and [scores["label"] for scores in shown.per_class] == [7, 8]
    assert repr(scores) == (
        "Classification into 2 classes, trained on 2 nodes and scored on 2: "
        "F1-macro 1.0000, F1-micro 1.0000, accuracy 1.0000"
    )


def test_several_labels(emb: nearfar.Embedding, folder: Path, command_line: Callable[..., str]) -> None:
    several = {node: ["x", "y"] if node % 3 == 0 else ["x" if node % 3 == 1 else "y"] for node in emb.nodes}
    file = folder / "several.tsv"
    file.write_text("".join(f"{node}\t{','.join(labels)}\n" for node, labels in several.items()))
    told = json.loads(command_line("evaluate", folder / "x.npy", "--labels", file, "--repeats", 2, "--json"))
    own = nearfar.classify(emb, several, repeats=2)
    assert own.to_dict() == told and own.multi_label
    assert own.top_k is not None and own.top_k.f1_macro.runs == told["top_k"]["f1_macro"]["runs"]


def test_links_are_those_of_the_command_line(command_line: Callable[..., str]) -> None:
    flags = ["--dim", 8, "--epochs", 3, "--seeds", 2, "--test-ratio", 0.2, "--seed", 4, "--keep-connected", "false"]
    told = json.loads(command_line("links", "builtin:karate", "--json", *flags))
    done: list[float] = []

    def listen(event: dict[str, Any]) -> None:
        done.extend([event["done"]] if event["event"] == "progress" else [])

    options: dict[str, Any] = {"dim": 8, "epochs": 3, "seeds": 2, "test_ratio": 0.2, "seed": 4}
    own = nearfar.links("builtin:karate", keep_connected=False, callback=listen, **options)
    assert own.to_dict() == told and done == sorted(done)
    assert own.hits_at_10.runs == told["hits@10"]["runs"]
    assert own.operators.l1.auc.mean == told["operators"]["l1"]["auc"]["mean"]
    assert repr(own).startswith("LinkScores of 16 of 78 edges, held out 2 times: AUC 0.")
    with pytest.raises(ValueError, match="stopped before there were vectors"):
        nearfar.links("builtin:karate", callback=lambda _: False)


def test_measures_are_those_of_the_command_line(
    graph: nearfar.Graph, emb: nearfar.Embedding, folder: Path, command_line: Callable[..., str]
) -> None:
    for flags, options in (
        ([], {}),
        (["--sources", "all"], {"sources": "all"}),
        (["--sources", 64, "--walks", 20, "--seed", 9], {"sources": 64, "walks": 20, "seed": 9}),
    ):
        told = json.loads(command_line("measure", folder / "x.npy", folder, "--json", *flags))
        own = nearfar.measure(emb, graph, **options).to_dict()
        if flags == ["--sources", "all"]:
            own["config"]["sources"] = told["config"]["sources"]
        assert own == told
    assert nearfar.measure(emb.vectors, graph) == nearfar.measure(emb, graph)


def test_measures_match_ids() -> None:
    graph = nx.relabel_nodes(nx.karate_club_graph(), "m{}".format)
    emb = nearfar.embed(graph, dim=8, epochs=2)
    expected = nearfar.measure(emb, graph)
    turned = nearfar.Embedding(emb.nodes[::-1], emb.vectors[::-1])
    assert nearfar.measure(turned, graph) == expected
    assert nearfar.measure(emb.vectors[::-1], graph, ids=emb.nodes[::-1]) == expected
    with pytest.raises(ValueError, match="nodes have no vector, for example 'm33'"):
        nearfar.measure(nearfar.Embedding(emb.nodes[:33], emb.vectors[:33]), graph)
    odd = nearfar.Graph([(1, "1"), ("1", 2)])
    vectors = np.eye(3, dtype=np.float32)
    assert nearfar.measure(vectors, odd).pairs == [4, 2]
    with pytest.raises(ValueError, match="have no text of their own to be matched by"):
        nearfar.measure(vectors, odd, ids=["1", 1, 2])


WRONG: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    ({99: "a"}, {}, ValueError, "labels: node 99 has no vector, ids look like 0"),
    (["a", "b"], {}, ValueError, "labels of 2 nodes for 34 vectors"),
    (["a"] * 33 + ["b"], {}, ValueError, "class 'b' has only one node, '33'.* give fixed splits with splits"),
    ([None] * 34, {}, ValueError, "no node has a label"),
    ([1, "1"] * 17, {}, ValueError, "labels 1 and '1' are both written as '1'"),
    (["a", "b"] * 17, {"train_ratio": 2}, ValueError, "train_ratio is 2; expected a fraction between 0 and 1"),
    (["a", "b"] * 17, {"train_size": 0.5}, TypeError, "did you mean 'train_ratio'"),
    (["a", "b"] * 17, {"splits": ["train", "tset"] * 17}, ValueError, "row 1: 'tset' where train, val or test"),
    (["a", "b"] * 17, {"splits": {0: "train"}, "repeats": 3}, ValueError, "repeats is for random parts"),
    (["a", "b"] * 17, {"ids": range(34)}, ValueError, "ids are for arrays"),
    (np.full((34, 2), 0.5), {}, ValueError, r"labels of shape \(34, 2\); it takes one for each node"),
    ("no/labels.tsv", {}, FileNotFoundError, "no/labels.tsv: cannot read"),
]


@pytest.mark.parametrize(("labels", "options", "error", "message"), WRONG)
def test_wrong_labels(labels: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    emb = nearfar.embed("builtin:karate", dim=4, epochs=1)
    with pytest.raises(error, match=message):
        nearfar.classify(emb, labels, **options)


def test_wrong_vectors_and_options() -> None:
    with pytest.raises(ValueError, match=r"of shape \(3,\); vectors are numbers of shape \(n, dim\)"):
        nearfar.classify(np.zeros(3), ["a", "b", "a"])
    with pytest.raises(ValueError, match="has NaN in dimension 0"):
        nearfar.measure(np.full((34, 2), np.nan), "builtin:karate")
    with pytest.raises(ValueError, match="test_ratio is 1; expected a fraction"):
        nearfar.links("builtin:karate", test_ratio=1)
    with pytest.raises(TypeError, match=r"links\(\) got an unexpected keyword argument 'seed_s'"):
        nearfar.links("builtin:karate", seed_s=1)
    with pytest.raises(TypeError, match=r"measure\(\) got an unexpected keyword argument 'window'; did you mean 'context'"):
        nearfar.measure(np.zeros((34, 2)), "builtin:karate", window=1)
