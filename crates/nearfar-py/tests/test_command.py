"""The command that the package installs behaves as the binary does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

import nearfar
import pytest

COMMAND = str(Path(sysconfig.get_path("scripts")) / "nearfar")

unix = pytest.mark.skipif(os.name == "nt", reason="signals and pipes of Unix")


def run(*arguments: str | bytes) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True)


def test_versions_are_one() -> None:
    assert run("--version").stdout == f"nearfar {nearfar.__version__}\n"
    module = [sys.executable, "-m", "nearfar", "--version"]
    assert subprocess.run(module, check=True, capture_output=True, text=True).stdout == run("--version").stdout


def test_result_and_bytes_are_those_of_the_binary(command_line: Callable[..., str], tmp_path: Path) -> None:
    options = ["embed", "builtin:karate", "--dim", "8", "--threads", "2", "-o"]
    run(*options, str(tmp_path / "command.npy"))
    command_line(*options, tmp_path / "binary.npy")
    assert (tmp_path / "command.npy").read_bytes() == (tmp_path / "binary.npy").read_bytes()
    question = ["neighbors", str(tmp_path / "command.npy"), "33", "--json"]
    assert run(*question).stdout == command_line(*question)
    assert run("completions", "bash").stdout == command_line("completions", "bash")


def test_exit_codes_and_streams() -> None:
    help, wrong_option, wrong_input = run("--help"), run("embed", "--dim"), run("stats", "missing.tsv")
    assert (help.returncode, help.stderr) == (0, "") and "Commands:" in help.stdout
    assert (wrong_option.returncode, wrong_option.stdout) == (2, "") and "--dim" in wrong_option.stderr
    assert (wrong_input.returncode, wrong_input.stdout) == (1, "")
    assert wrong_input.stderr.startswith("error: ") and "Traceback" not in wrong_input.stderr


@unix
def test_a_closed_pipe_is_no_error() -> None:
    script = f"'{COMMAND}' completions bash | head -n 1; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert ended.stdout.splitlines()[1:] == ["0"] and ended.stderr == ""


@unix
def test_names_of_files_are_bytes(tmp_path: Path) -> None:
    file = os.fsencode(tmp_path) + b"/\xff.npy"
    assert run("embed", "builtin:karate", "--dim", "4", "-o", file).returncode == 0
    assert Path(os.fsdecode(file)).exists()


@unix
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it(sent: signal.Signals, code: int, tmp_path: Path) -> None:
    options = ["embed", "builtin:moderate", "--epochs", "100000", "--log", "log.jsonl"]
    with subprocess.Popen([COMMAND, *options], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        while not (tmp_path / "log.jsonl").exists():
            time.sleep(0.01)
        process.send_signal(sent)
        assert process.wait(timeout=60) == code
        assert process.stderr is not None and "Traceback" not in process.stderr.read()
    assert not (tmp_path / "embedding.npy").exists()
