"""Embed a graph given as a pandas frame of edges, and return a frame of vectors.

    python examples/pandas_edges.py
"""

# %% A weighted edge list: sender, receiver, number of messages
import tempfile
from pathlib import Path

import nearfar
import pandas as pd

mail = pd.DataFrame(
    [("ann", "bob", 12), ("bob", "carl", 3), ("ann", "carl", 7), ("dora", "eve", 9), ("eve", "carl", 1)],
    columns=["sender", "receiver", "count"],
)
graph = nearfar.Graph(mail, source="sender", target="receiver", weight="count", nodes=["zoe"])
print(graph)

# %% One vector per node, including the isolated node zoe
emb = nearfar.embed(graph, dim=8, seed=0)
frame: pd.DataFrame = emb.to_pandas()
print(frame.round(2).iloc[:, :4])

# %% Nearest neighbours
print("nearest to ann:", emb.neighbors("ann", k=2))

# %% Save as Parquet, for other tools
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "people.parquet"
    emb.save(file)
    print(pd.read_parquet(file)["node"].tolist())
