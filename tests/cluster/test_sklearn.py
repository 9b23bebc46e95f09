"""At home in scikit-learn: its common checks, pipelines, cloning."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import shuffle
from sklearn.utils.estimator_checks import parametrize_with_checks

from fitting import EXPECTED_FAILURES
from paper.poisson import PoissonC, PoissonL
from threecpo import ThreeCPO

NEGATIVE = ("check_clustering",)


def expected_failures(estimator):
    # Probabilities of ThreeCPO are what some of these checks stumble over.
    names = EXPECTED_FAILURES if hasattr(estimator, "predict_proba") else NEGATIVE
    return {name: EXPECTED_FAILURES[name] for name in names}


@pytest.mark.filterwarnings("ignore:X contains values:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@parametrize_with_checks(
    [ThreeCPO(), PoissonL(2, n_init=1), PoissonC(2, n_init=1)],
    expected_failed_checks=expected_failures,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_clustering_of_counts(make):
    """scikit-learn's check_clustering, on data shifted and rounded to counts."""
    X, y = make_blobs(n_samples=50, n_features=6, random_state=1)
    X, y = shuffle(X, y, random_state=7)
    X = make(np.rint(10 * (X - X.min(axis=0))))
    if isinstance(X, np.ndarray):
        X.flags.writeable = False
    model = ThreeCPO(3, n_init=10, random_state=1)
    model.fit(X)
    model.fit(X.tolist() if isinstance(X, np.ndarray) else X)
    labels = model.labels_
    assert labels.shape == (50,)
    assert adjusted_rand_score(labels, y) > 0.4
    np.testing.assert_array_equal(clone(model).fit_predict(X), labels)
    assert labels.dtype in (np.dtype("int32"), np.dtype("int64"))
    np.testing.assert_array_equal(np.unique(labels), np.arange(labels.max() + 1))
    assert labels.max() < 3


DOCUMENTS = [
    "the match was won by the team in the last minute",
    "the team lost the match and the coach was sad",
    "a coach of the team praised the match and the players",
    "players of the team trained for the match with the coach",
    "the bank raised the interest rate of the loan",
    "interest on the loan was paid to the bank by the firm",
    "the firm asked the bank for a loan at a low rate",
    "a low interest rate of the bank helped the firm",
] * 3


def test_a_pipeline_clusters_documents():
    options = {"n_init": 5, "random_state": 0, "groups": (1, 0)}
    options["init"] = "poisson-k-means++"  # a lower loss has these words in C0
    pipeline = make_pipeline(CountVectorizer(), ThreeCPO(2, **options))
    labels = pipeline.fit_predict(DOCUMENTS)
    assert adjusted_rand_score(labels, [0, 0, 0, 0, 1, 1, 1, 1] * 3) == 1.0
    np.testing.assert_array_equal(pipeline.predict(DOCUMENTS), labels)
    chosen = pipeline.get_feature_names_out()
    assert {"team", "bank"} <= set(chosen)
    assert pipeline[:-1].transform(DOCUMENTS).shape[1] > len(chosen)
    longer = make_pipeline(*clone(pipeline), FunctionTransformer())
    assert longer.fit_transform(DOCUMENTS).shape == (24, len(chosen))


def test_the_repr_of_a_fitted_model_says_what_was_found():
    counts = np.array([[9, 1, 5], [8, 2, 5], [1, 7, 5], [0, 9, 4]] * 5)
    model = ThreeCPO(2, random_state=0)
    unfitted, page = repr(model), model._repr_html_()
    assert unfitted == "ThreeCPO(n_clusters=2, random_state=0)"
    assert "n_clusters" in page
    model.fit(counts)
    n_relevant = int((model.column_groups_ == 1).sum())
    assert repr(model) == f"ThreeCPO: 2 clusters, {n_relevant} of 3 columns relevant"
    assert "ThreeCPO" in model._repr_html_()
    assert repr(clone(model)) == unfitted
    assert unfitted in repr(make_pipeline(CountVectorizer(), model))
    wide = ThreeCPO(1).fit(np.ones((3, 14044)))
    assert repr(wide) == "ThreeCPO: 1 cluster, 0 of 14 044 columns relevant"


def test_sizes_of_clusters_leave_out_rows_without_counts_and_outliers():
    counts = np.array([[9, 1, 5], [8, 2, 5], [1, 7, 5], [0, 9, 4], [0, 0, 0]] * 5)
    model = ThreeCPO(2, random_state=0).fit(counts)
    assert sorted(model.cluster_sizes_.tolist()) == [10, 10]
    assert len(model.labels_) == 25


def test_what_belongs_to_rows_is_routed_through_a_grid_search():
    X, y = make_blobs(n_samples=60, n_features=6, random_state=1)
    X = np.rint(10 * (X - X.min(axis=0)))
    known, weights = np.where(np.arange(60) % 4 == 0, y, -1), np.arange(60) % 3 + 1
    with sklearn.config_context(enable_metadata_routing=True):
        model = ThreeCPO(3, n_init=1, random_state=0)
        model.set_fit_request(known_labels=True, hold_labels=True, sample_weight=True)
        model.set_score_request(sample_weight=True)
        pipeline = make_pipeline(FunctionTransformer(), model)
        grid = {"threecpo__prior": [1e-3, 0.1], "threecpo__robust": [None, True]}
        search = GridSearchCV(pipeline, grid, cv=2, refit=True)
        search.fit(X, known_labels=known, hold_labels=False, sample_weight=weights)
        found = search.best_estimator_[-1]
        assert search.cv_results_["mean_test_score"].shape == (4,)
    expected = clone(found).fit(
        X, known_labels=known, hold_labels=False, sample_weight=weights
    )
    assert found.loss_ == expected.loss_


def test_tags_say_sparse_and_positive():
    tags = ThreeCPO().__sklearn_tags__()
    assert tags.input_tags.sparse
    assert tags.input_tags.positive_only
    assert tags.estimator_type == "clusterer"
