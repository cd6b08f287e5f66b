"""Features of nodes: what networks read."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import _nearfar
from ._arrays import as_numpy


def as_features(features: Any, graph: _nearfar.Graph) -> _nearfar.Features:
    """Converts features: a path; a sparse matrix; or anything that NumPy makes an array of."""
    if isinstance(features, (str, os.PathLike)):
        return _nearfar.Features.read(os.fspath(features), graph)
    if hasattr(features, "tocsr"):
        rows = features.tocsr()
        indices = (_as_index(rows.indptr), _as_index(rows.indices))
        return _nearfar.Features.sparse(rows.shape[1], *indices, rows.data.astype(np.float32))
    values = as_numpy(features)
    if values.ndim != 2 or values.dtype.kind not in "buif":
        raise ValueError(
            f"features have shape {values.shape} and dtype {values.dtype}; expected numbers of shape "
            "(nodes, features)"
        )
    return _nearfar.Features.dense(np.ascontiguousarray(values, dtype=np.float32))


def _as_index(values: Any) -> Any:
    return values if values.dtype in (np.int32, np.int64) else values.astype(np.int64)
