"""Keyword arguments: names, defaults, and suggestions for misspelled ones."""

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

#: Keywords of each function with their defaults: the options of the command line.
EMBED, SAMPLER = _DEFAULTS["embed"], _DEFAULTS["sampler"]
CLASSIFY, LINKS, MEASURE = _DEFAULTS["classify"], _DEFAULTS["links"], _DEFAULTS["measure"]
REPORT = _DEFAULTS["report"]

#: Keywords of ``Graph`` with their defaults.
GRAPH: dict[str, Any] = {
    "weight": "weight",
    "source": None,
    "target": None,
    "distance": None,
    "length": None,
    "no_weights": False,
    "header": "auto",
    "sep": None,
    "input_format": None,
    "repeats": "sum",
    "nodes": None,
    "num_nodes": None,
    "directed": False,
    "largest_component": False,
}

# Names of the same options in other libraries.
_ALIASES = {
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
    """Raises ``TypeError`` for an unknown keyword, with the most similar known one."""
    names = [name for group in known for name in group]
    for name in options:
        if name in names:
            continue
        similar = [_ALIASES[name]] if _ALIASES.get(name) in names else []
        similar = similar or difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f"did you mean {similar[0]!r}?" if similar else f"expected one of {', '.join(sorted(names))}"
        raise TypeError(f"{function} got an unexpected keyword argument {name!r}; {hint}")


def select(options: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The options whose names are in ``known``."""
    return {name: value for name, value in options.items() if name in known}


def as_json(options: Mapping[str, Any]) -> str:
    """Serialises keywords for the extension module."""
    for name, value in options.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name}={value}: expected a finite number")
    return json.dumps(options, default=_plain)


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{value!r} is not a valid option value; expected a number, string or path")


def signature(*fixed: inspect.Parameter, keywords: Mapping[str, Any]) -> inspect.Signature:
    """The signature shown by ``help`` and editors and read by scikit-learn."""
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, kind, default=value) for name, value in keywords.items()]
    return inspect.Signature([*fixed, *parameters])
