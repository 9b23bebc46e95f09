"""Scores of columns, their prices, and the group that each goes to."""

import numpy as np
import pytest
from model_cases import ALL_GROUPS, EDGES, column_step

import oracle
from strategies import (
    PENALTIES,
    PRIORS,
    Labelled,
    planted,
)
from threecpo._core import model
from threecpo._options import resolve_penalty


@pytest.mark.parametrize("allowed", [(1, 0), (1, -1)])
def test_forbidden_groups_score_minus_infinity_and_are_not_chosen(allowed):
    case = EDGES["all groups"]
    free = column_step(case, 1e-3, "mdl").scores
    step = column_step(case, 1e-3, "mdl", allowed)
    for group in ALL_GROUPS:
        column = step.scores[:, group + 1]
        if group in allowed:
            np.testing.assert_array_equal(column, free[:, group + 1])
        else:
            assert (column == -np.inf).all()
    assert np.isin(step.groups, allowed).all()


TIES = [
    ((3.0, 2.0, 1.0), -1),
    ((2.0, 3.0, 1.0), 0),
    ((1.0, 2.0, 3.0), 1),
    ((2.0, 2.0, 2.0), -1),
    ((1.0, 2.0, 2.05), 0),
    ((2.0, 1.0, 2.0), -1),
    ((2.0, 2.05, 2.05), -1),
    ((1.0, 2.0, 2.15), 1),
    ((2.0, 2.15, 2.2), 0),
    ((-np.inf, 2.0, 2.05), 0),
    ((-np.inf, -np.inf, 2.0), 1),
    ((2.0, -np.inf, 2.05), -1),
]


def test_scores_within_the_tolerance_tie():
    """Of tied groups, C- comes before C0 before C1; the tolerance here is 0.1."""
    scores, groups = map(np.array, zip(*TIES, strict=True))
    tolerance = np.full(len(TIES), 0.1)
    np.testing.assert_array_equal(model.choose_groups(scores, tolerance), groups)
    np.testing.assert_array_equal(oracle.choose_groups(scores, tolerance), groups)


def test_an_infinite_tolerance_decides_nothing():
    """A column with a count in a row without size has no finite score but one."""
    scores = np.array([[-5.0, -np.inf, -np.inf]])
    assert model.choose_groups(scores, np.array([np.inf])).tolist() == [-1]
    scores = np.array([[-5.0, -4.0, -np.inf]])
    assert model.choose_groups(scores, np.array([np.inf])).tolist() == [0]


def test_one_cluster_without_price_is_no_better_than_shared(seed):
    Y, _ = planted(np.random.default_rng(seed))
    groups = np.array([1, 1, 1, 1, 0, 0, -1, -1], dtype=np.int8)
    case = Labelled(Y, np.zeros(len(Y), dtype=int), groups, 1)
    for prior in PRIORS:
        assert 1 not in column_step(case, prior, None).groups


def test_prices_are_the_papers(seed):
    X = np.random.default_rng(seed).gamma(0.05, 1.0, size=(7, 30))
    assert (X.sum(axis=0) < 1).any()
    for penalty in PENALTIES:
        for n_clusters in (1, 2, 5):
            prices = resolve_penalty(penalty)(X.sum(axis=0), n_clusters, len(X))
            expected = oracle.price(penalty, X, n_clusters)
            np.testing.assert_allclose(prices, expected, rtol=1e-12)
