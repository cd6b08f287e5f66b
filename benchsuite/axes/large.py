"""Reading a large graph and building landmarks: `cargo bench -p nearfar --bench large`."""

import re

from summary import failures, grouped, spread, table

TITLE = "Ten million edges, a million nodes"


def run(bench):
    return bench.or_failure(lambda: parse(bench.ours.bench("large"), bench.ours.version))


def parse(output, version):
    rows = []
    for line in output.splitlines():
        found = re.match(r"(read \w+|build [\w-]+).*?: ([\d.]+) s", line)
        if found:
            what = {"graph": "power law", "nodes": 1_000_000, "system": "nearfar"}
            rows.append(
                {**what, "version": version, "setting": found[1], "seconds": float(found[2])}
            )
    return rows


def show(rows):
    groups = grouped([row for row in rows if "seconds" in row], "setting").items()
    lines = [[setting, spread(found, "seconds")] for (setting,), found in groups]
    return table(["stage", "seconds"], lines) + failures(rows)
