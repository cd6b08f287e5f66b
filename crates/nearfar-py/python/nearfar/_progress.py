"""Progress bars and callbacks of long calls."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

#: Receives events; returning ``False`` or raising ``StopIteration`` stops the run.
Callback = Callable[[dict[str, Any]], object]

#: Characters of a bar on a terminal.
_WIDTH = 30


class Observer:
    """Passes the extension module's events to a progress bar and a callback."""

    def __init__(self, progress: bool, callback: Callback | None) -> None:
        self._bar = _make_bar() if progress else None
        self._callback = callback
        #: Whether the callback has stopped the run.
        self.stopped = False

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
            self.stopped = self._callback(event) is False
        except StopIteration:
            self.stopped = True
        return not self.stopped

    def __enter__(self) -> Observer:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._bar is not None:
            self._bar.close(completed=kind is None and not self.stopped)


def _make_bar() -> _Bar:
    """A bar of HTML in a notebook, else one of text."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return _NotebookBar() if getattr(shell, "kernel", None) is not None else _TextBar()


class _Bar:
    """What a bar shows: the negatives, the completed fraction, times, and the last epoch's loss."""

    def __init__(self) -> None:
        self._negatives, self._epoch = "", ""
        self._done, self._first = 0.0, 0.0
        self._start = time.monotonic()
        self._is_open = False

    def event(self, event: dict[str, Any]) -> None:
        if event["event"] == "planned":
            self._negatives = event["negatives"]
        elif event["event"] == "epoch":
            self._epoch = f"epoch {event['epoch']}/{event['epochs']}  loss {event['loss']:.4f}"
        elif event["event"] == "progress":
            if not self._is_open:
                # A resumed run starts above 0, which must not count towards the speed.
                self._first, self._is_open = event["done"], True
            self._done = event["done"]
            self.draw()

    def close(self, completed: bool) -> None:
        if completed:
            self._done = 1.0
        if completed or self._is_open:
            self.draw()
            self.end()

    def times(self) -> str:
        """Elapsed and remaining time."""
        elapsed, done = time.monotonic() - self._start, self._done - self._first
        remaining = _clock(elapsed / done * (1 - self._done)) if done > 0 else "?"
        return f"{_clock(elapsed)}<{remaining}"

    def draw(self) -> None:
        raise NotImplementedError

    def end(self) -> None:
        """Called once, after the last drawing."""


class _TextBar(_Bar):
    """One line that is overwritten."""

    _width = 0

    def draw(self) -> None:
        bar = "█" * round(self._done * _WIDTH)
        line = f"{self._negatives}: {self._done:4.0%}|{bar:<{_WIDTH}}| {self.times()}  {self._epoch}"
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)

    def end(self) -> None:
        sys.stderr.write("\n")


class _NotebookBar(_Bar):
    """An output of the cell, which is replaced."""

    _handle: Any = None

    def draw(self) -> None:
        # IPython is there: this runs in its kernel.
        display = sys.modules["IPython.display"]
        page = display.HTML(
            f'<span>{self._negatives}</span> <progress value="{self._done:.3f}" max="1"></progress> '
            f"<span>{self._done:.0%} · {self.times().replace('<', '&lt;')} · {self._epoch}</span>"
        )
        if self._handle is None:
            self._handle = display.display(page, display_id=True)
        else:
            self._handle.update(page)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"
