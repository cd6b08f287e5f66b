"""What tests share."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable

import pytest


@pytest.fixture(scope="session")
def command_line() -> Callable[..., str]:
    """Runs the binary, which ./test names in NEARFAR_BIN."""
    binary = os.environ.get("NEARFAR_BIN") or shutil.which("nearfar")
    if binary is None:
        pytest.skip("no binary to compare with: name it in NEARFAR_BIN, as ./test does")

    def run(*arguments: object) -> str:
        line = [binary, *map(str, arguments)]
        return subprocess.run(line, check=True, capture_output=True, text=True).stdout

    return run
