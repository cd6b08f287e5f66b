"""The context of an axis: the definitions, and ways to run nearfar and rivals."""

from measure import Failure


class Bench:
    """The definitions, and what is needed to run them."""

    def __init__(self, suite, environments, graphs, ours, asked=None):
        self.suite, self.environments, self.graphs, self.ours = suite, environments, graphs, ours
        self.general, self.budget = suite["general"], suite["budget"]
        # The command line: `method`, `judge` and `seed`, lists that limit an axis unless empty.
        self.asked = asked
        # Writes the rows of an axis so far, so that a long run can be interrupted.
        self.save = lambda rows: None

    def script(self, name):
        """The path of a file of the suite."""
        return str(self.environments.here / name)

    def axis(self, name):
        """The definition of an axis."""
        return self.suite["axes"][name]

    def chosen(self, graphs):
        """The graphs that are available and selected."""
        return {name: what for name, what in graphs.items() if self.graphs.is_wanted(name)}

    def selected_methods(self, methods):
        """Definitions of the methods that are selected."""
        return {key: what for key, what in methods.items() if key in (self.asked.method or methods)}

    def selected_judges(self, judges):
        return [judge for judge in judges if judge in (self.asked.judge or judges)]

    def seeds(self, axis):
        """Seeds of an axis whose methods are run with several."""
        return self.asked.seed or range(axis["repeats"])

    def fixed(self, graph, system, setting="", threads=None):
        """The fields of a row that are known before it is run."""
        threads = threads or self.general["threads"]
        return {"graph": graph, "system": system, "setting": setting, "threads": threads}

    def rival(self, name, graph, task, setting="", threads=None, text=True, **changes):
        """A case: one job of a rival on a graph. `changes` override the usual budget."""
        fixed = self.fixed(graph, self.suite["rivals"][name]["title"], setting, threads)

        def once(repeat):
            found = self.graphs.job(graph, text)
            job = {**self.budget, "p": 1.0, "q": 1.0, "seed": repeat, **found, "task": task}
            job |= {"dim": self.general["dim"], "threads": fixed["threads"], **changes}
            timeout = self.general["timeout_seconds"]
            return {"nodes": job["nodes"], **self.environments.run(name, job, timeout)}

        return fixed, once

    def nearfar(self, graph, system, options, setting="", threads=None, vectors=None):
        """A case: `nearfar embed` with options, as a whole process."""
        fixed = self.fixed(graph, system, setting, threads)

        def once(repeat):
            path = self.graphs.path(graph)
            measured = self.ours.embed(path, options, fixed["threads"], repeat, vectors)
            return {"nodes": self.graphs.job(graph, text=False)["nodes"], **measured}

        return fixed, once

    def at_budget(self, graph, threads=None):
        """Cases of `nearfar` at the usual budget, one per distribution of negatives."""
        options = self.suite["ours"]["budget"].format(**self.budget)
        systems = self.suite["ours"]["systems"].items()
        return [
            self.nearfar(graph, system, f"{options} {law}", threads=threads)
            for system, law in systems
        ]

    def or_failure(self, rows):
        """Rows of a benchmark program, or one row with its failure."""
        try:
            return rows()
        except Failure as failure:
            return [{"graph": "—", "system": "nearfar", "failure": str(failure)}]


def three(fixed, median, low, high):
    """Rows for a rate of which only the median and the range are known."""
    return [
        {**fixed, "repeat": repeat, "seconds": 1.0, "amount": rate}
        for repeat, rate in enumerate([median, low, high])
    ]
