"""Runs cases, interleaved, and records every single run.

A case is the fixed fields of a row (graph, system, setting, threads) and a function that runs it
once and returns the measured fields. All cases of an axis run one after the other, then all again:
times on shared machines drift, ratios less so. A case that fails is recorded with its last line of
error and not repeated.
"""

import csv
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

# `seconds` is what is compared; the columns after it are its parts, and what was done in that time.
COLUMNS = [
    *("graph", "nodes", "system", "version", "setting", "threads", "repeat", "seconds"),
    *("load_seconds", "walk_seconds", "train_seconds", "amount", "peak_bytes", "base_bytes"),
    *("judge", "score", "score_random", "digest", "failure"),
]
NUMBERS = set(COLUMNS) - {"graph", "system", "version", "setting", "judge", "digest", "failure"}


class Failure(Exception):
    """A run without a result; the message is one line."""


def in_turn(cases, general, repeats=None):
    """Rows of all runs. `cases` are pairs of fixed fields and a function of the repeat number."""
    most = repeats or general["repeats"]
    rows, stopped, wanted = [], set(), {}
    for repeat in range(most):
        for number, (fixed, once) in enumerate(cases):
            if number in stopped or repeat >= wanted.get(number, most):
                continue
            start = time.perf_counter()
            try:
                measured = once(repeat)
            except Failure as failure:
                stopped.add(number)
                measured = {"failure": str(failure)}
            if time.perf_counter() - start > general["long_seconds"]:
                wanted[number] = min(most, general["repeats_if_long"])
            rows.append({**fixed, "repeat": repeat, **measured})
            report(rows[-1])
    return rows


def report(row):
    what = row.get("failure") or f"{row.get('seconds', float('nan')):.3f} s"
    setting = f" [{row['setting']}]" if row.get("setting") else ""
    print(f"  {row['graph']}: {row['system']}{setting}: {what}", file=sys.stderr, flush=True)


def child(command, timeout, threads=None, **environment):
    """Runs a process. Returns its output, wall time and peak memory."""
    variables = dict(os.environ, **environment)
    if threads:
        for name in ["RAYON", "NUMBA", "OMP", "OPENBLAS", "MKL"]:
            variables[f"{name}_NUM_THREADS"] = str(threads)
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=output, stderr=errors, env=variables, start_new_session=True
        )
        # Kills the whole process group; `subprocess` can wait with a timeout, but without rusage.
        alarm = threading.Timer(timeout, os.killpg, [process.pid, signal.SIGKILL])
        alarm.start()
        _, status, usage = os.wait4(process.pid, 0)
        alarm.cancel()
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            late = seconds >= timeout
            raise Failure(f"took longer than {timeout} s" if late else last_line(process, errors))
        output.seek(0)
        measured = {"seconds": seconds, "peak_bytes": usage.ru_maxrss * 1024}
        return {"output": output.read(), **measured}


def last_line(process, errors):
    errors.seek(0)
    lines = [line for line in errors if line.strip()]
    return clean(lines[-1] if lines else f"exit status {process.returncode}")


def clean(line):
    """The line without folders of this machine."""
    return re.sub(r"(/[\w.+-]+){2,}/", "", line.strip())[:200]


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        table.writeheader()
        for row in rows:
            table.writerow({name: short(row.get(name)) for name in COLUMNS})


def kept(before, rows, asked):
    """The rows of an earlier run that stay beside new ones, by what was selected for the new run."""
    # A benchmark that failed as a whole has no graph, but a dash.
    graphs = {"—", *(row["graph"] for row in rows)}
    if asked.method or asked.judge or asked.seed:
        fields = ["graph", "system", "setting"]
        again = {case(row, fields) for row in rows}
        measured = {case(row, [*fields, "judge", "repeat"]) for row in rows}
        return [
            row
            for row in before
            if case(row, [*fields, "judge", "repeat"]) not in measured
            and not ("failure" in row and "judge" not in row and case(row, fields) in again)
        ]
    return [row for row in before if row["graph"] not in graphs] if asked.graph else []


def case(row, fields):
    return tuple(row.get(name) or 0 for name in fields)


def short(value):
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else value


def read(path):
    """The rows of a file, numbers as numbers; empty fields are left out."""
    if not Path(path).exists():
        return []
    with open(path, newline="") as file:
        return [
            {name: float(text) if name in NUMBERS else text for name, text in row.items() if text}
            for row in csv.DictReader(file)
        ]
