"""Training on a Ray cluster: ``nearfar.ray.embed``.

The vectors are cut into parts. Sampling the pairs of a part and training the pairs of two parts are pure
functions of blocks in Ray's object store: Ray places the tasks, moves and spills blocks, and runs the tasks
of lost ones again. The vectors have the bytes of a local run with the same arguments, on any number of
machines.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _nearfar, _options
from ._embedding import Embedding, from_engine
from ._graph import Graph, as_graph
from ._progress import Callback, Observer

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import EmbedKeywords

#: Passes between two checkpoints, which bound how much Ray does again when a block is lost.
PASSES_KEPT = 8

#: Tasks of the runs that this process worked for.
_tasks: dict[str, _nearfar.Tasks] = {}


@_options.documented(*_options.FUNCTIONS["embed"])
def embed(
    graph: Any,
    address: str | None = None,
    *,
    progress: bool = False,
    callback: Callback | None = None,
    **options: Unpack[EmbedKeywords],
) -> Embedding:
    """Train an embedding of a graph on a Ray cluster.

    The result has the bytes of ``nearfar.embed`` with the same arguments. Needs
    ``pip install 'nearfar[ray]'``, the same version on all machines.

    The stream trainer trains, on CPUs, with windows that are whole walks. Tasks are of one core:
    ``threads`` has no effect, and a table of less than 256 MB is one part, which one task at a time
    trains. The process that calls holds the whole table, and the graph; so does every worker the graph.

    Parameters
    ----------
    graph : path or graph-like
        Anything that ``Graph`` accepts. The path of a packed graph, ``.nfg``, is opened by every worker
        and has to be on storage that all of them see; any other graph is sent once to each node.
    address : str, default=None
        The cluster, such as ``"ray://host:10001"`` or ``"auto"``; ``None`` takes the one that ``ray.init``
        has connected to, or starts one on this machine.
    progress, callback
        As in ``embed``; ``"progress"`` events come after each pass.
    **options
        The keyword arguments of ``embed``.

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
    of_graph = _options.select(options, _options.GRAPH)
    converted = as_graph("ray.embed()", graph, of_graph)
    keywords = _options.as_json(_options.select(options, _options.EMBED))
    tasks = _nearfar.Tasks(converted._engine, keywords)
    connects = address is not None or not ray.is_initialized()
    if connects:
        ray.init(address=address, log_to_driver=False)
    try:
        with Observer(progress, callback) as observer:
            run, done, tables = _nearfar.begin(tasks, converted._engine, keywords, observer)
            driver = _Driver(ray, tasks, _source(graph, not of_graph, converted), observer)
            try:
                tables = driver.train(run, done, tables)
            except BaseException:
                driver.cancel()
                raise
    finally:
        if connects:
            ray.shutdown()
    return from_engine(run.finish(tables, converted._ids.is_text), converted._ids)


def _source(graph: Any, as_it_is: bool, converted: Graph) -> str | npt.NDArray[np.uint8]:
    """What workers read the graph from: the path of a packed graph, or its bytes."""
    if as_it_is and isinstance(graph, (str, os.PathLike)) and os.fspath(graph).endswith(".nfg"):
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
            raise RuntimeError(
                "a worker resolved other settings than the driver; install the same version of nearfar "
                "on all machines, and keep the graph's file as it is"
            )
        _tasks.clear()
        _tasks[key] = tasks
    return _tasks[key]


def _sample(job: tuple[str, str, str], source: Any, number: int, part: int) -> Any:
    """The pairs of a pass whose centres are in one part, by the part of the other node."""
    key, keywords, settings = job
    lists, count = _of(key, source, keywords, settings).sample(number, part)
    return (*lists, count)


def _train(
    job: tuple[str, str, str],
    source: Any,
    number: int,
    l2: float,
    stage: tuple[int, int],
    there: Any,
    back: Any,
    *rows: Any,
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

    def __init__(
        self, ray: Any, tasks: _nearfar.Tasks, source: str | npt.NDArray[np.uint8], observer: Observer
    ) -> None:
        outline = json.loads(tasks.outline())
        self.ray, self.observer = ray, observer
        self.parts, self.stages = outline["parts"], outline["stages"]
        self.epochs, self.passes = outline["epochs"], outline["passes"]
        self.order, self.stride, self.step = outline["order"], outline["stride"], outline["step"]
        settings = tasks.settings()
        key = f"{os.getpid()} {id(tasks)} {settings}"
        self.job = (key, json.dumps(outline["keywords"]), settings)
        self.source = ray.put(source)
        remote = ray.remote(max_retries=-1)
        self.sample = remote(_sample).options(num_returns=len(self.parts) + 1)
        self.train_stage, self.pick = remote(_train), remote(_pick)
        #: References to losses of the passes that are under way.
        self.under_way: list[Any] = []

    def train(self, run: _nearfar.Run, done: int, tables: list[Any]) -> list[Any]:
        """Trains all epochs after those that are done; returns the rows of all tables."""
        self.put(tables)
        saved = done
        for epoch in range(done, self.epochs):
            if self.observer.stopped:
                break
            pairs, loss = self.epoch(epoch, run.l2)
            if self.observer.stopped:
                break
            picked = [
                self.pick.remote(rows[0], first, self.step, self.stride)
                for rows, (first, _) in zip(self.rows, self.parts)
            ]
            sampled = np.concatenate(self.ray.get(picked)).ravel()
            keep_going = self.observer(run.after(epoch, pairs, loss, sampled))
            last = epoch + 1 == self.epochs or not keep_going
            if last or (epoch + 1 - saved) * self.passes >= PASSES_KEPT:
                # The new blocks have no lineage: what is lost later is done again from here.
                saved, tables = epoch + 1, self.fetch()
                run.save(saved, tables)
                if last:
                    return tables
                self.put(tables)
        return self.fetch()

    def cancel(self) -> None:
        """Cancels the tasks that are under way."""
        for reference in self.under_way:
            self.ray.cancel(reference)

    def epoch(self, epoch: int, l2: float) -> tuple[int, float]:
        """Trains an epoch; returns the number of pairs and the sum of their losses."""
        pairs, loss, submitted = 0, 0.0, []
        for within in range(self.passes):
            submitted.append(self.submit(epoch * self.passes + within, l2))
            # At most two passes are under way, so that their blocks fit the object store.
            while len(submitted) > (1 if within + 1 < self.passes else 0):
                counts, losses = submitted.pop(0)
                pairs += sum(self.ray.get(counts))
                # In the order of a local run.
                loss += sum((loss for of_stage in self.ray.get(losses) for loss in of_stage), 0.0)
                self.under_way = self.under_way[len(losses) :]
            done = (epoch + (within + 1) / self.passes) / self.epochs
            if not self.observer(json.dumps({"event": "progress", "done": done})):
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
        self.under_way += losses
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
