"""Training on a Ray cluster of this machine: the bytes of a local run, whatever is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
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
    "walks": 2,
    "epochs": 2,
    "k": 3,
    "start": "random",
    "l2": 0.05,
    "smoothing": 0,
    "negatives": "uniform",
}


@pytest.fixture(scope="module")
def graph() -> nearfar.Graph:
    """Fifty thousand nodes: a ring with random chords."""
    rng = np.random.default_rng(0)
    nodes = np.arange(50_000)
    ring = np.stack([nodes, (nodes + 1) % 50_000], axis=1)
    chords = np.stack([nodes, rng.integers(0, 50_000, 50_000)], axis=1)
    return nearfar.Graph(np.concatenate([ring, chords]))


@pytest.fixture(scope="module")
def local(graph: nearfar.Graph) -> bytes:
    return nearfar.embed(graph, **LARGE).vectors.tobytes()


@pytest.fixture
def machine() -> Iterator[Any]:
    """A cluster of one node with two workers."""
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def once(action: Callable[[], None], after: float) -> Callable[[dict[str, Any]], None]:
    """A callback that does something when this fraction of a run is complete."""
    done: list[None] = []

    def callback(event: dict[str, Any]) -> None:
        if not done and event["event"] == "progress" and event["done"] >= after:
            done.append(None)
            action()

    return callback


@pytest.mark.parametrize(
    "options",
    [
        {"epochs": 3},
        {"epochs": 2, "order": 2, "negatives": "degree", "dim": 20, "walks": 3},
        {"epochs": 2, "negatives": "landmark-approx", "model": "node2vec", "q": 2.0},
    ],
)
def test_small_graphs_have_the_bytes_of_a_local_run(machine: Any, options: dict[str, Any]) -> None:
    found = nearfar.ray.embed("builtin:karate", **options)
    expected = nearfar.embed("builtin:karate", **options)
    assert found.vectors.tobytes() == expected.vectors.tobytes()
    assert found.nodes == expected.nodes
    if "order" in options:
        assert found.contexts.vectors.tobytes() == expected.contexts.vectors.tobytes()


def test_parts_have_the_bytes_of_a_local_run_when_a_worker_is_killed(
    machine: Any, graph: nearfar.Graph, local: bytes
) -> None:
    def kill_a_worker() -> None:
        for process in Path("/proc").iterdir():
            if process.name.isdigit() and (process / "cmdline").read_bytes().startswith(b"ray::"):
                os.kill(int(process.name), signal.SIGKILL)
                return

    found = nearfar.ray.embed(graph, callback=once(kill_a_worker, 0.25), **LARGE)
    assert found.vectors.tobytes() == local


def test_a_node_is_killed(graph: nearfar.Graph, local: bytes) -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        def kill_the_node() -> None:
            cluster.remove_node(node, allow_graceful=False)

        found = nearfar.ray.embed(graph, callback=once(kill_the_node, 0.25), **LARGE)
        assert found.vectors.tobytes() == local
    finally:
        ray.shutdown()
        cluster.shutdown()


def test_a_run_is_continued_on_a_cluster_or_without(machine: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"dim": 20, "order": 2, "epochs": 4, "walks": 16, "smoothing": 0}
    whole = nearfar.embed("builtin:sparse", **options).vectors.tobytes()
    keep: list[dict[str, Any]] = [
        {"checkpoint": tmp_path / name, "callback": lambda event: event.get("epoch") != 2}
        for name in "ab"
    ]
    nearfar.ray.embed("builtin:sparse", **keep[0], **options)
    nearfar.embed("builtin:sparse", **keep[1], **options)
    resume: dict[str, Any] = {"resume": True, **options}
    found = nearfar.embed("builtin:sparse", checkpoint=tmp_path / "a", **resume)
    assert found.vectors.tobytes() == whole
    found = nearfar.ray.embed("builtin:sparse", checkpoint=tmp_path / "b", **resume)
    assert found.vectors.tobytes() == whole


def test_trainers_that_have_no_parts_are_refused(machine: Any) -> None:
    with pytest.raises(ValueError, match="stream"):
        nearfar.ray.embed("builtin:karate", trainer="exact")
