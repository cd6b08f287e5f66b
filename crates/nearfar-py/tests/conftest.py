"""Shared fixtures."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable

import pytest


@pytest.fixture(scope="session")
def command_line() -> Callable[..., str]:
    """Runs the ``nearfar`` binary, whose path ./test sets in NEARFAR_BIN."""
    binary = os.environ.get("NEARFAR_BIN") or shutil.which("nearfar")
    if binary is None:
        pytest.skip("no nearfar binary to compare with; set NEARFAR_BIN, as ./test does")

    def run(*arguments: object) -> str:
        command = [binary, *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    return run
