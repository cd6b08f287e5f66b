"""Events, interrupts, threads, forks."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import nearfar
import numpy as np
import pytest

SMALL: dict[str, Any] = {"dim": 8, "epochs": 4, "seed": 2}


def test_a_callback_sees_every_event() -> None:
    events: list[dict[str, Any]] = []
    nearfar.embed("builtin:karate", callback=events.append, **SMALL)
    assert [event["event"] for event in events] == ["planned", "started"] + ["epoch"] * 4
    assert events[0]["negatives"] == "distance" and "negatives by distance" in events[0]["summary"]
    assert events[1]["nodes"] == 34 and events[1]["epochs"] == 4
    assert [event["epoch"] for event in events[2:]] == [1, 2, 3, 4]
    assert all(event["loss"] > 0 for event in events[2:])


def test_a_callback_runs_in_the_thread_that_called() -> None:
    threads = []
    nearfar.embed("builtin:karate", callback=lambda _: threads.append(threading.get_ident()), **SMALL)
    assert set(threads) == {threading.get_ident()}


@pytest.mark.parametrize("at", ["planned", "started", "epoch"])
@pytest.mark.parametrize("by_raising", [False, True])
def test_a_callback_may_stop_the_run(at: str, by_raising: bool) -> None:
    seen: list[str] = []

    def stop(event: dict[str, Any]) -> bool:
        seen.append(event["event"])
        if event["event"] == at and by_raising:
            raise StopIteration
        return event["event"] != at

    stopped = nearfar.embed("builtin:karate", callback=stop, **SMALL)
    assert seen[-1] == at and seen.count(at) == 1, "it hears no more"
    assert stopped.vectors.shape == (34, 8)
    assert (stopped.vectors != nearfar.embed("builtin:karate", **SMALL).vectors).any()


def test_what_a_callback_raises_comes_out() -> None:
    class Own(Exception):
        pass

    def fail(event: dict[str, Any]) -> None:
        if event["event"] == "epoch":
            raise Own("enough")

    with pytest.raises(Own, match="enough"):
        nearfar.embed("builtin:karate", callback=fail, **SMALL)
    assert nearfar.embed("builtin:karate", **SMALL).vectors.shape == (34, 8)


def test_progress_is_shown(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    nearfar.embed("builtin:karate", progress=True, **SMALL)
    assert "distance: 100%" in capfd.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    nearfar.embed("builtin:karate", progress=True, **SMALL)
    plain = capfd.readouterr().err
    assert "epoch 4/4  loss " in plain and plain.endswith("\n")


LONG = """
    import nearfar, numpy as np, signal, threading, time, os
    rng = np.random.default_rng(0)
    graph = nearfar.Graph(rng.integers(0, 30_000, (300_000, 2)))
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
def test_an_interrupt_ends_the_call_and_nothing_else(call: str) -> None:
    script = textwrap.dedent(LONG.format(delay=0.5, call=call))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    told, after = done.stdout.splitlines()[:2]
    assert told.startswith("after "), done
    assert float(told.split()[1]) < 0.5
    assert after == "(34, 4)", "the next call works"


def test_other_threads_go_on_during_a_call() -> None:
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


def test_many_threads_may_call() -> None:
    alone = [nearfar.embed("builtin:karate", dim=8, epochs=2, seed=seed).vectors for seed in range(8)]
    sampler = nearfar.NegativeSampler("builtin:karate", "distance")

    def work(seed: int) -> Any:
        sampler.sample(np.arange(34), k=5000)
        return nearfar.embed("builtin:karate", dim=8, epochs=2, seed=seed).vectors

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(work, range(8)))
    assert all((a == b).all() for a, b in zip(alone, together, strict=True))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_may_call() -> None:
    sampler = nearfar.NegativeSampler("builtin:karate", "distance", seed=1)
    before = nearfar.embed("builtin:karate", **SMALL).vectors
    expected = nearfar.NegativeSampler("builtin:karate", "distance", seed=1).sample(np.arange(34), 2000)
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe()

    def child() -> None:
        send.send((nearfar.embed("builtin:karate", **SMALL).vectors, sampler.sample(np.arange(34), 2000)))

    process = context.Process(target=child)
    process.start()
    assert receive.poll(60), "the child is stuck"
    vectors, negatives = receive.recv()
    process.join()
    assert (vectors == before).all() and (negatives == expected).all()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
