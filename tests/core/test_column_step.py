"""Scores of columns, their prices, and the group that each goes to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_cases import ALL_GROUPS, EDGES, column_step

import oracle
from oracle import assert_agrees, size_of_terms
from strategies import (
    PENALTIES,
    PRIORS,
    Labelled,
    labelled_counts,
    penalties,
    permutations_of,
    planted,
    priors,
)
from threecpo._core import model
from threecpo._options import resolve_penalty


@given(labelled_counts(), priors, penalties, st.data())
def test_column_scores_follow_permuted_columns(case, prior, penalty, data):
    order = data.draw(permutations_of(len(case.groups)))
    permuted = Labelled(
        case.Y[:, order], case.labels, case.groups[order], case.n_clusters
    )
    first = column_step(case, prior, penalty).scores
    second = column_step(permuted, prior, penalty).scores
    totals = (case.Y + prior).sum(axis=0)
    assert_agrees(second, first[order], size_of_terms(totals[order])[:, None])


@given(labelled_counts(), priors, penalties, st.data())
def test_column_scores_ignore_row_order_and_cluster_names(case, prior, penalty, data):
    rows = data.draw(permutations_of(len(case.labels)))
    names = data.draw(permutations_of(case.n_clusters))
    labels = np.where(case.labels >= 0, names[case.labels], -1)
    renamed = Labelled(case.Y[rows], labels[rows], case.groups, case.n_clusters)
    first = column_step(case, prior, penalty).scores
    second = column_step(renamed, prior, penalty).scores
    totals = (case.Y + prior).sum(axis=0)
    assert_agrees(second, first, size_of_terms(totals)[:, None])


@given(labelled_counts(), priors, penalties, st.data())
def test_columns_are_additive_given_row_scales(case, prior, penalty, data):
    """Moving one column changes the loss by the difference of its two scores."""
    X = case.Y + prior
    scores = column_step(case, prior, penalty).scores
    j = data.draw(st.integers(0, len(case.groups) - 1))
    moved = case.groups.copy()
    moved[j] = data.draw(st.sampled_from(ALL_GROUPS))
    mu = np.column_stack(
        [
            oracle.EXPECTED[g](X, case.labels, case.groups)[:, column]
            for column, g in enumerate(moved)
        ]
    )
    prices = oracle.price(penalty, X, case.n_clusters)[moved == 1].sum()
    held = prices - (oracle.times_log(X, mu) - mu).sum()
    change = scores[j, case.groups[j] + 1] - scores[j, moved[j] + 1]
    loss = model.loss(scores, case.groups)
    assert_agrees(loss + change, held, size_of_terms(X.sum()))
    assert_agrees(model.loss(scores, moved), held, size_of_terms(X.sum()))


@pytest.mark.parametrize("allowed", [(1, 0), (1, -1), (1,)])
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


@pytest.mark.parametrize(
    ("scores", "group"),
    [
        ((3.0, 2.0, 1.0), -1),
        ((2.0, 3.0, 1.0), 0),
        ((1.0, 2.0, 3.0), 1),
        ((2.0, 2.0, 2.0), -1),
        ((1.0, 2.0, 2.0), 0),
        ((2.0, 1.0, 2.0), -1),
        ((2.0, 2.0, 1.0), -1),
        ((2.0, 2.05, 2.05), -1),
        ((1.0, 2.0, 2.05), 0),
        ((1.0, 2.0, 2.15), 1),
        ((2.0, 2.15, 1.0), 0),
        ((2.05, 2.0, 1.0), -1),
        ((2.0, 2.15, 2.2), 0),
        ((-np.inf, 2.0, 2.05), 0),
        ((-np.inf, -np.inf, 2.0), 1),
        ((2.0, -np.inf, 2.05), -1),
    ],
)
def test_scores_within_the_tolerance_tie(scores, group):
    """Of tied groups, C- comes before C0 before C1; the tolerance here is 0.1."""
    chosen = model.choose_groups(np.array([scores]), np.array([0.1]))
    assert chosen.tolist() == [group]
    assert oracle.choose_groups(np.array([scores]), [0.1]).tolist() == [group]


def test_an_infinite_tolerance_decides_nothing():
    """A column with a count in a row without size has no finite score but one."""
    scores = np.array([[-5.0, -np.inf, -np.inf]])
    assert model.choose_groups(scores, np.array([np.inf])).tolist() == [-1]
    scores = np.array([[-5.0, -4.0, -np.inf]])
    assert model.choose_groups(scores, np.array([np.inf])).tolist() == [0]


@pytest.mark.parametrize("prior", PRIORS)
def test_one_cluster_without_price_is_no_better_than_shared(prior, seed):
    Y, _ = planted(np.random.default_rng(seed))
    groups = np.array([1, 1, 1, 1, 0, 0, -1, -1], dtype=np.int8)
    case = Labelled(Y, np.zeros(len(Y), dtype=int), groups, 1)
    assert 1 not in column_step(case, prior, None).groups


def test_prices_are_the_papers(seed):
    X = np.random.default_rng(seed).gamma(0.05, 1.0, size=(7, 30))
    assert (X.sum(axis=0) < 1).any()
    for penalty in PENALTIES:
        for n_clusters in (1, 2, 5):
            prices = resolve_penalty(penalty)(X.sum(axis=0), n_clusters, len(X))
            expected = oracle.price(penalty, X, n_clusters)
            np.testing.assert_allclose(prices, expected, rtol=1e-12)
