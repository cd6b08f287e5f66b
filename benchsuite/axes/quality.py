"""Quality against time: test F1-macro against seconds.

Rivals run with several numbers of walks per node, the last one the usual budget; their seconds are
walks and training only. nearfar runs as a whole process, including start, reading, distances and
writing, with default settings and several numbers of epochs. One classifier scores all systems.
"""

import json

from measure import child, in_turn
from summary import failures, grouped, is_ours, median, spread, table

TITLE = "Quality against time"
SCORES = {"score": "given splits", "score_random": "10 % of the labels, at random"}


def run(bench):
    axis = bench.axis("quality")
    rows = []
    for graph, what in bench.chosen(axis["graphs"]).items():
        ours = [our(bench, graph, options) for options in axis["ours"]]
        rows += in_turn(ours, bench.general)
        theirs = []
        for name in what["rivals"]:
            # Spectral embedding makes no walks, so it has no budget.
            walks = [None] if name == "scikit-network" else axis["walks"]
            theirs += [their(bench, graph, name, number) for number in walks]
        rows += in_turn(theirs, bench.general, what.get("repeats"))
    return rows


def our(bench, graph, options):
    vectors = bench.ours.scratch / "scored.npy"
    setting = options or "default"
    case = bench.nearfar(graph, "nearfar", options, setting, vectors=str(vectors))
    return scored(bench, graph, case, vectors)


def their(bench, graph, name, walks):
    vectors = bench.ours.scratch / "scored.npy"
    changes = {"vectors": str(vectors)} | ({"walks": walks} if walks else {})
    setting = f"walks {walks}" if walks else ""
    case = bench.rival(name, graph, "embed", setting, **changes)
    return scored(bench, graph, case, vectors)


def scored(bench, graph, case, vectors):
    """The same case, with scores of its vectors."""
    fixed, once = case
    axis = bench.axis("quality")

    def with_scores(repeat):
        measured = once(repeat)
        program = [bench.environments.python("suite"), bench.script("score.py"), str(vectors)]
        options = [axis["random_share"], axis["random_splits"]]
        folder = bench.graphs.path(graph)
        done = child([*program, folder, *map(str, options)], 600, threads=1)
        return {**measured, **json.loads(done["output"])}

    return fixed, with_scores


def show(rows):
    text = [winners(rows)]
    lines = []
    for (graph, system, setting), found in grouped(rows, "graph", "system", "setting").items():
        if median(found, "score") is not None:
            scores = [spread(found, name) for name in SCORES]
            lines.append([graph, system, setting, spread(found, "seconds"), *scores])
    text.append(table(["graph", "system", "setting", "seconds", *SCORES.values()], lines))
    return "\n".join(text) + failures(rows)


def winners(rows):
    """Seconds until nearfar passes the final score of the best rival, and its seconds."""
    lines = []
    for (graph,), of_graph in grouped(rows, "graph").items():
        for name, title in SCORES.items():
            rival = best_rival(of_graph, name)
            mine = rival and first_to_pass(of_graph, name, median(rival, name))
            if not rival:
                continue
            seconds = median(rival, "seconds")
            needs = median(mine, "seconds") if mine else None
            lines.append(
                [
                    *(
                        graph,
                        title,
                        rival[0]["system"],
                        spread(rival, name),
                        spread(rival, "seconds"),
                    ),
                    f"{mine[0]['setting']}: {spread(mine, name)}" if mine else "not passed",
                    spread(mine, "seconds") if mine else "—",
                    f"{seconds / needs:.0f}" if needs else "—",
                ]
            )
    head = ["graph", "labels", "best rival", "its final F1-macro", "its seconds"]
    return table([*head, "first nearfar setting above it", "nearfar seconds", "speedup"], lines)


def best_rival(rows, name):
    """The runs of the best rival at the usual budget."""
    theirs = [row for row in rows if not is_ours(row["system"]) and name in row]
    by_system = grouped(theirs, "system").values()
    finals = [list(grouped(found, "setting").values())[-1] for found in by_system]
    return max(finals, key=lambda found: median(found, name), default=None)


def first_to_pass(rows, name, score):
    """The fastest runs of nearfar with a median score above this."""
    ours = [row for row in rows if is_ours(row["system"]) and name in row]
    passing = [found for found in grouped(ours, "setting").values() if median(found, name) > score]
    return min(passing, key=lambda found: median(found, "seconds"), default=None)


def plots(rows):
    answer = []
    for (graph,), of_graph in grouped(rows, "graph").items():
        for name, title in SCORES.items():
            lines = []
            for (system,), found in grouped(of_graph, "system").items():
                by_setting = grouped([row for row in found if name in row], "setting").values()
                points = [[median(some, "seconds"), median(some, name)] for some in by_setting]
                lines.append([system, sorted(points)])
            answer.append(
                {
                    "file": f"{name.replace('score', 'quality')}-{graph}.svg",
                    "kind": "lines",
                    "title": f"{graph}: F1-macro against time ({title})",
                    "x": "seconds (nearfar: whole process; others: walks and training)",
                    "y": "test F1-macro",
                    "log": "x",
                    "lines": lines,
                }
            )
    return answer
