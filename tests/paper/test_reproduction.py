"""The paper's tables on its own data sets, as far as a few seconds go.

``python -m paper all`` runs the whole protocol.
"""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from threecpo import ThreeCPO
from threecpo.datasets import make_synth

EXECUTIONS = range(10)


def executions(X, labels, seeds=EXECUTIONS, **options):
    """Models of the best of ten restarts, and their ARI in percent."""
    options |= {"init": "poisson-k-means++", "n_init": 10}
    n_clusters = len(np.unique(labels))
    models = [
        ThreeCPO(n_clusters=n_clusters, random_state=seed, **options).fit(X)
        for seed in seeds
    ]
    scores = [100 * adjusted_rand_score(labels, model.labels_) for model in models]
    return models, np.array(scores)


def relevant_columns(models):
    return np.array([np.count_nonzero(model.column_groups_ == 1) for model in models])


def told(models, scores):
    """What each execution gave, for the message of a failure."""
    return [
        f"seed {model.random_state}: ARI {score:.1f}, C1 {n_relevant}, "
        f"loss {model.loss_:.1f}"
        for model, score, n_relevant in zip(
            models, scores, relevant_columns(models), strict=True
        )
    ]


def assert_near_paper(models, scores, ari, deviation, n_relevant):
    assert abs(scores.mean() - ari) <= 2 * deviation, told(models, scores)
    assert_relevant_near_paper(models, scores, n_relevant)


def assert_relevant_near_paper(models, scores, n_relevant):
    mean = relevant_columns(models).mean()
    assert abs(mean - n_relevant) <= 0.03 * n_relevant, told(models, scores)


@pytest.mark.parametrize(
    ("assignment", "n_relevant"), [("paper", {5}), ("exact", {4, 5})]
)
def test_wholesales(load_data, assignment, n_relevant):
    models, scores = executions(*load_data("wholesales"), assignment=assignment)
    assert set(scores.round(1)) == {30.1}, told(models, scores)
    assert set(relevant_columns(models)) <= n_relevant, told(models, scores)


def test_sporta(load_data):
    models, scores = executions(*load_data("sporta"))
    assert_near_paper(models, scores, ari=32.3, deviation=0.5, n_relevant=41)


def test_optdigits_columns(load_data):
    models, scores = executions(*load_data("optdigits"), seeds=range(2))
    assert_relevant_near_paper(models, scores, n_relevant=56)


def test_bbcnews(load_data):
    models, scores = executions(*load_data("bbcnews"), seeds=range(3))
    assert_near_paper(models, scores, ari=89.9, deviation=0.9, n_relevant=1379)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_executions", "ari", "deviation", "n_relevant"),
    [
        ("optdigits", 10, 66.7, 2.2, 56),
        ("bbcnews", 10, 89.9, 0.9, 1379),
        ("webkb", 4, 31.5, 3.2, 1315),
        ("reuters", 4, 67.8, 1.6, 1322),
        ("newsgroups20", 3, 23.0, 1.3, 1454),
    ],
)
def test_larger_sets(load_data, name, n_executions, ari, deviation, n_relevant):
    models, scores = executions(*load_data(name), seeds=range(n_executions))
    assert_near_paper(models, scores, ari, deviation, n_relevant)


@pytest.mark.parametrize(("name", "n_outliers"), [("wholesales", 144), ("sporta", 341)])
def test_outlier_counts(load_data, name, n_outliers):
    models, _ = executions(*load_data(name), outliers="iterative")
    counts = [np.count_nonzero(model.labels_ == -1) for model in models]
    assert abs(np.mean(counts) - n_outliers) <= 0.05 * n_outliers, counts


def test_synth():
    draws = [make_synth(random_state=seed) for seed in EXECUTIONS]
    results = [
        executions(X, labels, seeds=[seed])
        for seed, (X, labels) in zip(EXECUTIONS, draws, strict=True)
    ]
    recovered = [
        model.column_groups_.tolist() == [1, 1, 0, 0, -1, -1] and score > 90
        for (model,), (score,) in results
    ]
    assert sum(recovered) >= 9, [told(*result) for result in results]
