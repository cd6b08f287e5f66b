"""The built site needs nothing from elsewhere."""

import re
from pathlib import Path

import pytest

HTML = Path(__file__).resolve().parent.parent / "target/site/html"
PAGES = sorted(HTML.rglob("*.html"))


def test_there_are_pages():
    assert {"index.html", "tutorial.html", "reference/command-line.html"} <= {str(it.relative_to(HTML)) for it in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda it: str(it.relative_to(HTML)))
def test_nothing_is_loaded_from_elsewhere(page):
    text = page.read_text("utf-8")
    loaded = re.findall(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"?([^\"> ]+)", text)
    loaded += re.findall(r"<link\b(?=[^>]*rel=\"?(?:stylesheet|icon|preload|preconnect))[^>]*\bhref=\"?([^\"> ]+)", text)
    assert loaded
    assert [it for it in loaded if re.match(r"(https?:)?//", it)] == []


def test_styles_load_nothing_from_elsewhere():
    for style in HTML.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", style.read_text("utf-8")), style


def test_the_reference_has_every_command_and_keyword():
    commands = (HTML / "reference/command-line.html").read_text("utf-8")
    for word in ["nearfar embed", "nearfar neighbors", "--negatives", "--max-memory"]:
        assert word in commands
    python = (HTML / "reference/python.html").read_text("utf-8")
    for word in ["nearfar.embed", "sample_edges", "fit_transform", "max_memory"]:
        assert word in python
