"""Every method of the paper's comparison, swapped in for another."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator

from containers import planted
from paper import methods

METHODS = methods()
SHAPES = {
    "dense": np.asarray,
    "csr": sp.csr_array,
    "frame": lambda X: pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]),
}
# BM25 weighs by document frequency, and here nearly every column is in every row; the
# code variant of SELBM and the random start of TauCC lose clusters.
WEAK = {"BM25+KM", "BM25+SKM", "SELBM", "TauCC"}


@pytest.fixture
def counts():
    """Planted clusters with a row and a column of zeros."""
    X, labels = planted()
    X = np.insert(np.insert(X, 5, 0, axis=0), 3, 0, axis=1)
    return X, np.insert(labels, 5, labels[0])


def test_the_papers_methods_are_all_there():
    traditional = [
        "3CPO",
        "PoissonL",
        "PoissonC",
        "SKM",
        "KM",
        "STD+KM",
        "MM+KM",
        "RF+KM",
        "RCA+KM",
    ]
    blocks = ["CROINFO", "CCMod", "CCSMod", "ELBM", "SELBM", "TauCC"]
    texts = ["TF-IDF+KM", "BM25+KM", "TF-IDF+SKM", "BM25+SKM"]
    assert list(METHODS) == traditional + blocks + texts


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_planted_clusters_are_found_in_all_shapes_of_input(name, counts):
    X, labels = counts
    models = {
        shape: METHODS[name](3, random_state=0, n_init=5).fit(make(X))
        for shape, make in SHAPES.items()
    }
    found = {shape: model.labels_ for shape, model in models.items()}
    for each in found.values():
        np.testing.assert_array_equal(each, found["dense"])
    assert found["dense"].shape == (len(X),)
    assert np.issubdtype(found["dense"].dtype, np.integer)
    assert found["dense"].min() >= 0
    assert models["dense"].n_iter_ >= 1
    if name not in WEAK:
        filled = X.any(axis=1)
        assert adjusted_rand_score(labels[filled], found["dense"][filled]) > 0.9


def test_bad_counts_are_refused_by_name_of_row_and_column(counts):
    X = counts[0].astype(float)
    X[2, 1] = -1
    for make in METHODS.values():
        with pytest.raises(ValueError, match="row 2, column 1"):
            make(3).fit(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learns_checks_of_a_pipeline():
    in_place = "a Pipeline of scikit-learn fits its steps themselves, not clones"
    expected = {
        "check_dont_overwrite_parameters": in_place,
        "check_estimators_overwrite_params": in_place,
        "check_estimators_unfitted": "older Pipelines only warn of what is not fitted",
    }
    pipeline = METHODS["RCA+KM"](2, random_state=0, n_init=1)
    check_estimator(pipeline, expected_failed_checks=expected, on_skip=None)
