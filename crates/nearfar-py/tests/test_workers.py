"""Negative samplers in the processes of training loops: each has a stream of its own."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import random
import warnings
from typing import Any

import nearfar
import numpy as np
import pytest

START_METHODS = [it for it in ("fork", "spawn") if it in multiprocessing.get_all_start_methods()]
EPOCHS, WORKERS = 2, 2


def draw(sampler: nearfar.NegativeSampler, results: Any, worker: int) -> None:
    results.put((worker, sampler.sample(np.arange(34), k=30)))


def sets(method: str, seed: int) -> list[np.ndarray[Any, Any]]:
    """What two workers draw in two epochs, each started anew, as a DataLoader does."""
    context = multiprocessing.get_context(method)
    sampler = nearfar.NegativeSampler("builtin:karate", "distance", seed=seed)
    drawn = []
    for _ in range(EPOCHS):
        results = context.SimpleQueue()
        processes = [context.Process(target=draw, args=(sampler, results, id)) for id in range(WORKERS)]
        with warnings.catch_warnings():
            # Newer versions of Python warn of threads; those of nearfar end with each call.
            warnings.simplefilter("ignore", DeprecationWarning)
            for process in processes:
                process.start()
        drawn += [of for _, of in sorted((results.get() for _ in processes), key=lambda it: it[0])]
        for process in processes:
            process.join()
    return drawn


def chi_squared(negatives: np.ndarray[Any, Any], centre: int) -> float:
    weights = nearfar.distances("builtin:karate", centre).astype(float)
    counts = np.bincount(negatives.ravel(), minlength=34)
    expected = weights / weights.sum() * negatives.size
    assert counts[centre] == 0
    others = np.arange(34) != centre
    return float(((counts - expected)[others] ** 2 / expected[others]).sum())


@pytest.mark.parametrize("method", START_METHODS)
def test_workers_and_epochs_draw_different_negatives_and_the_same_again(method: str) -> None:
    first = sets(method, seed=4)
    assert len({drawn.tobytes() for drawn in first}) == EPOCHS * WORKERS
    assert all((a == b).all() for a, b in zip(first, sets(method, seed=4), strict=True))
    if method == START_METHODS[-1]:
        return
    assert (sets(method, seed=5)[0] != first[0]).any()


@pytest.mark.skipif(len(START_METHODS) < 2, reason="this system has one start method")
def test_start_methods_give_the_same_negatives() -> None:
    forked, spawned = (sets(method, seed=1) for method in START_METHODS)
    assert all((a == b).all() for a, b in zip(forked, spawned, strict=True))


def test_the_law_is_exact_over_all_streams() -> None:
    sampler = nearfar.NegativeSampler("builtin:karate", "distance", seed=2)
    streams = [sampler.stream(worker, epoch) for worker in range(20) for epoch in range(20)]
    drawn = np.stack([stream.sample([5], k=500) for stream in streams])
    # Chi-squared with 32 degrees of freedom exceeds 62.5 with probability 0.001.
    assert chi_squared(drawn, 5) < 62.5
    pairs = sum(int((a == b).sum()) for a, b in zip(drawn, drawn[1:], strict=False))
    expected = drawn[1:].size * float((np.bincount(drawn.ravel()) / drawn.size) @ (np.bincount(drawn.ravel()) / drawn.size))
    assert abs(pairs - expected) < 4 * expected**0.5, "streams are independent"


def test_copies_continue_and_streams_begin_anew() -> None:
    sampler = nearfar.NegativeSampler("builtin:karate", seed=3)
    sampler.sample([1], k=9)
    continued = [pickle.loads(pickle.dumps(sampler)), copy.deepcopy(sampler)]
    expected = sampler.sample([1], k=50)
    assert all((it.sample([1], k=50) == expected).all() for it in continued)
    one, two = sampler.stream(0), sampler.stream(1)
    assert (one.sample([1], k=50) != two.sample([1], k=50)).any()
    third = pickle.loads(pickle.dumps(two))
    assert (third.sample([1], k=50) == two.sample([1], k=50)).all()
    assert (sampler.stream(0, 1).sample([1], k=50) != sampler.stream(1, 0).sample([1], k=50)).any()


def test_seed_and_generator_of_a_call() -> None:
    sampler = nearfar.NegativeSampler("builtin:karate", seed=0)
    first = sampler.sample([1, 2], k=20)
    assert (sampler.sample([1, 2], k=20, seed=7) == sampler.sample([1, 2], k=20, seed=7)).all()
    assert (sampler.sample([1, 2], k=20, seed=0) == first).all()
    again = nearfar.NegativeSampler("builtin:karate", seed=0)
    again.sample([1, 2], k=20)
    assert (again.sample([5], k=20) == sampler.sample([5], k=20)).all(), "calls with a seed do not count"
    for make in (np.random.default_rng, random.Random):
        drawn = [sampler.sample([1], k=50, generator=make(seed)) for seed in (1, 1, 2)]
        assert (drawn[0] == drawn[1]).all() and (drawn[0] != drawn[2]).any()
    with pytest.raises(ValueError, match="seed cannot be combined with generator"):
        sampler.sample([1], seed=1, generator=random.Random(1))
