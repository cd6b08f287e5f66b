"""Vectors in the types of other libraries: methods of ``Embedding``."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ._vectors import Vectors

if TYPE_CHECKING:
    import pandas
    import polars
    import torch


class Export(Vectors):
    """Conversions, each of which imports the library that it converts to."""

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas frame with one row per node and the ids as index ``node``."""
        import pandas

        return pandas.DataFrame(self._vectors, index=pandas.Index(self.nodes, name="node"))

    def to_polars(self) -> polars.DataFrame:
        """Return a polars frame with the columns ``node`` and ``vector``, an array of ``dim`` numbers.

        The numbers are those of ``vectors``, not a copy.
        """
        import polars

        vectors = polars.Series("vector", self._vectors)
        return polars.DataFrame([polars.Series("node", self.nodes), vectors])

    def to_torch(self) -> torch.Tensor:
        """Return a PyTorch tensor of shape (n, dim), which shares the memory of ``vectors``.

        Do not write to it; ``emb.to_torch().clone()`` is a copy to train on.
        """
        import torch

        with warnings.catch_warnings():
            # PyTorch has no read-only tensors, and warns that this memory is.
            warnings.filterwarnings("ignore", "The given NumPy array is not writable", UserWarning)
            return torch.from_numpy(self._vectors)

    def to_anndata(self) -> Any:
        """Return an ``AnnData`` whose observations are the nodes, with the vectors as ``X``."""
        import anndata
        import pandas

        observations = pandas.DataFrame(index=pandas.Index([str(node) for node in self.nodes], name="node"))
        return anndata.AnnData(X=self._vectors.copy(), obs=observations)

    def to_keyedvectors(self) -> Any:
        """Return a gensim ``KeyedVectors`` with the ids as strings."""
        from gensim.models import KeyedVectors

        self._ids.check_strings()
        vectors = KeyedVectors(vector_size=self.dim)
        keys = self._ids.strings or [str(node) for node in self._ids.values]
        vectors.add_vectors(keys, self._vectors)
        return vectors
