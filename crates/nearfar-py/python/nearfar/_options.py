"""Keywords: which there are, and what is meant by those that there are not."""

from __future__ import annotations

import difflib
import inspect
import json
import math
import os
from collections.abc import Mapping
from typing import Any

from . import _nearfar

_DEFAULTS: dict[str, dict[str, Any]] = json.loads(_nearfar.defaults())

#: The keywords of functions: the command line's options.
EMBED, SAMPLER = _DEFAULTS["embed"], _DEFAULTS["sampler"]
CLASSIFY, LINKS, MEASURE = _DEFAULTS["classify"], _DEFAULTS["links"], _DEFAULTS["measure"]

#: How a graph is read from what was given.
GRAPH: dict[str, Any] = {
    "weight": "weight",
    "source": None,
    "target": None,
    "nodes": None,
    "num_nodes": None,
    "largest_component": False,
}

# What other libraries call it.
_ELSEWHERE = {
    "dimensions": "dim",
    "embedding_dim": "dim",
    "learning_rate": "lr",
    "n_repeats": "repeats",
    "n_jobs": "threads",
    "negative": "k",
    "num_negatives": "k",
    "num_walks": "walks",
    "random_state": "seed",
    "test_size": "test_ratio",
    "train_size": "train_ratio",
    "vector_size": "dim",
    "walks_per_node": "walks",
    "weight_key": "weight",
    "window": "context",
    "window_size": "context",
    "workers": "threads",
}


def check(function: str, options: Mapping[str, Any], *known: Mapping[str, Any]) -> None:
    """Fails on a keyword that is not known, and names the nearest that is."""
    names = [name for part in known for name in part]
    for name in options:
        if name in names:
            continue
        meant = [_ELSEWHERE[name]] if _ELSEWHERE.get(name) in names else []
        meant = meant or difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f"did you mean {meant[0]!r}?" if meant else f"there are {', '.join(sorted(names))}"
        raise TypeError(f"{function} got an unexpected keyword argument {name!r}; {hint}")


def part(options: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords that belong here."""
    return {name: value for name, value in options.items() if name in known}


def as_json(options: Mapping[str, Any]) -> str:
    """Keywords as the engine takes them."""
    for name, value in options.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} is {value}; it takes a finite number")
    return json.dumps(options, default=_plain)


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{value!r} cannot be the value of an option")


def signature(*fixed: inspect.Parameter, keywords: Mapping[str, Any]) -> inspect.Signature:
    """The signature that help, editors and scikit-learn see."""
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, kind, default=value) for name, value in keywords.items()]
    return inspect.Signature([*fixed, *parameters])
