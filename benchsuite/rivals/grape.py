"""GRAPE: skip-gram, walks and reader of ensmallen, which embiggen's DeepWalk calls.

Its skip-gram takes whole windows (ten nodes before the centre and nine after it) and draws
`number_of_negative_samples` per *centre*, not per pair. So a centre in the middle of a walk has
19 + 5 pairs. Context nodes equal to the centre are skipped, but counted here, in its favour.
"""

from adapter import save, stage, steps
from ensmallen import Graph, models


def graph(job):
    with stage("load"):
        return Graph.from_csv(
            edge_path=job["edges"],
            edge_list_separator="\t",
            edge_list_header=False,
            sources_column_number=0,
            destinations_column_number=1,
            edge_list_numeric_node_ids=True,
            number_of_nodes=job["nodes"],
            directed=False,
            verbose=False,
        )


def load(job):
    return {"amount": graph(job).get_number_of_undirected_edges()}


def embed(job):
    loaded = graph(job)
    model = models.SkipGram(
        embedding_size=job["dim"],
        epochs=job["epochs"],
        number_of_negative_samples=job["negatives"],
        walk_length=job["length"],
        iterations=job["walks"],
        window_size=job["window"],
        # As embiggen's DeepWalk sets them.
        clipping_value=6.0,
        max_neighbours=100,
        learning_rate=0.01,
        use_scale_free_distribution=True,
        random_state=job["seed"] + 42,
        verbose=False,
    )
    with stage("train"):
        vectors = model.fit_transform(loaded)[0]
    save(job, vectors, [int(name) for name in loaded.get_node_names()])
    length, window = job["length"], job["window"]
    contexts = sum(min(i, window) + min(window - 1, length - 1 - i) for i in range(length))
    centres = job["nodes"] * job["walks"] * job["epochs"]
    return {"amount": centres * (contexts + length * job["negatives"])}


def walks(job):
    loaded = graph(job)
    options = dict(
        return_weight=1 / job["p"],
        explore_weight=1 / job["q"],
        iterations=job["walks"],
        max_neighbours=None,
    )
    loaded.complete_walks(walk_length=2, iterations=1)
    with stage("walks"):
        loaded.complete_walks(walk_length=job["length"], **options)
    return {"amount": steps(job)}
