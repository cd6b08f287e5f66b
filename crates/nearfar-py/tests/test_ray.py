"""Training on Ray clusters of this machine: the bytes of a local run, whatever is killed."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import sysconfig
import threading
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

#: On workers of one processor each, as many as the cluster has.
WORKERS = {**LARGE, "threads": 1}

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
            found = nearfar.ray.embed(graph, negatives=law, **WORKERS)
            assert found.vectors.tobytes() == local[law], law


def test_a_task_takes_several_processors(
    two_workers: str, graph: nearfar.Graph, local: dict[str, bytes]
) -> None:
    found = nearfar.ray.embed(graph, negatives="uniform", threads=2, **LARGE)
    assert found.vectors.tobytes() == local["uniform"]
    with pytest.raises(ValueError, match="threads=3: the largest machine of the cluster has 2 processors"):
        nearfar.ray.embed("builtin:karate", threads=3)


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
    found = nearfar.ray.embed(graph, negatives="uniform", callback=callback, **WORKERS)
    assert found.vectors.tobytes() == local["uniform"]


def test_a_node_is_killed(graph: nearfar.Graph, local: dict[str, bytes]) -> None:
    """At three random moments, of a seed that is printed if the test fails."""
    from ray.cluster_utils import Cluster

    def embed() -> None:
        found = nearfar.ray.embed(graph, negatives="uniform", **WORKERS)
        assert found.vectors.tobytes() == local["uniform"]

    seed = int(os.environ.get("NEARFAR_SEED") or random.randrange(2**32))
    print(f"NEARFAR_SEED={seed}")
    size = {"num_cpus": 1, "object_store_memory": 2_000_000_000}
    nodes = Cluster(initialize_head=True, head_node_args=size)
    ray.init(address=nodes.address, log_to_driver=False)
    try:
        node = nodes.add_node(**size)
        start = time.monotonic()
        embed()
        seconds = time.monotonic() - start
        for moment in np.random.default_rng(seed).random(3):
            node = node or nodes.add_node(**size)
            nodes.wait_for_nodes()
            kill = threading.Timer(moment * seconds, nodes.remove_node, (node, False))
            kill.start()
            embed()
            kill.join()
            node = None
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


#: The command that the package installs.
COMMAND = str(Path(sysconfig.get_path("scripts")) / "nearfar")


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in arguments]
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False)


def test_the_command_writes_the_files_of_a_local_run(two_workers: str, tmp_path: Path) -> None:
    options = ["embed", "builtin:sparse", "--epochs", "3", "--dim", "20", "--order", "2", "--smoothing", "0"]

    def run(name: str, *more: object) -> tuple[str, list[Any]]:
        folder = tmp_path / name
        folder.mkdir()
        files = ["-o", folder / "out.parquet", "--contexts", folder / "contexts.npy"]
        files += ["--log", folder / "log.jsonl", "--checkpoint", folder / "state"]
        ended = command(*options, *files, *more)
        assert ended.returncode == 0, ended.stderr
        log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
        for event in log:
            for of_the_process in ("seconds", "peak_memory", "memory", "summary", "time"):
                event.pop(of_the_process, None)
            if event["event"] == "times":
                event.clear()
        return ended.stderr.replace(str(folder), ""), log

    (messages, log), (expected, expected_log) = run("ray", "--cluster", two_workers), run("local")
    of_the_process = re.compile(r"in [\d.]+ m?s|\([^)]*\)|, peak memory.*|[\d.]+ [kMG]B")
    assert of_the_process.sub("", messages) == of_the_process.sub("", expected)
    assert log == expected_log
    for file in ("out.parquet", "contexts.npy", "state/checkpoint.safetensors"):
        assert (tmp_path / "ray" / file).read_bytes() == (tmp_path / "local" / file).read_bytes(), file
    resume = ["--checkpoint", tmp_path / "ray/state", "--resume", "-o", tmp_path / "again.parquet"]
    again = command(*options, "--cluster", two_workers, "--quiet", *resume)
    assert (again.returncode, again.stderr) == (0, "")
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "local/out.parquet").read_bytes()


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_command(two_workers: str, tmp_path: Path, sent: int, code: int) -> None:
    words = ["embed", "builtin:moderate", "--epochs", "100000", "--cluster", two_workers, "--log", "log.jsonl"]
    with subprocess.Popen([COMMAND, *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        log = tmp_path / "log.jsonl"
        while not (log.exists() and "epoch" in log.read_text()):
            time.sleep(0.05)
        process.send_signal(sent)
        assert process.wait(timeout=60) == code
        assert process.stderr is not None and "Traceback" not in process.stderr.read()
    assert not (tmp_path / "embedding.npy").exists()


def test_the_command_refuses_what_a_cluster_does_not_take(tmp_path: Path) -> None:
    options = ["embed", "builtin:karate", "--cluster", "local", "-o", tmp_path / "out.npy"]
    for more in (["--init", "a.npy"], ["--features", "a.npy"], ["--score-every", "2"]):
        ended = command(*options, *more)
        assert ended.returncode == 2 and f"'{more[0]}" in ended.stderr, ended.stderr
    for more, named in (["--trainer", "exact"], "--trainer stream"), (["--device", "cuda"], "--device"):
        ended = command(*options, *more)
        assert ended.returncode == 1 and named in ended.stderr, ended.stderr
