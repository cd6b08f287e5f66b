"""Vectors with node ids: what all methods of ``Embedding`` build on."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _nearfar
from ._arrays import Floats
from ._ids import Ids


class Vectors:
    """The memory of the extension module, a view of it, and the ids of its rows."""

    _engine: _nearfar.Embedding
    _ids: Ids
    _vectors: Floats

    def _set(self, engine: _nearfar.Embedding, ids: Ids) -> None:
        self._engine, self._ids = engine, ids
        self._vectors = np.asarray(engine)

    @property
    def vectors(self) -> Floats:
        """All vectors, as a read-only float32 array of shape (n, dim); not a copy."""
        return self._vectors

    @property
    def nodes(self) -> list[Any]:
        """Node ids in row order."""
        return self._ids.nodes

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return int(self._vectors.shape[1])

    @property
    def info(self) -> dict[str, Any]:
        """How the vectors were made: ``version`` of nearfar, fingerprint of the ``graph``, ``seed`` and
        every other setting as it was resolved. Empty if that is not known: ``.npy``, word2vec and text
        files have no place for it.
        """
        info: dict[str, Any] = json.loads(self._engine.info())
        return info

    def __len__(self) -> int:
        return len(self._ids)
