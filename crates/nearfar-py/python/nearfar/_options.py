"""Keyword arguments: names, defaults, documentation, and suggestions for misspelled ones."""

from __future__ import annotations

import difflib
import inspect
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from . import _keywords, _nearfar

_Documented = TypeVar("_Documented", bound=Callable[..., Any])

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

#: Groups of keywords with their defaults: the options of the command line, and those of ``Graph``.
GROUPS: dict[str, dict[str, Any]] = {**json.loads(_nearfar.defaults()), "graph": GRAPH}

#: The groups that each function takes.
FUNCTIONS = {
    "embed": ("train", "law", "negatives", "run", "gpu", "files", "graph"),
    "update": ("train", "law", "negatives", "run", "graph"),
    "sampler": ("negatives", "sampling", "graph"),
    "classify": ("classify", "threads"),
    "links": ("links", "train", "law", "negatives", "run", "gpu", "graph"),
    "measure": ("measure", "law", "negatives", "threads", "graph"),
    "report": ("report", "threads", "graph"),
}


def _of(function: str) -> dict[str, Any]:
    groups = (GROUPS[group] for group in FUNCTIONS[function] if group != "graph")
    return {name: default for group in groups for name, default in group.items()}


#: Keywords of each function with their defaults, without those of ``Graph``.
EMBED, UPDATE, SAMPLER = _of("embed"), _of("update"), _of("sampler")
CLASSIFY, LINKS, MEASURE, REPORT = _of("classify"), _of("links"), _of("measure"), _of("report")

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


def check(function: str, options: Mapping[str, object], *known: Mapping[str, Any]) -> None:
    """Raises ``TypeError`` for an unknown keyword, with the most similar known one."""
    names = [name for group in known for name in group]
    for name in options:
        if name in names:
            continue
        similar = [_ALIASES[name]] if _ALIASES.get(name) in names else []
        similar = similar or difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f"did you mean {similar[0]!r}?" if similar else f"expected one of {', '.join(sorted(names))}"
        raise TypeError(f"{function} got an unexpected keyword argument {name!r}; {hint}")


def select(options: Mapping[str, object], known: Mapping[str, Any]) -> dict[str, Any]:
    """The options whose names are in ``known``."""
    return {name: value for name, value in options.items() if name in known}


def as_json(options: Mapping[str, object]) -> str:
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


def class_name(group: str) -> str:
    """The class of ``_keywords`` that describes a group."""
    return f"{group.capitalize()}Options"


def documented(*groups: str) -> Callable[[_Documented], _Documented]:
    """Lists the keywords of some groups in the signature and the docstring, for ``help``, editors and
    scikit-learn. In the docstring they take the place of ``**options``.
    """

    def document(function: _Documented) -> _Documented:
        parameters = inspect.signature(function).parameters.values()
        fixed = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
        # A class has the parameters of its constructor.
        known = {parameter.name for parameter in fixed}
        kind = inspect.Parameter.KEYWORD_ONLY
        keywords = [
            inspect.Parameter(name, kind, default=default)
            for group in groups
            for name, default in GROUPS[group].items()
            if name not in known
        ]
        function.__signature__ = inspect.Signature([*fixed, *keywords])  # type: ignore[attr-defined]
        entries = "\n".join(_entries(group) for group in groups)
        place = re.compile(r"^( *)\*\*options\n(?:\1 +.*\n)+", re.MULTILINE)

        def indented(match: re.Match[str]) -> str:
            return "".join(match[1] + line if line.strip() else line for line in (entries + "\n").splitlines(True))

        if function.__doc__ is not None:
            function.__doc__ = place.sub(indented, function.__doc__)
        return function

    return document


def _entries(group: str) -> str:
    """The documentation of a group, a paragraph for each keyword."""
    return inspect.getdoc(getattr(_keywords, class_name(group))) or ""
