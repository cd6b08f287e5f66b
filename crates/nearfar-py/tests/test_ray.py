"""Training on Ray clusters of this machine: the bytes of a local run, whatever is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nearfar
import nearfar.ray
import numpy as np
import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed; pip install 'nearfar[ray]'")
pytestmark = pytest.mark.filterwarnings("ignore")

#: A table of 8 parts: 281 MB.
LARGE: dict[str, Any] = {
    "dim": 1400,
    "walks": 4,
    "epochs": 2,
    "k": 3,
    "start": "random",
    "l2": 0.05,
    "smoothing": 0,
}

LAWS = ["uniform", "degree", "landmark-approx"]


@pytest.fixture(scope="module")
def graph() -> nearfar.Graph:
    """Fifty thousand nodes: a ring with random chords."""
    rng = np.random.default_rng(0)
    nodes = np.arange(50_000)
    ring = np.stack([nodes, (nodes + 1) % 50_000], axis=1)
    chords = np.stack([nodes, rng.integers(0, 50_000, 50_000)], axis=1)
    return nearfar.Graph(np.concatenate([ring, chords]))


@pytest.fixture(scope="module")
def local(graph: nearfar.Graph) -> dict[str, bytes]:
    """The vectors of local runs, by the law of their negatives."""
    return {law: nearfar.embed(graph, negatives=law, **LARGE).vectors.tobytes() for law in LAWS}


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    """A cluster of one node; its address."""
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    try:
        yield ray.get_runtime_context().gcs_address
    finally:
        ray.shutdown()


@pytest.fixture
def two_workers() -> Iterator[str]:
    with cluster(2) as address:
        yield address


def once(action: Callable[[], object], at: float) -> Callable[[dict[str, Any]], None]:
    """A callback that acts once this fraction of a run is complete."""
    acted: list[None] = []

    def callback(event: dict[str, Any]) -> None:
        if not acted and event["event"] == "progress" and event["done"] >= at:
            acted.append(None)
            action()

    return callback


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_parts_have_the_bytes_of_a_local_run(
    graph: nearfar.Graph, local: dict[str, bytes], workers: int
) -> None:
    with cluster(workers):
        for law in LAWS:
            found = nearfar.ray.embed(graph, negatives=law, **LARGE)
            assert found.vectors.tobytes() == local[law], law


@pytest.mark.parametrize(
    "options",
    [
        {"epochs": 3},
        {"epochs": 2, "order": 2, "negatives": "degree", "dim": 20, "walks": 3},
        {"epochs": 2, "negatives": "landmark-approx", "model": "node2vec", "q": 2.0},
    ],
)
def test_small_graphs_have_the_bytes_of_a_local_run(two_workers: str, options: dict[str, Any]) -> None:
    found = nearfar.ray.embed("builtin:karate", **options)
    expected = nearfar.embed("builtin:karate", **options)
    assert found.vectors.tobytes() == expected.vectors.tobytes()
    assert found.nodes == expected.nodes and found.info == expected.info
    if "order" in options:
        assert found.contexts is not None and expected.contexts is not None
        assert found.contexts.vectors.tobytes() == expected.contexts.vectors.tobytes()


def test_workers_read_a_packed_graph(two_workers: str, tmp_path: Path) -> None:
    path = tmp_path / "graph.nfg"
    nearfar.Graph("builtin:karate")._engine.pack(path)
    for options in ({}, {"no_weights": True}):
        found = nearfar.ray.embed(path, epochs=2, **options)
        assert found.vectors.tobytes() == nearfar.embed(path, epochs=2, **options).vectors.tobytes()


def test_events_and_log_are_those_of_a_local_run(two_workers: str, tmp_path: Path) -> None:
    def run(embed: Callable[..., Any], name: str) -> tuple[list[Any], list[Any]]:
        received: list[dict[str, Any]] = []
        embed("builtin:karate", epochs=4, log=tmp_path / name, callback=received.append)
        log = [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
        for event in [*received, *log]:
            for of_the_process in ("seconds", "peak_memory", "memory", "summary", "time"):
                event.pop(of_the_process, None)
        return [event for event in received if event["event"] != "progress"], log

    assert run(nearfar.ray.embed, "ray.jsonl") == run(nearfar.embed, "local.jsonl")


def test_a_callback_stops_the_run(two_workers: str) -> None:
    def stop(event: dict[str, Any]) -> bool:
        return event.get("epoch") != 2

    found = nearfar.ray.embed("builtin:karate", epochs=4, callback=stop)
    expected = nearfar.embed("builtin:karate", epochs=4, callback=stop)
    assert found.vectors.tobytes() == expected.vectors.tobytes()


def test_a_worker_is_killed(two_workers: str, graph: nearfar.Graph, local: dict[str, bytes]) -> None:
    def kill_a_worker() -> None:
        # Tasks of the next pass run already.
        for _ in range(1000):
            names = subprocess.run(["ps", "-eo", "pid=,args="], capture_output=True, text=True, check=True)
            training = re.search(r"^ *(\d+) ray::_train", names.stdout, re.MULTILINE)
            if training is not None:
                os.kill(int(training[1]), signal.SIGKILL)
                return
            time.sleep(0.01)
        raise AssertionError("no task is running")

    callback = once(kill_a_worker, 0.25)
    found = nearfar.ray.embed(graph, negatives="uniform", callback=callback, **LARGE)
    assert found.vectors.tobytes() == local["uniform"]


@pytest.mark.parametrize("at", [0.25, 0.5, 0.75])
def test_a_node_is_killed(graph: nearfar.Graph, local: dict[str, bytes], at: float) -> None:
    from ray.cluster_utils import Cluster

    size = {"num_cpus": 1, "object_store_memory": 2_000_000_000}
    nodes = Cluster(initialize_head=True, head_node_args=size)
    node = nodes.add_node(**size)
    nodes.wait_for_nodes()
    ray.init(address=nodes.address, log_to_driver=False)
    try:
        callback = once(lambda: nodes.remove_node(node, allow_graceful=False), at)
        found = nearfar.ray.embed(graph, negatives="uniform", callback=callback, **LARGE)
        assert found.vectors.tobytes() == local["uniform"]
    finally:
        ray.shutdown()
        nodes.shutdown()


def test_the_driver_is_killed(two_workers: str, tmp_path: Path) -> None:
    """Its checkpoint is continued on the cluster or without, and so is that of a local run."""
    options: dict[str, Any] = {"dim": 20, "order": 2, "epochs": 4, "walks": 16, "smoothing": 0}
    whole = nearfar.embed("builtin:sparse", **options).vectors.tobytes()
    program = f"""
import nearfar.ray, os, signal, sys
def kill(event):
    if event.get("epoch") == 3:
        os.kill(os.getpid(), signal.SIGKILL)
nearfar.ray.embed("builtin:sparse", sys.argv[1], checkpoint=sys.argv[2], callback=kill, **{options})
"""
    for embed, name in [(nearfar.embed, "a"), (nearfar.ray.embed, "b")]:
        folder = tmp_path / name
        ended = subprocess.run([sys.executable, "-c", program, two_workers, folder], check=False)
        assert ended.returncode == -signal.SIGKILL
        events: list[dict[str, Any]] = []
        found = embed(
            "builtin:sparse", checkpoint=folder, resume=True, callback=events.append, **options
        )
        assert found.vectors.tobytes() == whole
        assert {"event": "resumed", "epoch": 2} in events

    def stop(event: dict[str, Any]) -> bool:
        return event.get("epoch") != 2

    folder = tmp_path / "c"
    nearfar.embed("builtin:sparse", checkpoint=folder, callback=stop, **options)
    found = nearfar.ray.embed("builtin:sparse", checkpoint=folder, resume=True, **options)
    assert found.vectors.tobytes() == whole


def test_an_interrupt_ends_the_run_and_not_the_cluster(two_workers: str) -> None:
    interrupt = once(lambda: os.kill(os.getpid(), signal.SIGINT), 0.5)
    with pytest.raises(KeyboardInterrupt):
        nearfar.ray.embed("builtin:karate", epochs=4, callback=interrupt)
    found = nearfar.ray.embed("builtin:karate", epochs=2)
    assert found.vectors.tobytes() == nearfar.embed("builtin:karate", epochs=2).vectors.tobytes()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"trainer": "exact"}, "trainer='stream'"),
        ({"walk_length": 20}, "walk_length"),
        ({"device": "cuda"}, "device"),
    ],
)
def test_what_has_no_tasks_is_refused(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        nearfar.ray.embed("builtin:karate", **options)
    assert not ray.is_initialized()
