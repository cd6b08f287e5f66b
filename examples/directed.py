"""Link prediction in a directed graph: which modules of Python's standard library import which others.

    python examples/directed.py [FILE]

writes the arcs to FILE, for ``nearfar links FILE --directed --order 2``.
"""

# %% Arcs from the modules to those that they import
import ast
import sys
import sysconfig
from pathlib import Path

import nearfar

LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idlelib"}

root = Path(sysconfig.get_path("stdlib"))
files: dict[str, Path] = {}
for path in sorted(root.rglob("*.py")):
    parts = path.relative_to(root).with_suffix("").parts
    if not LEFT_OUT & set(parts):
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path


def imports(name: str, path: Path) -> list[str]:
    """The full names that a module imports."""
    try:
        tree = ast.parse(path.read_text(errors="replace"))
    except (SyntaxError, ValueError):
        return []
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = [*above, *([node.module] if node.module else [])]
            found += [".".join([*base, alias.name]) for alias in node.names]
    return found


arcs: set[tuple[str, str]] = set()
for name, path in files.items():
    for module in imports(name, path):
        while module and module not in files:
            module = module.rpartition(".")[0]
        if module and module != name:
            arcs.add((name, module))
print(f"{len(files)} modules, {len(arcs)} imports")
if len(sys.argv) > 1:
    Path(sys.argv[1]).write_text("".join(f"{a}\t{b}\n" for a, b in sorted(arcs)))

# %% One vector per module gives an arc and its reverse the same score; a source and a target vector do not
for order in (1, 2):
    scores = nearfar.links(sorted(arcs), directed=True, order=order, seeds=1)
    reversed_arcs = scores.reversed
    assert reversed_arcs is not None
    print(f"order {order}: AUC {scores.auc.mean:.3f}, against reversed arcs {reversed_arcs.auc.mean:.3f}")
