"""Runs the commands and the code of the pages, each page in a folder of its own.

Blocks of a page run in their order: `sh` with bash, `console` the lines after `$ `, `python` in one
interpreter. Every page finds a graph with labels, the folder `cora`: a small synthetic one, and for pages that
show output the real one, where NEARFAR_DATA has it. The output is then compared, except for the digits: times,
memory and, on other kernels, vectors differ. A line `…` stands for any lines.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = ["index.md", "tutorial.md", *sorted(f"how-to/{it.name}" for it in (DOCS / "how-to").glob("*.md"))]
PROGRAM = Path(os.environ["NEARFAR_BIN"]).resolve()
CORA = Path(os.environ.get("NEARFAR_DATA") or "missing") / "cora"


def blocks(page):
    """Language, first line and text of the code blocks of a page."""
    text = (DOCS / page).read_text("utf-8")
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield match[1], text.count("\n", 0, match.start()) + 2, match[2]


def shell(command):
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


def check_console(text):
    """Runs the commands; compares what they print."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, shown = part.split("\n", 1)
        printed = masked(shell(command))
        pattern = "(.*\n)*".join(re.escape(it) for it in masked(shown).split("…\n"))
        if CORA.is_dir():
            assert re.fullmatch(pattern, printed), f"$ {command}\n{printed}"


def masked(text):
    """The text without digits and without spaces at the ends of lines."""
    text = re.sub(r"[0-9](?:[0-9.,  ]*[0-9])?", "#", text)
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


@pytest.fixture
def folder(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "nearfar").symlink_to(PROGRAM)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    if CORA.is_dir() and "\n```console\n" in (DOCS / page).read_text("utf-8"):
        (tmp_path / "cora").mkdir()
        for name in ["edges.tsv", "labels.tsv", "splits.tsv"]:
            shutil.copy(CORA / name, tmp_path / "cora")
    else:
        shell("nearfar synth --exponent 2.5 --nodes 300 -o cora")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.usefixtures("folder")
def test_page(page):
    names = {}
    for language, line, text in blocks(page):
        assert language in ("sh", "console", "python", "text"), f"{page}:{line}: ```{language}"
        if language == "sh":
            shell(text)
        elif language == "console":
            check_console(text)
        elif language == "python":
            # With the line numbers of the page.
            exec(compile("\n" * (line - 1) + text, DOCS / page, "exec"), names)


def test_every_page_has_code():
    for page in PAGES:
        assert any(language != "text" for language, _, _ in blocks(page)), page
