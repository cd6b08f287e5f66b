"""Embed the edges in a pandas frame, and get a frame back.

    python examples/pandas_edges.py
"""

# %% Who sent mail to whom, and how often
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

# %% A vector for each of them, zoe too, who wrote nothing
emb = nearfar.embed(graph, dim=8, seed=0)
frame: pd.DataFrame = emb.to_pandas()
print(frame.round(2).iloc[:, :4])

# %% Who is most like whom
print("like ann:", emb.neighbors("ann", k=2))

# %% Files that other tools read
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "people.parquet"
    emb.save(file)
    print(pd.read_parquet(file)["node"].tolist())
