"""nearfar: the release binary, and the benchmarks of the library."""

import json
import os
import subprocess
from pathlib import Path

from measure import Failure, child

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")


class Ours:
    """Runs `nearfar` and `cargo bench`."""

    def __init__(self, data, scratch, timeout, program=None):
        self.data, self.scratch, self.timeout = data, Path(scratch), timeout
        self.program = program
        self.version = None
        self.benches = {}

    def build(self):
        """Builds the release binary, unless a program was given."""
        if not self.program:
            command = ["cargo", "build", "--release", "--locked", "--quiet"]
            subprocess.run(command, cwd=ROOT, check=True)
        output = child([self.binary(), "--version"], 10)["output"]
        self.version = output.split()[-1]

    def binary(self):
        return str(self.program or TARGET / "release" / "nearfar")

    def embed(self, graph, options, threads, seed=0, vectors=None):
        """Runs `nearfar embed` as a whole process. Returns the measured fields of a row."""
        vectors = vectors or self.scratch / "vectors.npy"
        log = self.scratch / "log.jsonl"
        command = [self.binary(), "-q", "embed", graph, *options.split(), "-o", str(vectors)]
        command += ["--threads", str(threads), "--seed", str(seed), "--log", str(log)]
        done = child(command, self.timeout, threads)
        events = [json.loads(line) for line in log.read_text().splitlines()]
        pairs = sum(event["pairs"] for event in events if event.get("event") == "epoch")
        log.unlink()
        measured = {key: done[key] for key in ("seconds", "peak_bytes")}
        # Smoothing and saving come after the last epoch.
        epochs = [event["seconds"] for event in events if event["event"] == "epoch"]
        measured["train_seconds"] = max(epochs, default=0)
        return {**measured, "amount": pairs, "base_bytes": 0, "version": self.version}

    def bench(self, name, *words, threads=None):
        """The output of `cargo bench --bench NAME -- WORDS`, without that of the compiler."""
        command = [self.executable(name), *words, "--bench"]
        threads = {"threads": threads} if threads else {}
        return child(command, self.timeout, **threads, NEARFAR_DATA=str(self.data))["output"]

    def executable(self, name):
        """The program of a benchmark, which is run directly so that its memory can be measured."""
        if name not in self.benches:
            command = ["cargo", "bench", "--package", "nearfar", "--bench", name, "--no-run"]
            command += ["--locked", "--quiet", "--message-format", "json"]
            built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            if built.returncode != 0:
                lines = [line for line in built.stderr.splitlines() if line.startswith("error")]
                raise Failure((lines or ["cargo bench failed"])[0])
            messages = map(json.loads, built.stdout.splitlines())
            programs = [m["executable"] for m in messages if m.get("executable")]
            self.benches[name] = programs[-1]
        return self.benches[name]
