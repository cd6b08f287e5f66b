"""Telling people, and their code, how far it is."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

#: Hears every event; whoever returns ``False`` or raises ``StopIteration`` stops the run.
Callback = Callable[[dict[str, Any]], object]


class Listener:
    """Hands the engine's events to a bar and to a callback."""

    def __init__(self, progress: bool, callback: Callback | None) -> None:
        self._bar = _bar() if progress else None
        self._callback = callback

    def __call__(self, text: str) -> bool:
        event = json.loads(text)
        if self._bar is not None:
            self._bar.event(event)
        if self._callback is None:
            return True
        try:
            return self._callback(event) is not False
        except StopIteration:
            return False

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


def _bar() -> _Tqdm | _Line:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line()
    return _Tqdm(tqdm)


class _Tqdm:
    """A bar in terminals and notebooks."""

    def __init__(self, tqdm: Any) -> None:
        self._bar = tqdm(unit="epoch")

    def event(self, event: dict[str, Any]) -> None:
        if event["event"] == "planned":
            self._bar.set_description(event["negatives"])
        elif event["event"] == "started":
            self._bar.reset(total=event["epochs"])
        elif event["event"] == "epoch":
            self._bar.set_postfix(loss=f"{event['loss']:.4f}", refresh=False)
            self._bar.update()

    def close(self) -> None:
        self._bar.close()


class _Line:
    """One line that is written over, without tqdm."""

    def __init__(self) -> None:
        self._width = 0

    def event(self, event: dict[str, Any]) -> None:
        if event["event"] == "planned":
            self._write(event["summary"])
        elif event["event"] == "epoch":
            self._write(f"epoch {event['epoch']}/{event['epochs']}  loss {event['loss']:.4f}")

    def _write(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def close(self) -> None:
        if self._width:
            sys.stderr.write("\n")
