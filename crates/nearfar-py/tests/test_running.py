"""Events, interrupts, checkpoints, threads and forks."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nearfar
import numpy as np
import pytest

SMALL: dict[str, Any] = {"dim": 8, "epochs": 4, "seed": 2}


def test_callback_receives_all_events() -> None:
    received: list[dict[str, Any]] = []
    nearfar.embed("builtin:karate", callback=received.append, **SMALL)
    events = [event for event in received if event["event"] != "progress"]
    assert [event["event"] for event in events] == ["planned", "started"] + ["epoch"] * 4
    assert events[0]["negatives"] == "distance" and "distance" in events[0]["summary"]
    assert events[1]["nodes"] == 34 and events[1]["epochs"] == 4
    assert [event["epoch"] for event in events[2:]] == [1, 2, 3, 4]
    assert all(event["loss"] > 0 for event in events[2:])


def test_progress_events_are_rate_limited() -> None:
    times: list[float] = []
    done: list[float] = []

    def record(event: dict[str, Any]) -> None:
        if event["event"] == "progress":
            times.append(time.monotonic())
            done.append(event["done"])

    graph = nearfar.synth("moderate")
    start = time.monotonic()
    nearfar.embed(graph, epochs=2, walks=600, callback=record)
    seconds = time.monotonic() - start
    assert 1 <= len(times) <= 10 * seconds + 1
    assert done == sorted(done) and all(0 <= fraction <= 1 for fraction in done)


def test_callback_stops_within_an_epoch() -> None:
    graph = nearfar.synth("moderate")
    seen: list[str] = []

    def stop(event: dict[str, Any]) -> bool:
        seen.append(event["event"])
        return event["event"] != "progress"

    assert nearfar.embed(graph, epochs=1, walks=1000, callback=stop).vectors.shape == (graph.num_nodes, 128)
    assert seen == ["planned", "started", "progress"]


def test_callback_runs_in_the_calling_thread() -> None:
    threads = []
    nearfar.embed("builtin:karate", callback=lambda _: threads.append(threading.get_ident()), **SMALL)
    assert set(threads) == {threading.get_ident()}


@pytest.mark.parametrize("at", ["planned", "started", "epoch"])
@pytest.mark.parametrize("by_raising", [False, True])
def test_callback_stops_the_run(at: str, by_raising: bool) -> None:
    seen: list[str] = []

    def stop(event: dict[str, Any]) -> bool:
        seen.append(event["event"])
        if event["event"] == at and by_raising:
            raise StopIteration
        return event["event"] != at

    stopped = nearfar.embed("builtin:karate", callback=stop, **SMALL)
    assert seen[-1] == at and seen.count(at) == 1, "no event after the stop"
    assert stopped.vectors.shape == (34, 8)
    assert (stopped.vectors != nearfar.embed("builtin:karate", **SMALL).vectors).any()


def test_exceptions_of_callbacks_propagate() -> None:
    class CallbackError(Exception):
        pass

    def fail(event: dict[str, Any]) -> None:
        if event["event"] == "epoch":
            raise CallbackError("enough")

    with pytest.raises(CallbackError, match="enough"):
        nearfar.embed("builtin:karate", callback=fail, **SMALL)
    assert nearfar.embed("builtin:karate", **SMALL).vectors.shape == (34, 8)


def test_progress_bar(capfd: pytest.CaptureFixture[str]) -> None:
    nearfar.embed("builtin:karate", progress=True, **SMALL)
    shown = capfd.readouterr().err
    last = shown.split("\r")[-1]
    assert last.startswith("distance: 100%|" + "█" * 30 + "| 00:0") and last.endswith("\n")
    assert "epoch 4/4  loss " in last


LONG = """
    import nearfar, numpy as np, signal, tempfile, threading, time, os
    rng = np.random.default_rng(0)
    graph = nearfar.Graph(rng.integers(0, 30_000, (300_000, 2)))
    def vectors():
        return nearfar.Embedding(graph.nodes, rng.standard_normal((graph.num_nodes, 256)))
    def interrupt():
        time.sleep({delay})
        interrupt.at = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt).start()
    try:
        {call}
        print("done")
    except KeyboardInterrupt:
        print("after", time.monotonic() - interrupt.at)
    print(nearfar.embed("builtin:karate", dim=4, epochs=1).vectors.shape, flush=True)
    os._exit(0)
"""


@pytest.mark.parametrize(
    "call",
    [
        "nearfar.embed(graph, negatives='uniform', epochs=1, walks=40, dim=1024)",
        "nearfar.embed(graph, negatives='distance', strategy='table')",
        "nearfar.NegativeSampler(graph, 'distance', strategy='levels').sample(np.arange(30_000), 5)",
        "nearfar.distances(graph, np.arange(20_000))",
    ],
)
def test_interrupt_ends_only_the_call(call: str) -> None:
    script = textwrap.dedent(LONG.format(delay=0.5, call=call))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    interrupted, next_call = done.stdout.splitlines()[:2]
    assert interrupted.startswith("after "), done
    assert float(interrupted.split()[1]) < 0.5
    assert next_call == "(34, 4)", "the next call works"


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc/self/task to count threads")
@pytest.mark.parametrize(
    "call",
    [
        "embed(graph, negatives='uniform', epochs=3, walks=40, dim=256)",
        "links(graph, seeds=9, negatives='uniform', epochs=3, walks=40, dim=256)",
        "NegativeSampler(graph, 'distance', strategy='table')",
        "measure(vectors(), graph, sources=30_000)",
        "report(vectors(), os.path.join(tempfile.mkdtemp(), 'r.html'), graph=graph, points=30_000)",
        "stats(graph), [nearfar.stats(graph, sources=30_000) for _ in range(100)]",
    ],
)
def test_interrupted_work_stops_its_threads(call: str) -> None:
    script = textwrap.dedent(LONG.format(delay=2, call=f"nearfar.{call}"))
    count = textwrap.dedent("""
        threads = lambda: len(os.listdir("/proc/self/task"))
        before = threads()
    """)
    wait = textwrap.dedent("""
        start = time.monotonic()
        while threads() > before and time.monotonic() < start + 20:
            time.sleep(0.01)
        print("stopped after", time.monotonic() - start)
        print(nearfar""")
    script = script.replace("\ndef interrupt", count + "\ndef interrupt", 1).replace("\nprint(nearfar", wait, 1)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    interrupted, stopped = done.stdout.splitlines()[:2]
    assert interrupted.startswith("after ") and float(interrupted.split()[1]) < 0.5, done
    assert float(stopped.split()[-1]) < 2


def test_resumed_run_has_the_same_bytes(tmp_path: Path) -> None:
    state, log = tmp_path / "state", tmp_path / "log.jsonl"
    uninterrupted = nearfar.embed("builtin:karate", **SMALL).vectors

    def fail(event: dict[str, Any]) -> None:
        if event["event"] == "epoch" and event["epoch"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        nearfar.embed("builtin:karate", checkpoint=state, callback=fail, **SMALL)
    with pytest.raises(ValueError, match="resume"):
        nearfar.embed("builtin:karate", checkpoint=state, **SMALL)
    with pytest.raises(ValueError, match="dim 8.*9"):
        nearfar.embed("builtin:karate", checkpoint=state, resume=True, **{**SMALL, "dim": 9})
    resumed = nearfar.embed("builtin:karate", checkpoint=str(state), resume=True, log=log, **SMALL)
    assert (resumed.vectors == uninterrupted).all()
    events = [json.loads(line) for line in log.read_text().splitlines()]
    # The state after an epoch is not saved if saving would take longer than the epoch.
    epochs = [event["epoch"] for event in events if event["event"] == "epoch"]
    assert epochs in ([3, 4], [2, 3, 4])
    assert [event["epoch"] for event in events if event["event"] == "resumed"] == [epochs[0] - 1]
    assert all(event["seconds"] >= 0 for event in events)
    with pytest.raises(ValueError, match="resume.*checkpoint"):
        nearfar.embed("builtin:karate", resume=True)
    with pytest.raises(OSError, match="cannot write"):
        nearfar.embed("builtin:karate", log=tmp_path / "no" / "log.jsonl")


def test_resume_from_a_checkpoint_of_the_command_line(
    command_line: Callable[..., str], tmp_path: Path
) -> None:
    flags = ["--dim", 8, "--epochs", 4, "--seed", 2, "--checkpoint", tmp_path / "state"]
    command_line("embed", "builtin:karate", "-o", tmp_path / "x.npy", *flags)
    resumed = nearfar.embed("builtin:karate", checkpoint=tmp_path / "state", resume=True, **SMALL)
    assert (resumed.vectors == nearfar.load(tmp_path / "x.npy").vectors).all()


def test_config_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('dim = 8\nepochs = 9\nseed = 2\nmodel = "line"\nnegatives = "uniform"\n')
    options: dict[str, Any] = {"model": "line", "negatives": "uniform", **SMALL}
    expected = nearfar.embed("builtin:karate", **options).vectors
    assert (nearfar.embed("builtin:karate", config=file, epochs=4).vectors == expected).all()
    fitted = nearfar.NearFar(config=str(file), epochs=4).fit_transform("builtin:karate")
    assert (fitted == expected).all()
    file.write_text("dims = 8\n")
    with pytest.raises(ValueError, match="settings.toml.*dims.*negatives, gamma"):
        nearfar.embed("builtin:karate", config=file)
    with pytest.raises(FileNotFoundError, match="none.toml"):
        nearfar.links("builtin:karate", config="none.toml")


def test_other_threads_run_during_a_call() -> None:
    graph = nearfar.synth("moderate")
    counted, stop = 0, threading.Event()

    def count() -> None:
        nonlocal counted
        while not stop.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    start = time.monotonic()
    nearfar.embed(graph, epochs=3)
    seconds = time.monotonic() - start
    stop.set()
    thread.join()
    assert counted > 50 * seconds


def test_calls_from_several_threads() -> None:
    sequential = [nearfar.embed("builtin:karate", dim=8, epochs=2, seed=seed).vectors for seed in range(8)]
    sampler = nearfar.NegativeSampler("builtin:karate", "distance")

    def work(seed: int) -> Any:
        sampler.sample(np.arange(34), k=5000)
        return nearfar.embed("builtin:karate", dim=8, epochs=2, seed=seed).vectors

    with ThreadPoolExecutor(8) as pool:
        concurrent = list(pool.map(work, range(8)))
    assert all((a == b).all() for a, b in zip(sequential, concurrent, strict=True))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_calls_in_a_forked_process() -> None:
    on_interrupt = signal.getsignal(signal.SIGINT)
    sampler = nearfar.NegativeSampler("builtin:karate", "distance", seed=1)
    before = nearfar.embed("builtin:karate", **SMALL).vectors
    expected = nearfar.NegativeSampler("builtin:karate", "distance", seed=1).sample(np.arange(34), 2000)
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe()

    def child() -> None:
        send.send((nearfar.embed("builtin:karate", **SMALL).vectors, sampler.sample(np.arange(34), 2000)))

    process = context.Process(target=child)
    process.start()
    assert receive.poll(60), "the child process hangs"
    vectors, negatives = receive.recv()
    process.join()
    assert (vectors == before).all()
    assert negatives.shape == expected.shape and (negatives != expected).any(), "a stream of its own"
    assert signal.getsignal(signal.SIGINT) is on_interrupt
