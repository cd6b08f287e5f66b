"""Telling people, and their code, how far it is."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

#: Hears what happens; whoever returns ``False`` or raises ``StopIteration`` stops the run.
Callback = Callable[[dict[str, Any]], object]


class Listener:
    """Hands the engine's events to a bar and to a callback."""

    def __init__(self, progress: bool, callback: Callback | None) -> None:
        self._bar = _bar() if progress else None
        self._callback = callback
        self._stopped = False

    def __call__(self, text: str) -> bool:
        event = json.loads(text)
        if self._bar is not None:
            self._bar.event(event)
        if self._callback is None:
            return True
        try:
            self._stopped = self._callback(event) is False
        except StopIteration:
            self._stopped = True
        return not self._stopped

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._bar is not None:
            self._bar.close(done=kind is None and not self._stopped)


def _bar() -> _Tqdm | _Line:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line()
    return _Tqdm(tqdm)


def _told(event: dict[str, Any]) -> str:
    """An epoch in words."""
    return f"epoch {event['epoch']}/{event['epochs']}  loss {event['loss']:.4f}"


class _Tqdm:
    """A bar in terminals and notebooks."""

    def __init__(self, tqdm: Any) -> None:
        form = "{desc}{percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
        self._bar = tqdm(total=1.0, bar_format=form)
        self._first = True

    def event(self, event: dict[str, Any]) -> None:
        if event["event"] == "planned":
            self._bar.set_description(event["negatives"])
        elif event["event"] == "progress":
            if self._first:
                # What was done before, in a run that is gone on with, says nothing of the speed.
                self._bar.initial, self._first = event["done"], False
            self._bar.update(event["done"] - self._bar.n)
        elif event["event"] == "epoch":
            self._bar.set_postfix_str(_told(event), refresh=False)

    def close(self, done: bool) -> None:
        if done:
            self._bar.update(1.0 - self._bar.n)
        self._bar.close()


class _Line:
    """One line that is written over, without tqdm."""

    def __init__(self) -> None:
        self._width = 0
        self._epoch = ""

    def event(self, event: dict[str, Any]) -> None:
        if event["event"] == "planned":
            self._write(event["summary"])
        elif event["event"] == "epoch":
            self._epoch = _told(event)
        elif event["event"] == "progress":
            self._write(f"{event['done']:4.0%}  {self._epoch}")

    def _write(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def close(self, done: bool) -> None:
        if done:
            self._write(f"100%  {self._epoch}")
        if self._width:
            sys.stderr.write("\n")
