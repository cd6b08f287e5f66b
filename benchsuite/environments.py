"""Virtual environments: one per rival, and one for the suite itself."""

import json
import re
import subprocess
import sys
from pathlib import Path

from measure import Failure, child, clean

HERE = Path(__file__).resolve().parent


class Environments:
    """Creates environments on first use. A failed installation is not tried again."""

    def __init__(self, suite, folder):
        self.suite, self.folder = suite, Path(folder)
        self.here, self.failures = HERE, {}

    def python(self, name):
        """The Python interpreter with the packages of a rival, or of `suite`."""
        if name in self.failures:
            raise Failure(self.failures[name])
        name = self.definition(name).get("environment", name)
        packages = self.definition(name)["packages"]
        python = self.folder / name / "bin" / "python"
        stamp = self.folder / name / "packages.json"
        if stamp.exists() and json.loads(stamp.read_text()) == packages:
            return str(python)
        print(f"  installing {' '.join(packages)}", file=sys.stderr, flush=True)
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", self.folder / name], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*install, *packages], capture_output=True, text=True)
        if done.returncode != 0:
            self.failures[name] = "installation failed: " + reason(done.stderr)
            raise Failure(self.failures[name])
        stamp.write_text(json.dumps(packages))
        return str(python)

    def definition(self, name):
        return self.suite["suite"] if name == "suite" else self.suite["rivals"][name]

    def version(self, name):
        """The installed version of the measured package, or of what a method of ours is written with."""
        wanted = self.suite["rivals"][name]["measures"]
        code = f"import importlib.metadata as m; print(m.version({wanted!r}))"
        found = child([self.python(name), "-c", code], 60)["output"].strip()
        return f"with {wanted} {found}" if "environment" in self.suite["rivals"][name] else found

    def run(self, name, job, timeout):
        """Runs one job of a rival with its adapter. Returns the measured fields of a row."""
        adapter = self.suite["rivals"][name]["adapter"]
        command = [self.python(name), HERE / "adapter.py", adapter, json.dumps(job)]
        done = child(command, timeout, threads=job["threads"])
        answer = json.loads(done["output"].strip().splitlines()[-1])
        stages = answer["seconds"]
        names = {"load": "load_seconds", "walks": "walk_seconds", "train": "train_seconds"}
        row = {names[stage]: taken for stage, taken in stages.items() if stage in names}
        counted = stages if job["task"] == "load" else {**stages, "load": 0.0}
        keep = ["amount", "peak_bytes", "base_bytes", "sum"]
        row |= {key: answer[key] for key in keep if key in answer}
        row |= {"seconds": sum(counted.values()), "process_seconds": done["seconds"]}
        return {**row, "version": self.version_once(name)}

    def version_once(self, name):
        definition = self.suite["rivals"][name]
        if "version" not in definition:
            definition["version"] = self.version(name)
        return definition["version"]


def reason(errors):
    """The most informative line of the errors of pip."""
    lines = [line.strip() for line in errors.splitlines()]
    named = [line for line in lines if re.match(r"\w+Error: ", line)]
    general = [line for line in lines if line.lower().startswith("error")]
    return clean((named or general or lines or ["?"])[-1])
