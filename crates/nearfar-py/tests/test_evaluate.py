"""Scores and measures equal those of the command line, for all types of input."""

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
    """The graph and embedding as files."""
    path = tmp_path_factory.mktemp("data")
    emb.save(path / "x.npy")
    pairs = graph.edge_index.T.tolist()
    columns: list[tuple[str, Any]] = [
        ("edges", pairs),
        ("nodes", [[node] for node in graph.nodes]),
        ("labels", enumerate(graph.labels or [])),
        ("splits", ((node, split) for node, split in enumerate(graph.splits or []) if split)),
    ]
    for name, rows in columns:
        (path / f"{name}.tsv").write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    return path


PROTOCOLS: list[dict[str, Any]] = [
    {},
    {"train_ratio": 0.3, "repeats": 3, "seed": 5, "c": 0.5},
    {"train_ratio": 0.3, "repeats": 3, "c": "auto"},
    {"train_ratio": 0.5, "repeats": 2, "stratified": True, "per_class": True, "confusion": True},
]


@pytest.mark.parametrize("options", PROTOCOLS)
def test_classification_equals_that_of_the_command_line(
    options: dict[str, Any], graph: nearfar.Graph, emb: nearfar.Embedding, folder: Path, command_line: Callable[..., str]
) -> None:
    flags: list[object] = []
    for name, value in options.items():
        flags += ["--" + name.replace("_", "-")] + ([] if value is True else [value])
    expected = json.loads(command_line("evaluate", folder / "x.npy", "--labels", folder, "--json", *flags))
    splits = graph.splits if not options else None
    scores = nearfar.classify(emb, graph.labels, splits, **options)
    assert scores.to_dict() == expected
    assert nearfar.classify(str(folder / "x.npy"), folder, **options).to_dict() == expected
    f1_macro = expected["f1_macro"]
    assert scores.f1_macro.mean == f1_macro["mean"] and scores.f1_macro.runs == f1_macro["runs"]
    assert pickle.loads(pickle.dumps(scores)) == scores


def test_c_is_chosen_by_cross_validation(graph: nearfar.Graph, emb: nearfar.Embedding) -> None:
    assert nearfar.classify(emb, graph.labels, graph.splits).chosen_c is None
    chosen = nearfar.classify(emb, graph.labels, graph.splits, c="auto", threads=1)
    assert chosen == nearfar.classify(emb, graph.labels, graph.splits, c="auto", threads=3)
    assert chosen.c == "auto" and chosen.chosen_c is not None and len(chosen.chosen_c) == 1
    given = nearfar.classify(emb, graph.labels, graph.splits, c=chosen.chosen_c[0])
    assert (given.f1_macro, given.accuracy) == (chosen.f1_macro, chosen.accuracy)


def test_a_class_with_one_node_is_scored_and_noted() -> None:
    vectors = np.array([[0.0, 1], [1, 0], [0, 1], [1, 0], [9, 9]], dtype=np.float32)
    splits = ["train", "train", "test", "test", "test"]
    scores = nearfar.classify(vectors, ["x", "y", "x", "y", "z"], splits)
    assert scores.accuracy.mean == pytest.approx(2 / 3)
    assert scores.notes == ["1 class has test nodes and no training node, and cannot be predicted there: 'z'"]
    assert repr(scores).endswith(f"\nnote: {scores.notes[0]}")
    assert nearfar.classify(vectors, ["x", "y", "x", "y", None], splits[:4] + [None]).notes == ()


def test_all_types_of_labels_and_splits(graph: nearfar.Graph, emb: nearfar.Embedding, folder: Path) -> None:
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
    by_id = {node: split for node, split in enumerate(graph.splits) if split}
    for splits in (by_id, pd.Series(by_id), np.array(graph.splits), folder / "splits.tsv", folder):
        assert nearfar.classify(emb, graph.labels, splits) == expected, splits
    assert nearfar.classify(emb.vectors, graph.labels, graph.splits) == expected
    assert nearfar.classify(emb.vectors.tolist(), graph.labels, graph.splits) == expected


def test_ids_of_arrays_and_nodes_without_labels() -> None:
    vectors = np.array([[0.0, 1], [1, 0], [0, 1], [1, 0], [9, 9]], dtype=np.float32)
    labels = {"a": "x", "b": "y", "c": "x", "d": "y", "e": None}
    splits = {"a": "train", "b": "train", "c": "test", "d": "test"}
    scores = nearfar.classify(vectors, labels, splits, ids=list("abcde"))
    assert (scores.train, scores.scored, scores.accuracy.mean) == (2, 2, 1.0)
    with_missing = pd.Series([1, 2, 1, 2, pd.NA], index=list("abcde"), dtype="Int64")
    assert nearfar.classify(vectors, with_missing, splits, ids=list("abcde")).accuracy.mean == 1.0
    integers = nearfar.classify(vectors, {"a": 7, "b": 8, "c": 7, "d": 8}, splits, ids=list("abcde"), per_class=True)
    assert integers.per_class is not None and [scores["label"] for scores in integers.per_class] == [7, 8]
    assert repr(scores) == (
        "Classification into 2 classes, 2 training and 2 test nodes: "
        "F1-macro 1.0000, F1-micro 1.0000, accuracy 1.0000"
    )


def test_multi_label(emb: nearfar.Embedding, folder: Path, command_line: Callable[..., str]) -> None:
    several = {node: ["x", "y"] if node % 3 == 0 else ["x" if node % 3 == 1 else "y"] for node in emb.nodes}
    file = folder / "several.tsv"
    file.write_text("".join(f"{node}\t{','.join(labels)}\n" for node, labels in several.items()))
    expected = json.loads(command_line("evaluate", folder / "x.npy", "--labels", file, "--repeats", 2, "--json"))
    assert expected.pop("notes") == [
        "several.tsv: 100 nodes have several labels, separated by commas; quote a label that holds a comma"
    ]
    scores = nearfar.classify(emb, several, repeats=2)
    assert scores.to_dict() == expected and scores.multi_label
    assert scores.top_k is not None and scores.top_k.f1_macro.runs == expected["top_k"]["f1_macro"]["runs"]


def test_links_equal_those_of_the_command_line(command_line: Callable[..., str]) -> None:
    flags = ["--dim", 8, "--epochs", 3, "--seeds", 2, "--test-ratio", 0.2, "--seed", 4, "--keep-connected", "false"]
    expected = json.loads(command_line("links", "builtin:karate", "--json", *flags))
    assert expected.pop("read")["edges"] == 78
    done: list[float] = []

    def record(event: dict[str, Any]) -> None:
        done.extend([event["done"]] if event["event"] == "progress" else [])

    options: dict[str, Any] = {"dim": 8, "epochs": 3, "seeds": 2, "test_ratio": 0.2, "seed": 4}
    scores = nearfar.links("builtin:karate", keep_connected=False, callback=record, **options)
    assert scores.to_dict() == expected and done == sorted(done)
    assert scores.hits_at_10.runs == expected["hits@10"]["runs"]
    assert scores.operators.l1.auc.mean == expected["operators"]["l1"]["auc"]["mean"]
    assert repr(scores).startswith("LinkScores with 16 of 78 edges held out, 2 runs: AUC 0.")
    with pytest.raises(ValueError, match="stopped"):
        nearfar.links("builtin:karate", callback=lambda _: False)


def test_measures_equal_those_of_the_command_line(
    graph: nearfar.Graph, emb: nearfar.Embedding, folder: Path, command_line: Callable[..., str]
) -> None:
    for flags, options in (
        ([], {}),
        (["--sources", "all"], {"sources": "all"}),
        (["--sources", 64, "--walks", 20, "--seed", 9], {"sources": 64, "walks": 20, "seed": 9}),
        (
            ["--objective", "--l2", 0.2, "--negatives", "degree", "--centre-power", 1, "--negative-weight", 2],
            {"objective": True, "l2": 0.2, "negatives": "degree", "centre_power": 1, "negative_weight": 2},
        ),
    ):
        expected = json.loads(command_line("measure", folder / "x.npy", folder, "--json", *flags))
        assert expected.pop("read")["nodes"] == graph.num_nodes
        fields = nearfar.measure(emb, graph, **options).to_dict()
        if flags == ["--sources", "all"]:
            fields["config"]["sources"] = expected["config"]["sources"]
        assert fields == expected
    assert nearfar.measure(emb.vectors, graph) == nearfar.measure(emb, graph)


def test_the_objective_of_zeros_is_log_2() -> None:
    found = nearfar.measure(np.zeros((34, 2)), "builtin:karate", objective=True, context=3).objective
    assert found is not None
    assert abs(found.loss - np.log(2)) < 1e-6 and abs(found.positive + found.negative - found.loss) < 1e-12
    assert (found.law, found.centres, found.interval) == ("distance", 34, None)
    assert nearfar.measure(np.zeros((34, 2)), "builtin:karate").objective is None
    with pytest.raises(ValueError, match="l2=0.5: only the objective has this option; give objective or omit l2"):
        nearfar.measure(np.zeros((34, 2)), "builtin:karate", l2=0.5)


def test_measures_match_vectors_and_nodes_by_id() -> None:
    graph = nx.relabel_nodes(nx.karate_club_graph(), "m{}".format)
    emb = nearfar.embed(graph, dim=8, epochs=2)
    expected = nearfar.measure(emb, graph)
    reversed_rows = nearfar.Embedding(emb.nodes[::-1], emb.vectors[::-1])
    assert nearfar.measure(reversed_rows, graph) == expected
    assert nearfar.measure(emb.vectors[::-1], graph, ids=emb.nodes[::-1]) == expected
    with pytest.raises(ValueError, match="no vector.*m33"):
        nearfar.measure(nearfar.Embedding(emb.nodes[:33], emb.vectors[:33]), graph)
    same_strings = nearfar.Graph([(1, "1"), ("1", 2)])
    vectors = np.eye(3, dtype=np.float32)
    assert nearfar.measure(vectors, same_strings).pairs == [4, 2]
    with pytest.raises(ValueError, match="not unique as strings"):
        nearfar.measure(vectors, same_strings, ids=["1", 1, 2])


# Messages of the library are matched by the keyword and the value that they have to name.
INVALID: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    ({99: "a"}, {}, ValueError, "labels: node 99 has no vector; the first node id is 0"),
    (["a", "b"], {}, ValueError, "labels has 2 entries for 34 vectors"),
    (["a", "b"] * 17, {"c": 0}, ValueError, "^c=0: expected 'auto' or a number above 0"),
    (["a", "b"] * 17, {"c": "abc"}, ValueError, "^c=\"abc\": expected 'auto' or a number above 0"),
    (list(range(34)), {"stratified": True}, ValueError, "every class has one; omit stratified"),
    ([None] * 34, {}, ValueError, "label"),
    ([1, "1"] * 17, {}, ValueError, "labels 1 and '1' are both written as '1'"),
    (["a", "b"] * 17, {"train_ratio": 2}, ValueError, "^train_ratio=2: "),
    (["a", "b"] * 17, {"train_size": 0.5}, TypeError, "did you mean 'train_ratio'"),
    (["a", "b"] * 17, {"splits": ["train", "tset"] * 17}, ValueError, "row 1: 'tset'.*train, val or test"),
    (["a", "b"] * 17, {"splits": {0: "train"}, "repeats": 3}, ValueError, "repeats is for random splits"),
    (["a", "b"] * 17, {"ids": range(34)}, ValueError, "ids can be set only for arrays"),
    (np.full((34, 2), 0.5), {}, ValueError, r"labels has shape \(34, 2\); expected one entry per node"),
    ("no/labels.tsv", {}, FileNotFoundError, "no/labels.tsv"),
]


@pytest.mark.parametrize(("labels", "options", "error", "message"), INVALID)
def test_invalid_labels(labels: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    emb = nearfar.embed("builtin:karate", dim=4, epochs=1)
    with pytest.raises(error, match=message) as raised:
        nearfar.classify(emb, labels, **options)
    assert "--" not in str(raised.value), "options are spelled as keywords"


def test_invalid_vectors_and_options() -> None:
    with pytest.raises(ValueError, match=r"shape \(3,\); expected numbers of shape \(n, dim\)"):
        nearfar.classify(np.zeros(3), ["a", "b", "a"])
    with pytest.raises(ValueError, match="NaN"):
        nearfar.measure(np.full((34, 2), np.nan), "builtin:karate")
    with pytest.raises(ValueError, match="^test_ratio=1: "):
        nearfar.links("builtin:karate", test_ratio=1)
    with pytest.raises(TypeError, match=r"links\(\) got an unexpected keyword argument 'seed_s'"):
        nearfar.links("builtin:karate", seed_s=1)
    with pytest.raises(TypeError, match=r"measure\(\) got an unexpected keyword argument 'window'; did you mean 'context'"):
        nearfar.measure(np.zeros((34, 2)), "builtin:karate", window=1)
