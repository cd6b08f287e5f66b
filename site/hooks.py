"""Hooks of mkdocs: pages that are not in docs/, links between files of the repository, and lists of all
commands and of all names of the Python package.

Documents link to each other as files of the repository, so that they can be read there. On the site, a link
to a file that is a page leads to the page, one to another file to the repository; every file must exist.
"""

import ast
import itertools
import json
import os
import posixpath
import re
import subprocess
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent

# Files of the repository outside docs/, and their pages.
PAGES = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "benchsuite/README.md": "benchmarks/index.md",
    "crates/nearfar/README.md": "reference/rust.md",
}
# Recorded runs: a page each, with its figures and tables.
RUNS = ["2026-11-15-rivals", "2026-11-17-scores", "2026-11-20-scores", "2026-11-19-gpu"]
COMMANDS = "<!-- the commands: site/hooks.py lists them here -->"
PYTHON = ROOT / "crates/nearfar-py/python/nearfar"
PACKAGE = "<!-- the package: site/hooks.py lists it here -->"


def _run_files():
    """Files of the recorded runs, and where they are on the site."""
    for run in RUNS:
        folder = ROOT / "benchsuite/runs" / run
        for file in sorted(folder.iterdir()):
            name = f"benchmarks/{run}.md" if file.name == "README.md" else f"benchmarks/{run}/{file.name}"
            yield f"benchsuite/runs/{run}/{file.name}", name


SITE = {**PAGES, **dict(_run_files())}
SOURCES = {page: source for source, page in SITE.items()}


def on_config(config):
    if repository := config.extra["repository"]:
        config.nav.append({"Source": repository})


def on_files(files, config):
    for page, source in SOURCES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    source = SOURCES.get(uri, f"docs/{uri}")
    parts = re.split(r"^(```.*?^```)$", markdown, flags=re.MULTILINE | re.DOTALL)
    for at in range(0, len(parts), 2):
        parts[at] = _links(parts[at], source, uri, config)
    for at in range(1, len(parts), 2):
        if parts[at].startswith("```rust"):
            # Lines that rustdoc hides.
            parts[at] = re.sub(r"^# .*\n", "", parts[at], flags=re.MULTILINE)
    text = "".join(parts)
    for marker, listed in [(COMMANDS, commands), (PACKAGE, package)]:
        if marker in text:
            text = text.replace(marker, listed())
    return text


def _links(text, source, uri, config):
    """The text with links between files of the repository as links of the site."""

    def replace(match):
        image, label, link = match.groups()
        if re.match(r"[a-z]+:|#", link):
            return match[0]
        path, _, anchor = link.partition("#")
        anchor = f"#{anchor}" if anchor else ""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if target.startswith("docs/"):
            page = target.removeprefix("docs/")
        elif target in SITE:
            page = SITE[target]
        elif target == "README.md":
            page = "index.md"
        elif not (ROOT / target).exists():
            raise PluginError(f"{source}: link to {link}, which does not exist")
        elif repository := config.extra["repository"]:
            kind = "tree" if (ROOT / target).is_dir() else "blob"
            return f"{image}[{label}]({repository}/{kind}/main/{target}{anchor})"
        else:
            return label
        page = posixpath.relpath(page, posixpath.dirname(uri) or ".")
        return f"{image}[{label}]({page}{anchor})"

    return re.sub(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)", replace, text)


def package():
    """Every public name of the Python package, for mkdocstrings: functions, then classes; then keywords."""
    module = ast.parse((PYTHON / "__init__.py").read_text("utf-8"))
    assigned = (it for it in module.body if isinstance(it, ast.Assign) and it.targets[0].id == "__all__")
    names = ast.literal_eval(next(assigned).value)
    listed = [f"::: nearfar.{name}" for name in sorted(names, key=lambda it: (it[0].isupper(), it))]
    return "\n\n".join([*listed, "## Keywords", *keywords()])


def keywords():
    """The keywords by group, and which functions take them, from the generated classes."""
    classes = [it for it in ast.parse((PYTHON / "_keywords.py").read_text("utf-8")).body if isinstance(it, ast.ClassDef)]
    for group in classes:
        takers = [it.name for it in classes if group.name in [getattr(base, "id", "") for base in it.bases]]
        if takers:
            functions = ", ".join(f"`{name.removesuffix('Keywords').lower()}`" for name in takers)
            entries = re.sub(r"(?m)^(\w+) : (.*)$", r"- `\1` : `\2`\n", ast.get_docstring(group))
            yield f"### {group.name.removesuffix('Options')}\n\nOf {functions}.\n\n{entries.replace('``', '`')}"


def commands():
    """All commands with their options, from what the program says of itself."""
    program = os.environ.get("NEARFAR_BIN", str(ROOT / "target/debug/nearfar"))
    listed = subprocess.run([program, "options"], check=True, capture_output=True).stdout
    return "\n".join(line for it in json.loads(listed)["commands"] for line in _command(it))


def _command(command):
    yield from [f"## nearfar {command['name']}", "", f"{_text(command['about'])}.", ""]
    yield from ["```sh", *command["examples"], "```", ""]
    groups = {}
    for entry in command["arguments"] + command["options"]:
        groups.setdefault(entry["heading"] or "Arguments", []).append(entry)
    for heading, entries in groups.items():
        if heading != "General":
            yield from [f"### {heading} {{ #{command['name']}-{heading.lower()} }}", ""]
            yield from itertools.chain.from_iterable(map(_entry, entries))


def _entry(entry):
    """An item of a list of definitions."""
    value = f" {entry['value']}" if entry["value"] else ""
    short = f"`-{entry['short']}`, " if entry["short"] else ""
    name = f"{short}`--{entry['name']}{value}`" if entry["heading"] else f"`{value.strip()}`"
    default = entry["default_text"]
    if default is None and entry["default"] not in (None, False):
        default = f"`{entry['default']}`"
    default = f" Default: {_text(default)}." if default else ""
    yield from [name, f":   {_text(entry['help'])}.{default}", ""]
    for choice in entry["choices"]:
        yield f"    - `{choice['name']}`" + (f": {_text(choice['help'])}" if choice["help"] else "")
    yield ""


def _text(text):
    """One line, in which what is not code is not taken for markup."""
    parts = " ".join(text.split()).split("`")
    parts[::2] = [it.replace("<", "&lt;").replace("*", "\\*") for it in parts[::2]]
    return "`".join(parts)
