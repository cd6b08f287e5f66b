"""The scikit-learn estimator."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap

import nearfar
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted


@pytest.fixture(scope="module")
def karate() -> nearfar.Graph:
    return nearfar.Graph("builtin:karate")


def test_parameters_clone_and_pickle(karate: nearfar.Graph) -> None:
    model = nearfar.NearFar(dim=8, negatives="uniform", seed=3)
    assert model.get_params()["dim"] == 8 and model.get_params()["gamma"] == 1.0
    copy = clone(model).set_params(epochs=2)
    assert (copy.dim, copy.epochs, model.epochs) == (8, 2, None)
    assert repr(model) == "NearFar(dim=8, negatives='uniform', seed=3)"
    fitted = copy.fit(karate)
    restored = pickle.loads(pickle.dumps(fitted))
    assert (restored.transform(karate) == fitted.embedding_.vectors).all()
    with pytest.raises(TypeError, match="did you mean 'dim'"):
        nearfar.NearFar(dimensions=3)
    with pytest.raises(NotFittedError, match="not fitted"):
        clone(model).transform([1])
    check_is_fitted(fitted)


def test_vectors_equal_those_of_embed(karate: nearfar.Graph) -> None:
    vectors = nearfar.NearFar(dim=8, epochs=2).fit_transform(karate)
    assert (vectors == nearfar.embed(karate, dim=8, epochs=2).vectors).all()
    fitted = nearfar.NearFar(dim=8, epochs=2).fit(karate)
    assert (fitted.transform([(0, 1), (1, 2)]) == vectors[:3]).all()


def test_pipeline(karate: nearfar.Graph) -> None:
    pipeline = make_pipeline(nearfar.NearFar(dim=8), StandardScaler(), LogisticRegression())
    pipeline.fit(karate, karate.labels)
    assert pipeline.score(karate, karate.labels) > 0.9
    assert pipeline.predict([0, 33]).tolist() == ["Mr. Hi", "Officer"]
    assert list(pipeline[0].get_feature_names_out()[:2]) == ["nearfar0", "nearfar1"]


def test_grid_search(karate: nearfar.Graph) -> None:
    pipeline = make_pipeline(nearfar.NearFar(graph=karate, epochs=3, dim=8), LogisticRegression())
    search = GridSearchCV(pipeline, {"nearfar__negatives": ["uniform", "distance"]}, cv=2)
    search.fit(np.arange(34), np.array(karate.labels))
    assert search.best_score_ > 0.7


def test_cross_validation(karate: nearfar.Graph) -> None:
    pipeline = make_pipeline(nearfar.NearFar(graph=karate, epochs=3, dim=8), LogisticRegression())
    assert cross_val_score(pipeline, np.arange(34), np.array(karate.labels), cv=3).mean() > 0.7


def test_columns_of_a_frame() -> None:
    graph = nearfar.Graph([("ann", "bob"), ("bob", "eve"), ("eve", "ann"), ("eve", "zoe")])
    frame = pd.DataFrame({"user": ["ann", "bob", "zoe", "ann"], "age": [30.0, 40.0, 20.0, 30.0]})
    vectors = nearfar.NearFar(graph=graph, dim=3)
    for columns in ("user", ["user"]):
        table = ColumnTransformer([("user", vectors, columns), ("age", "passthrough", ["age"])])
        rows = table.fit_transform(frame)
        assert rows.shape == (4, 4) and (rows[0] == rows[3]).all()
        assert (rows[:, :3] == nearfar.embed(graph, dim=3)[frame["user"].tolist()]).all()
        assert list(table.get_feature_names_out()) == [f"user__nearfar{at}" for at in range(3)] + ["age__age"]
    table.set_output(transform="pandas")
    assert list(table.fit_transform(frame)["user__nearfar0"]) == rows[:, 0].tolist()
    assert nearfar.NearFar(graph=graph, dim=3).fit(frame[["user"]]).transform(frame["user"]).shape == (4, 3)


def test_output_as_a_frame(karate: nearfar.Graph) -> None:
    frame = nearfar.NearFar(dim=4, epochs=1).set_output(transform="pandas").fit_transform(karate)
    assert list(frame.columns) == [f"nearfar{at}" for at in range(4)] and frame.shape == (34, 4)


def test_without_scikit_learn() -> None:
    script = """
        import sys
        sys.modules["sklearn"] = sys.modules["sklearn.base"] = None
        import nearfar
        model = nearfar.NearFar(dim=8, epochs=1).set_params(seed=4)
        print(model.fit_transform("builtin:karate").shape, model.get_params()["seed"])
    """
    script = textwrap.dedent(script)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "(34, 8) 4\n"


def test_import_does_not_import_large_libraries() -> None:
    script = "import sys, nearfar; print([m for m in ('sklearn', 'pandas', 'scipy', 'networkx') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
