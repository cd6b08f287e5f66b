"""NetworkX: reader."""

import networkx
from adapter import stage


def load(job):
    with stage("load"):
        graph = networkx.read_edgelist(job["edges"], nodetype=int)
    return {"amount": graph.number_of_edges()}
