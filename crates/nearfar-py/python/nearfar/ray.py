"""Training on a Ray cluster: ``nearfar.ray.embed``.

The vectors are cut into shards. Sampling the pairs of a shard and training the pairs of two shards are
pure functions of arrays in Ray's object store: Ray places the tasks, moves and spills the arrays, and
runs the tasks of lost ones again. The vectors have the bytes of a local run with the same arguments, on
any number of machines.
"""

from __future__ import annotations

import json
import logging
import operator
import os
import tempfile
import time
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _nearfar, _options
from ._embedding import Embedding, from_engine
from ._graph import as_graph
from ._progress import Callback, Observer

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Unpack

    from ._keywords import EmbedKeywords

#: Rows are put into the object store anew after so many passes, unless the last time was less than so many
#: seconds ago: it bounds how much Ray does again when some are lost. Checkpoints are saved that often, too.
PASSES_KEPT = 8
SECONDS_KEPT = 30

Table = npt.NDArray[np.float32]

#: Tasks of the run that this process works for.
_tasks: dict[str, _nearfar.Tasks] = {}

#: Memory that tasks train in. It is kept, as new memory would cost more than copying the rows into it.
_memory: list[Table] = []


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

    The stream trainer trains, on CPUs, with windows that are whole walks. A table of less than 256 MB is
    trained by one task at a time. The process that calls holds the whole table, and the graph; so does
    every worker the graph.

    Parameters
    ----------
    graph : path or graph-like
        Anything that ``Graph`` accepts. The path of a packed graph, ``.nfg``, is opened by every worker
        and has to be on storage that all of them see; any other graph is sent once to each node.
    address : str, default=None
        The cluster, such as ``"ray://host:10001"`` or ``"auto"``; ``"local"`` starts one on this machine.
        ``None`` takes the one that ``ray.init`` has connected to, or starts one on this machine.
    progress, callback
        As in ``embed``; ``"progress"`` events come after each pass.
    **options
        The keyword arguments of ``embed``. ``threads`` are the processors of a task: by default those of
        the smallest machine, or half of a single one.

    Returns
    -------
    Embedding
        One vector per node.
    """
    _imported()
    _options.check("ray.embed()", options, _options.EMBED, _options.GRAPH)
    of_graph = _options.select(options, _options.GRAPH)
    converted = as_graph("ray.embed()", graph, of_graph)
    keywords = _options.as_json(_options.select(options, _options.EMBED))
    tasks = _nearfar.Tasks(converted._engine, keywords)
    path = None if of_graph or not isinstance(graph, (str, os.PathLike)) else graph
    with Observer(progress, callback) as observer:
        run, done, tables = _nearfar.begin(tasks, keywords, observer)
        tables = _train(tasks, path, address, (run, done, tables), observer)
    return from_engine(run.finish(tables, converted._ids.is_text), converted._ids)


def _imported() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ImportError("Ray is not installed; pip install 'nearfar[ray]'") from error
    return ray


def _keep_going(event: str) -> bool:
    return True


def _train(
    tasks: _nearfar.Tasks,
    path: str | os.PathLike[str] | None,
    address: str | None,
    begun: tuple[_nearfar.Run, int, list[Table]],
    observer: Callable[[str], bool] = _keep_going,
) -> list[Table]:
    """Trains a run that has begun; returns the rows of all tables. The command line calls it, too.

    The graph is in a file, if a path is given and the file is packed.
    """
    ray = _imported()
    connects = address is not None or not ray.is_initialized()
    if connects:
        logging.getLogger("ray").setLevel(logging.ERROR)
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    try:
        driver = _Driver(ray, tasks, _source(path, tasks), observer)
        try:
            return driver.train(*begun)
        finally:
            driver.cancel()
    finally:
        if connects:
            ray.shutdown()


def _source(path: str | os.PathLike[str] | None, tasks: _nearfar.Tasks) -> str | npt.NDArray[np.uint8]:
    """What workers read the graph from: the path of a packed graph, or its bytes."""
    if path is not None and os.fspath(path).endswith(".nfg"):
        return os.path.abspath(path)
    with tempfile.TemporaryDirectory() as folder:
        packed = os.path.join(folder, "graph.nfg")
        tasks.pack(packed)
        return np.fromfile(packed, np.uint8)


def _workers(ray: Any, threads: int | None) -> tuple[int, int]:
    """The processors of a task, and how many tasks run at a time."""
    processors = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
    processors = [number for number in processors if number > 0] or [1]
    # On a single machine, one of two tasks trains while rows of the other are copied; between several, rows pass
    # through a network, and fewer tasks move fewer of them.
    of_task = threads or max(1, min(processors) // (2 if len(processors) == 1 else 1))
    workers = sum(number // of_task for number in processors)
    if workers == 0:
        raise ValueError(f"threads={of_task}: the largest machine of the cluster has {max(processors)} processors")
    return of_task, workers


class _Job(NamedTuple):
    """What the tasks of a run have in common."""

    key: str
    keywords: str
    settings: str
    shards: int
    threads: int


@dataclass(eq=False)
class _Pass:
    """References to what the tasks of a pass return."""

    number: int
    #: Pairs, by the shards of their two nodes, and their numbers.
    lists: list[list[Any]]
    counts: list[Any]
    #: Losses, and the rows of each shard; none until training is submitted.
    losses: list[Any] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)


def _of(job: _Job, source: Any) -> _nearfar.Tasks:
    """The tasks of a run, which this process makes once."""
    if job.key not in _tasks:
        with tempfile.TemporaryDirectory() as folder:
            path = source
            if not isinstance(source, str):
                path = os.path.join(folder, "graph.nfg")
                source.tofile(path)
            # The file is mapped: it may lose its name.
            tasks = _nearfar.Tasks(_nearfar.read(path, "{}"), job.keywords)
        if tasks.settings() != job.settings:
            raise RuntimeError(
                "a worker resolved other settings than the driver; install the same version of nearfar "
                "on all machines, and keep the graph's file as it is"
            )
        _tasks.clear()
        _tasks[job.key] = tasks
    return _tasks[job.key]


def _sample(job: _Job, source: Any, number: int, shard: int, *after: Any) -> Any:
    """The pairs of a pass whose centres are in one shard, by the shard of the other node."""
    lists, count = _of(job, source).sample(number, job.shards, shard, job.threads)
    return (*lists, count)


def _train_pairs(
    job: _Job,
    source: Any,
    number: int,
    l2: float,
    shards: tuple[int, int],
    there: Any,
    back: Any,
    *rows: Any,
) -> Any:
    """The rows of two shards after the pairs between them are trained, and the losses by stage."""
    tasks = _of(job, source)
    new = [_of_memory(at, len(table)) for at, table in enumerate(rows)]
    losses = tasks.train(number, l2, job.shards, shards, job.threads, list(rows), new, there, back)
    return (*new, losses)


def _of_memory(at: int, size: int) -> Table:
    """Some of the memory that is kept. Ray copies what a task returns before it runs the next one."""
    if at == len(_memory):
        _memory.append(np.empty(0, np.float32))
    if len(_memory[at]) < size:
        # Rows are read by whole cache lines.
        memory = np.empty(size + 16, np.float32)
        _memory[at] = memory[-memory.ctypes.data % 64 // 4 :]
    return _memory[at][:size]


def _pick(rows: Any, first: int, step: int, stride: int) -> Any:
    """The rows by which λ is adjusted: those of the table whose numbers are multiples of ``step``."""
    return rows.reshape(-1, stride)[-first % step :: step].copy()


class _Driver:
    """Submits tasks, and holds references to what they return."""

    def __init__(
        self,
        ray: Any,
        tasks: _nearfar.Tasks,
        source: str | npt.NDArray[np.uint8],
        observer: Callable[[str], bool],
    ) -> None:
        outline = json.loads(tasks.outline())
        self.ray, self.observer = ray, observer
        self.epochs, self.passes = outline["epochs"], outline["passes"]
        self.order, self.stride, self.step = outline["order"], outline["stride"], outline["step"]
        threads, workers = _workers(ray, outline["threads"])
        # The n (n + 1) / 2 pairs of n shards are trained in n steps after those of the pass before: on average
        # (n + 1) / 2 at a time. With fewer, workers wait for each other; with more, rows are copied more often.
        self.shards = tasks.shards(2 * workers if workers > 2 else workers)
        count, settings = len(self.shards), tasks.settings()
        key = f"{os.getpid()} {id(tasks)} {settings}"
        self.job = _Job(key, json.dumps(outline["keywords"]), settings, count, threads)
        self.source = ray.put(source)
        remote = ray.remote(max_retries=-1, num_cpus=threads)
        self.sample = remote(_sample).options(num_returns=count + 1)
        self.train_pairs = remote(_train_pairs)
        self.pick = ray.remote(max_retries=-1)(_pick)
        #: The rows of each shard, by table, after the tasks that are submitted.
        self.rows: list[list[Any]] = []
        #: The passes that are under way, and the number of the one after them.
        self.under_way: list[_Pass] = []
        self.next = 0

    def train(self, run: _nearfar.Run, done: int, tables: list[Table]) -> list[Table]:
        """Trains all epochs after those that are done; returns the rows of all tables."""
        self.put(tables)
        self.next = done * self.passes
        checked, renewed = done, time.monotonic()
        for epoch in range(done, self.epochs):
            # Passes are trained ahead, until λ is adjusted or rows may be renewed.
            due = min(checked + -(-PASSES_KEPT // self.passes), self.epochs)
            ahead = (end for end in range(epoch + 1, due) if run.adjusts(end - 1))
            until = next(ahead, due) * self.passes
            pairs, loss = 0, 0.0
            for within in range(self.passes):
                self.submit(until, run.l2)
                of_pass = self.under_way[0]
                pairs += sum(self.ray.get(of_pass.counts))
                loss += self.loss(of_pass)
                self.under_way.remove(of_pass)
                done_now = (epoch + (within + 1) / self.passes) / self.epochs
                if not self.observer(run.progress(done_now)):
                    return self.fetch(of_pass.rows)
            picked = self.picked(of_pass.rows) if run.adjusts(epoch) else np.empty(0, np.float32)
            keep_going = self.observer(run.after(epoch, pairs, loss, picked))
            last = epoch + 1 == self.epochs or not keep_going
            if last or epoch + 1 == due:
                checked = epoch + 1
                if last or run.keeps_checkpoints:
                    tables = self.fetch(of_pass.rows)
                    run.save(checked, tables)
                    if last:
                        return tables
                    self.put(tables)
                elif time.monotonic() - renewed > SECONDS_KEPT:
                    get, put = self.ray.get, self.ray.put
                    self.rows = [[put(get(block)) for block in shard] for shard in of_pass.rows]
                    renewed = time.monotonic()
        return tables

    def cancel(self) -> None:
        """Cancels the tasks that are under way."""
        for of_pass in self.under_way:
            for reference in of_pass.counts + of_pass.losses:
                self.ray.cancel(reference)

    def submit(self, until: int, l2: float) -> None:
        """Submits tasks of two passes, so that they fit the object store; trains those before ``until``."""
        while True:
            for of_pass in self.under_way:
                if not of_pass.losses and of_pass.number < until:
                    self.submit_training(of_pass, l2)
            if len(self.under_way) == 2 or self.next == self.epochs * self.passes:
                return
            self.submit_sampling()

    def submit_sampling(self) -> None:
        # Not earlier than while the pass before is trained: later, workers would have nothing to do.
        after = [reference for of_pass in self.under_way for reference in of_pass.losses[:1]]
        returned = [
            self.sample.remote(self.job, self.source, self.next, shard, *after)
            for shard in range(len(self.shards))
        ]
        lists, counts = [of[:-1] for of in returned], [of[-1] for of in returned]
        self.under_way.append(_Pass(self.next, lists, counts))
        self.next += 1

    def submit_training(self, of_pass: _Pass, l2: float) -> None:
        lists, of_pass.lists = of_pass.lists, []
        for a in range(len(self.shards)):
            for b in range(a, len(self.shards)):
                here = [a] if a == b else [a, b]
                rows = [block for shard in here for block in self.rows[shard]]
                train = self.train_pairs.options(num_returns=len(rows) + 1)
                *new, losses = train.remote(
                    self.job, self.source, of_pass.number, l2, (a, b), lists[a][b], lists[b][a], *rows
                )
                for at, shard in enumerate(here):
                    self.rows[shard] = new[at * self.order : (at + 1) * self.order]
                of_pass.losses.append(losses)
        of_pass.rows = list(self.rows)

    def loss(self, of_pass: _Pass) -> float:
        """The sum of losses of a pass, once it is trained, in the order of a local run."""
        by_stage = sorted(entry for of_task in self.ray.get(of_pass.losses) for entry in of_task)
        return reduce(operator.add, (loss for _, of_stage in by_stage for loss in of_stage), 0.0)

    def picked(self, rows: list[list[Any]]) -> Table:
        """The rows by which λ is adjusted."""
        picked = [
            self.pick.remote(of_shard[0], first, self.step, self.stride)
            for of_shard, (first, _) in zip(rows, self.shards)
        ]
        return np.concatenate(self.ray.get(picked)).ravel()

    def put(self, tables: list[Table]) -> None:
        """Cuts tables into arrays in the object store."""
        self.rows = [
            [self.ray.put(table[first * self.stride : end * self.stride]) for table in tables]
            for first, end in self.shards
        ]

    def fetch(self, rows: list[list[Any]]) -> list[Table]:
        """The rows of all tables."""
        of_shards = [self.ray.get(blocks) for blocks in rows]
        return [np.concatenate(blocks) for blocks in zip(*of_shards)]
