"""Docstrings describe every parameter, with the default of the signature."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

import nearfar
import pytest

DOCUMENTED = ["Embedding", "Graph", "NegativeSampler", "apply", "classify", "distances", "embed", "links", "load"]
DOCUMENTED += ["measure", "report", "stats", "synth"]


def sections(documented: Any) -> dict[str, str]:
    """The sections of a NumPy docstring by title; the summary has the title ``""``."""
    text = inspect.getdoc(documented)
    assert text is not None
    titles = re.split(r"^(\w+)\n-+\n", text, flags=re.MULTILINE)
    return {"": titles[0], **dict(zip(titles[1::2], titles[2::2], strict=True))}


def entries(section: str) -> dict[str, str]:
    """The type of each parameter, as written after the colon."""
    found: dict[str, str] = {}
    for line in section.splitlines():
        if line and not line.startswith(" "):
            names, _, kind = line.partition(" : ")
            found |= dict.fromkeys(names.split(", "), kind)
    return found


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_parameter_is_documented_with_its_default(name: str) -> None:
    documented = getattr(nearfar, name)
    parameters = inspect.signature(documented).parameters
    section = sections(documented)["Parameters"]
    described = entries(section)
    assert described.keys() - {"**options"} <= parameters.keys()
    for parameter in parameters.values():
        if parameter.name not in described:
            assert parameter.kind is parameter.VAR_KEYWORD or f"``{parameter.name}``" in section, parameter
            continue
        default = re.search(r"default=(.*)$", described[parameter.name])
        if default is not None:
            assert ast.literal_eval(default[1]) == parameter.default, parameter
        elif described[parameter.name]:
            assert parameter.default is parameter.empty, parameter


@pytest.mark.parametrize("name", nearfar.__all__)
def test_summaries_are_one_line(name: str) -> None:
    summary = sections(getattr(nearfar, name))[""]
    assert summary.splitlines()[0].endswith(".") and summary.splitlines()[1:2] in ([], [""])


@pytest.mark.parametrize("name", [*DOCUMENTED, "NearFar"])
def test_examples(name: str) -> None:
    assert ">>> " in sections(getattr(nearfar, name))["Examples"]
