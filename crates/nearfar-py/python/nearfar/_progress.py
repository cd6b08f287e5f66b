"""Progress bars and callbacks of long calls."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

#: Receives events; returning ``False`` or raising ``StopIteration`` stops the run.
Callback = Callable[[dict[str, Any]], object]


class Observer:
    """Passes the extension module's events to a progress bar and a callback."""

    def __init__(self, progress: bool, callback: Callback | None) -> None:
        self._bar = _make_bar() if progress else None
        self._callback = callback
        self._stopped = False

    def __call__(self, message: str) -> bool:
        """Handles one event, given as JSON; returns whether to continue."""
        event = json.loads(message)
        if event["event"] == "resumed" and "kernel" in event:
            warnings.warn(
                f"the checkpoint is of kernel {event['kernel']}, which this machine does not use: the "
                "result will not be that of an uninterrupted run",
                stacklevel=2,
            )
        if self._bar is not None:
            self._bar.event(event)
        if self._callback is None:
            return True
        try:
            self._stopped = self._callback(event) is False
        except StopIteration:
            self._stopped = True
        return not self._stopped

    def __enter__(self) -> Observer:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._bar is not None:
            self._bar.close(completed=kind is None and not self._stopped)


def _make_bar() -> _TqdmBar | _PlainBar:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _PlainBar()
    return _TqdmBar(tqdm)


def _epoch_status(event: dict[str, Any]) -> str:
    return f"epoch {event['epoch']}/{event['epochs']}  loss {event['loss']:.4f}"


class _TqdmBar:
    """A tqdm bar, for terminals and notebooks."""

    def __init__(self, tqdm: Any) -> None:
        layout = "{desc}{percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
        self._bar = tqdm(total=1.0, bar_format=layout)
        self._first = True

    def event(self, event: dict[str, Any]) -> None:
        if event["event"] == "planned":
            self._bar.set_description(event["negatives"])
        elif event["event"] == "progress":
            if self._first:
                # A resumed run starts above 0; tqdm must not count that part towards the speed.
                self._bar.initial, self._first = event["done"], False
            self._bar.update(event["done"] - self._bar.n)
        elif event["event"] == "epoch":
            self._bar.set_postfix_str(_epoch_status(event), refresh=False)

    def close(self, completed: bool) -> None:
        if completed:
            self._bar.update(1.0 - self._bar.n)
        self._bar.close()


class _PlainBar:
    """One line that is overwritten, where tqdm is not installed."""

    def __init__(self) -> None:
        self._width = 0
        self._epoch = ""

    def event(self, event: dict[str, Any]) -> None:
        if event["event"] == "planned":
            self._write(event["summary"])
        elif event["event"] == "epoch":
            self._epoch = _epoch_status(event)
        elif event["event"] == "progress":
            self._write(f"{event['done']:4.0%}  {self._epoch}")

    def _write(self, line: str) -> None:
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)

    def close(self, completed: bool) -> None:
        if completed:
            self._write(f"100%  {self._epoch}")
        if self._width:
            sys.stderr.write("\n")
