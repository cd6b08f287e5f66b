"""A description of the machine of a run."""

import datetime
import os
import platform
import re
import subprocess
from pathlib import Path

from ours import ROOT


def describe():
    """Date, machine, commit and toolchain, in one line without names of hosts or folders."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return (
        f"{datetime.date.today().isoformat()}: {os.cpu_count()} cores of {processor()}, "
        f"{memory:.0f} GB of memory,{gpu()} {platform.system()}; commit {commit() or 'unknown'}, "
        f"{output('rustc', '--version') or 'built elsewhere'}, Python {platform.python_version()}"
    )


def processor():
    information = Path("/proc/cpuinfo")
    found = information.exists() and re.search(
        r"model name\s*:\s*(.*)", information.read_text(errors="replace")
    )
    return found[1] if found else platform.processor() or platform.machine()


def gpu():
    found = output("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    return f" {found.replace(', ', ', driver ').replace(chr(10), '; ')}," if found else ""


def commit():
    changed = output("git", "status", "--porcelain", "crates", "Cargo.lock")
    return output("git", "rev-parse", "--short", "HEAD") + (" with changes" if changed else "")


def output(*command):
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()
