"""Arrays, whoever made them."""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float32]


def as_numpy(values: Any) -> npt.NDArray[Any]:
    """As an array of NumPy: one that lies on a device, or is part of a computation, is fetched."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    return np.asarray(values)


def as_given(result: npt.NDArray[Any], given: Any) -> Any:
    """A tensor for whoever gave one, else the array itself."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(given, torch.Tensor):
        return torch.from_numpy(result).to(given.device)
    return result


def as_weights(values: Any, edge: Any) -> Floats:
    """Weights as the library takes them. ``edge(at)`` names an edge in messages."""
    weights = np.array(values, dtype=object) if isinstance(values, list) else as_numpy(values)
    if weights.ndim != 1:
        raise ValueError(f"weights of shape {weights.shape}; it takes one number for each edge")
    if weights.dtype.kind not in "buif":
        # Texts would pass as numbers if they look like some.
        for at, value in enumerate(weights.tolist()):
            if isinstance(value, str) or not hasattr(value, "__float__"):
                raise ValueError(f"edge {edge(at)} has weight {value!r}; weights are numbers")
    numbers = weights.astype(np.float64)
    bad = ~(np.isfinite(numbers) & (numbers >= 0))
    if bad.any():
        at = int(np.argmax(bad))
        raise ValueError(
            f"edge {edge(at)} has weight {numbers[at]:g}; weights are finite and not negative"
        )
    return numbers.astype(np.float32)
