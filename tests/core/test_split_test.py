"""Gains of two clusters over one, and how they compare with those of drawn tables."""

import numpy as np
import pytest

from threecpo._core import split_test
from threecpo._core.matrices import from_dense
from threecpo._core.rows import RowInfo
from threecpo._core.split_test import SplitResult, mixture_gain


def table_of(seed, distance, n_rows=200, n_columns=60, mean=4.0):
    rng = np.random.default_rng(seed)
    inside = np.arange(n_rows) % 3 == 0
    effects = distance * rng.standard_normal(n_columns)
    means = mean * np.exp(np.outer(inside, effects))
    return rng.poisson(means).astype(float), inside


def gain(Y, inside, **info):
    return mixture_gain(from_dense(Y).with_rows(RowInfo(**info)), inside)


def test_clear_clusters_gain_what_their_labels_leave(monkeypatch, seed):
    """The likelihood of two multinomials, less what it takes to tell them apart."""
    monkeypatch.setattr(
        split_test.RatioTerms, "dispersions", lambda self, _: np.ones(60)
    )
    Y, inside = table_of(seed, 0.7)

    def value(part):
        sums = part.sum(axis=0)
        there = sums[sums > 0]
        return (there * np.log(there / sums.sum())).sum()

    hard = value(Y[inside]) + value(Y[~inside]) - value(Y)
    share = inside.mean()
    labels = share * np.log(share) + (1 - share) * np.log(1 - share)
    assert gain(Y, inside) == pytest.approx(hard + len(Y) * labels, rel=0.02)


def test_it_does_not_matter_much_where_a_mixture_starts(seed):
    Y, inside = table_of(seed, 0.5)
    start = inside.copy()
    start[:30] = ~start[:30]
    assert gain(Y, start) == pytest.approx(gain(Y, inside), rel=1e-2)


def test_short_rows_of_one_cluster_gain_little_however_they_are_divided(seed):
    """Rows with the first of three words against the others: no gain but noise."""
    rng = np.random.default_rng(seed)
    Y = rng.poisson(np.full((2000, 30), 0.1)).astype(float)
    inside = Y[:, :10].sum(axis=1) > Y[:, 10:].sum(axis=1) / 2
    assert gain(Y, inside) < 40
    planted = rng.poisson(0.1 * np.exp(np.outer(inside, rng.normal(size=30)))) * 1.0
    assert gain(planted, inside) > 90


def test_rows_of_weight_two_are_two_rows(seed):
    Y, inside = table_of(seed, 0.3)
    weights = np.where(np.arange(len(Y)) % 2, 1.0, 2.0)
    copies = np.repeat(np.arange(len(Y)), weights.astype(int))
    found = gain(Y, inside, weights=weights)
    assert found == pytest.approx(gain(Y[copies], inside[copies]), rel=0.02)
    none = np.append(weights, 0.0)
    with_more = np.vstack([Y, np.full(60, 99.0)]), np.append(inside, True)
    assert gain(*with_more, weights=none) == pytest.approx(found, rel=1e-9)


def test_batches_gain_nothing(seed):
    """Two batches of one cluster are a division that explains nothing more."""
    Y, batches = table_of(seed, 0.7)
    info = {"batches": batches.astype(np.int32), "batch_names": ("a", "b")}
    assert gain(Y, batches) > 500
    assert gain(Y, batches, **info) < 60


def test_sparse_and_dense_tables_agree(seed, monkeypatch):
    Y, inside = table_of(seed, 0.4)
    expected = gain(Y, inside)
    monkeypatch.setattr(split_test, "DENSE_SHARE", 2.0)
    assert gain(Y, inside) == pytest.approx(expected, rel=1e-9)


def test_p_values_are_those_of_one_more_value():
    result = SplitResult.of(12.0, [9.0, 10.0, 11.0])
    spread = split_test.MEASURED_SPREAD * np.sqrt(4 / 3)
    assert result.z == pytest.approx(2 / spread)
    assert result.null_mean == 10
    assert 0.05 < result.p_value < 0.25
    assert SplitResult.of(0.0, [0.0, 0.0]).p_value == 1
    assert 0.01 < SplitResult.of(3.0, [0.0] * 20).p_value < 0.05


@pytest.mark.parametrize(
    ("Y", "inside"),
    [
        (np.zeros((4, 3)), [True, False, True, False]),
        (np.ones((4, 1)), [True, False, True, False]),
        (np.ones((4, 3)), [True] * 4),
        (np.eye(4), [True, False, False, False]),
        (np.array([[5.0, 0], [0, 5]]), [True, False]),
    ],
)
def test_tables_with_nothing_to_divide(Y, inside):
    assert 0 <= gain(np.asarray(Y), np.array(inside)) < 10
