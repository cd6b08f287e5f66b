"""Conversion between NumPy arrays and what other libraries pass."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float32]


def as_numpy(values: Any) -> npt.NDArray[Any]:
    """Converts to a NumPy array; tensors are detached and copied to the CPU."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    return np.asarray(values)


def like_input(result: npt.NDArray[Any], given: Any) -> Any:
    """Returns a tensor on the same device if the input was a tensor, else the array itself."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(given, torch.Tensor):
        return torch.from_numpy(result).to(given.device)
    return result


def as_weights(values: Any, edge_name: Callable[[int], str]) -> Floats:
    """Checks edge weights and converts them to float32.

    ``edge_name(index)`` names an edge in error messages.
    """
    weights = np.array(values, dtype=object) if isinstance(values, list) else as_numpy(values)
    if weights.ndim != 1:
        raise ValueError(f"weights have shape {weights.shape}; expected one number per edge, shape (m,)")
    if weights.dtype.kind not in "buif":
        # astype(float) below would accept strings that look like numbers.
        for index, value in enumerate(weights.tolist()):
            if isinstance(value, str) or not hasattr(value, "__float__"):
                raise ValueError(f"edge {edge_name(index)} has weight {value!r}; expected a number")
    numbers = weights.astype(np.float64)
    invalid = ~(np.isfinite(numbers) & (numbers >= 0))
    if invalid.any():
        index = int(np.argmax(invalid))
        raise ValueError(
            f"edge {edge_name(index)} has weight {numbers[index]:g}; expected a finite number ≥ 0"
        )
    return numbers.astype(np.float32)
