"""Divisions of one cluster are chance; those of two are not."""

import numpy as np
import pytest

from threecpo._core import split_test
from threecpo._core.matrices import from_dense
from threecpo._core.split_test import one_cluster, split_result
from threecpo._core.workers import SERIAL, Workers


def table_of(seed, distance, n_rows=200, n_columns=60, excess=1.0):
    rng = np.random.default_rng(seed)
    inside = np.arange(n_rows) % 3 == 0
    effects = distance * rng.standard_normal(n_columns)
    means = np.full((n_rows, n_columns), 4.0) * np.exp(np.outer(inside, effects))
    return rng.poisson(rng.standard_gamma(means / excess) * excess), inside


def result_of(Y, inside, seed=0, workers=SERIAL):
    counts, own = from_dense(Y.astype(float)), np.random.SeedSequence(seed)
    return split_result(counts, inside, 0.05, own, workers)


def plain_gain(Y, inside):
    """Likelihood that a division gains, by the definition."""

    def value(part):
        sums = part.sum(axis=0)
        there = sums[sums > 0]
        return (there * np.log(there / sums.sum())).sum()

    return value(Y[inside]) + value(Y[~inside]) - value(Y)


def test_gains_are_those_of_the_definition(seed):
    Y, inside = table_of(seed, 0.3)
    sums, totals = Y[inside].sum(axis=0)[None].astype(float), Y.sum(axis=0) * 1.0
    (found,) = split_test._gains(sums, totals)
    assert found == pytest.approx(plain_gain(Y, inside), rel=1e-9)


def test_rows_are_moved_to_where_they_gain(seed):
    Y, inside = table_of(seed, 0.6, excess=0.01)
    start = inside.copy()
    start[np.flatnonzero(inside)[:10]] = False
    start[np.flatnonzero(~inside)[:10]] = True
    units = Y.astype(float)
    (found,) = split_test._refined_gains(units, start[:, None].astype(float))
    assert found == pytest.approx(plain_gain(Y, inside), rel=0.02)
    assert found > plain_gain(Y, start)


@pytest.mark.parametrize("sparse", [False, True])
def test_sparse_and_dense_tables_agree(sparse, seed, monkeypatch):
    Y, inside = table_of(seed, 0.4)
    monkeypatch.setattr("threecpo._core.split_test.DENSE_SHARE", 2.0 * sparse)
    result = result_of(Y, inside)
    units = Y / one_cluster(from_dense(Y * 1.0)).dispersions
    (gain,) = split_test._refined_gains(units, inside[:, None].astype(float))
    assert result.gain == pytest.approx(gain, rel=1e-9)
    assert result.p_value < 0.05


def test_two_clusters_are_real_and_one_is_not():
    real = [result_of(*table_of(seed, 0.4)).p_value < 0.01 for seed in range(5)]
    assert all(real)
    # The best division by itself is not: there is always one.
    for seed in range(5):
        Y, _ = table_of(seed, 0.0)
        units = Y / one_cluster(from_dense(Y * 1.0)).dispersions
        rng = np.random.default_rng(seed)
        starts = split_test._starts(units, 60, rng)
        place = split_test._refined_gains(units, starts).argmax()
        assert result_of(Y, starts[:, place] > 0).p_value > 0.01


def test_overdispersion_alone_is_not_called_real():
    rng = np.random.default_rng(0)
    Y = rng.poisson(rng.standard_gamma(np.full((300, 60), 0.5)) * 8)
    order = np.argsort(Y[:, 0])  # a division by the noise of one column
    inside = np.zeros(300, dtype=bool)
    inside[order[-100:]] = True
    assert result_of(Y, inside).p_value > 0.05


def test_threads_give_the_same_bits(seed):
    Y, inside = table_of(seed, 0.1)
    with Workers(3) as workers:
        assert result_of(Y, inside, seed, workers) == result_of(Y, inside, seed)


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
    result = result_of(np.asarray(Y), np.array(inside))
    assert 0 <= result.p_value <= 1
    assert np.isfinite(result.gain)
