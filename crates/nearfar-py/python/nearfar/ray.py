"""Training on a Ray cluster: ``nearfar.ray.embed``.

The vectors are cut into parts. Sampling the pairs of a part and training the pairs of two parts are pure
functions of blocks in Ray's object store, so Ray places them, moves and spills blocks, and does lost ones
again. The vectors have the bytes of a local run with the same arguments, on any number of machines.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _nearfar, _options
from ._embedding import Embedding, _from_engine
from ._graph import as_graph
from ._progress import Callback, Observer

#: Passes between two checkpoints, which bound how much Ray does again when a block is lost.
PASSES_KEPT = 8

#: Tasks of the runs that this process worked for.
_tasks: dict[str, _nearfar.Tasks] = {}


def embed(
    graph: Any,
    address: str | None = None,
    *,
    progress: bool = False,
    callback: Callback | None = None,
    **options: Any,
) -> Embedding:
    """Train an embedding of a graph on a Ray cluster.

    The result has the bytes of ``nearfar.embed`` with the same arguments. Needs
    ``pip install 'nearfar[ray]'``.

    Parameters
    ----------
    graph : path or graph-like
        Anything that ``Graph`` accepts. The path of a packed graph, ``.nfg``, is opened by every worker
        and has to be on storage that all of them see; any other graph is sent once to each node.
    address : str, default=None
        The cluster, such as ``"ray://host:10001"`` or ``"auto"``; ``None`` takes the one that ``ray.init``
        has connected to, or starts one on this machine.
    progress, callback
        As in ``embed``.
    **options
        The keyword arguments of ``embed``, of models that the stream trainer trains.

    Returns
    -------
    Embedding
        One vector per node.
    """
    try:
        import ray
    except ImportError as error:
        raise ImportError("Ray is not installed; pip install 'nearfar[ray]'") from error
    _options.check("ray.embed()", options, _options.EMBED, _options.GRAPH)
    converted = as_graph("ray.embed()", graph, _options.select(options, _options.GRAPH))
    keywords = _options.as_json(_options.select(options, _options.EMBED))
    if not ray.is_initialized():
        ray.init(address=address, include_dashboard=False, log_to_driver=False)
    tasks = _nearfar.Tasks(converted._engine, keywords)
    run, done, tables = _nearfar.begin(tasks, converted._engine, keywords)
    with Observer(progress, callback) as observer:
        driver = _Driver(ray, tasks, _source(graph, converted), keywords, observer)
        tables = driver.train(run, done, tables)
    return _from_engine(run.finish(tables, converted._ids.is_text), converted._ids)


def _source(graph: Any, converted: Any) -> str | npt.NDArray[np.uint8]:
    """What workers read the graph from: the path of a packed graph, or its bytes."""
    if isinstance(graph, (str, os.PathLike)) and os.fspath(graph).endswith(".nfg"):
        return os.path.abspath(os.fspath(graph))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.nfg")
        converted._engine.pack(path)
        return np.fromfile(path, np.uint8)


def _of(key: str, source: Any, keywords: str, settings: str) -> _nearfar.Tasks:
    """The tasks of a run, which this process makes once."""
    if key not in _tasks:
        with tempfile.TemporaryDirectory() as folder:
            path = source
            if not isinstance(source, str):
                path = os.path.join(folder, "graph.nfg")
                source.tofile(path)
            # The file is mapped: it may lose its name.
            tasks = _nearfar.Tasks(_nearfar.read(path, "{}"), keywords)
        if tasks.settings() != settings:
            raise RuntimeError("this worker would train with other settings than the driver; install one version of nearfar on all machines")
        _tasks.clear()
        _tasks[key] = tasks
    return _tasks[key]


def _sample(job: tuple[str, str, str], source: Any, number: int, part: int) -> Any:
    """The pairs of a pass whose centres are in one part, by the part of the other node."""
    key, keywords, settings = job
    lists, count = _of(key, source, keywords, settings).sample(number, part)
    return (*lists, count)


def _train(
    job: tuple[str, str, str], source: Any, number: int, l2: float, stage: tuple[int, int], there: Any, back: Any, *rows: Any
) -> Any:
    """The rows of the parts of a stage after its pairs are trained, and the losses of its rounds."""
    key, keywords, settings = job
    tasks = _of(key, source, keywords, settings)
    new, losses = tasks.train(number, l2, stage, list(rows), there, back)
    return (*new, losses)


def _pick(rows: Any, first: int, step: int, stride: int) -> Any:
    """The rows by which λ is adjusted: those of the table whose numbers are multiples of ``step``."""
    return rows.reshape(-1, stride)[-first % step :: step].copy()


class _Driver:
    """Submits tasks, and holds references to the blocks they return."""

    def __init__(self, ray: Any, tasks: Any, source: Any, keywords: str, observer: Observer) -> None:
        outline = json.loads(tasks.outline())
        self.ray, self.observer = ray, observer
        self.parts, self.stages = outline["parts"], outline["stages"]
        self.epochs, self.passes = outline["epochs"], outline["passes"]
        self.order, self.stride, self.step = outline["order"], outline["stride"], outline["step"]
        # All processors take the instruction set of this one, on which the bytes depend.
        keep = json.loads(keywords)
        for name in ("log", "checkpoint", "resume", "resume_anyway"):
            keep.pop(name, None)
        keep["kernel"] = outline["kernel"]
        settings = tasks.settings()
        key = f"{os.getpid()} {id(tasks)} {settings}"
        self.job = (key, json.dumps(keep), settings)
        self.source = ray.put(source)
        remote = ray.remote(max_retries=-1)
        self.sample = remote(_sample).options(num_returns=len(self.parts) + 1)
        self.train_stage, self.pick = remote(_train), remote(_pick)
        self.event({"event": "planned", "summary": outline["summary"], "negatives": outline["negatives"]})

    def event(self, event: dict[str, Any]) -> bool:
        return self.observer(json.dumps(event))

    def train(self, run: Any, done: int, tables: list[Any]) -> list[Any]:
        """Trains all epochs after those that are done; returns the rows of all tables."""
        self.put(tables)
        saved = done
        for epoch in range(done, self.epochs):
            pairs, losses = self.epoch(epoch, run.l2)
            picked = [
                self.pick.remote(rows[0], first, self.step, self.stride)
                for rows, (first, _) in zip(self.rows, self.parts)
            ]
            sampled = np.concatenate(self.ray.get(picked)).ravel()
            keep_going = self.observer(run.after(epoch, pairs, losses, sampled))
            last = epoch + 1 == self.epochs or not keep_going
            if last or (epoch + 1 - saved) * self.passes >= PASSES_KEPT:
                # The new blocks have no lineage: what is lost later is done again from here.
                saved, tables = epoch + 1, self.fetch()
                run.save(saved, tables)
                if last:
                    return tables
                self.put(tables)
        return tables

    def epoch(self, epoch: int, l2: float) -> tuple[int, float]:
        """Submits the tasks of an epoch; returns the number of pairs and the sum of their losses."""
        pairs, loss, submitted = 0, 0.0, []
        for within in range(self.passes):
            submitted.append(self.submit(epoch * self.passes + within, l2))
            # At most two passes are under way, so that their blocks fit the object store.
            while len(submitted) > (1 if within + 1 < self.passes else 0):
                counts, losses = submitted.pop(0)
                pairs += sum(self.ray.get(counts))
                loss += _sum(self.ray.get(losses))
            done = (epoch + (within + 1) / self.passes) / self.epochs
            if not self.event({"event": "progress", "done": done}):
                break
        return pairs, loss

    def submit(self, number: int, l2: float) -> tuple[list[Any], list[Any]]:
        """Submits the tasks of a pass; returns references to numbers of pairs and to losses."""
        lists, counts, losses = [], [], []
        for part in range(len(self.parts)):
            *of_part, count = self.sample.remote(self.job, self.source, number, part)
            lists.append(of_part)
            counts.append(count)
        for a, b in self.stages:
            here = [a] if a == b else [a, b]
            rows = [block for part in here for block in self.rows[part]]
            train = self.train_stage.options(num_returns=len(rows) + 1)
            *new, loss = train.remote(
                self.job, self.source, number, l2, (a, b), lists[a][b], lists[b][a], *rows
            )
            for at, part in enumerate(here):
                self.rows[part] = new[at * self.order : (at + 1) * self.order]
            losses.append(loss)
        return counts, losses

    def put(self, tables: list[Any]) -> None:
        """Cuts tables into blocks in the object store."""
        self.rows = [
            [self.ray.put(table[first * self.stride : end * self.stride]) for table in tables]
            for first, end in self.parts
        ]

    def fetch(self) -> list[Any]:
        """The rows of all tables."""
        of_parts = [self.ray.get(blocks) for blocks in self.rows]
        return [np.concatenate(blocks) for blocks in zip(*of_parts)]


def _sum(losses: list[list[float]]) -> float:
    """The sum of the losses of the rounds of a pass, added in their order."""
    total = 0.0
    for of_stage in losses:
        for loss in of_stage:
            total += loss
    return total
