"""Dispersions of columns: against the dense formula, and on simulated counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from oracle import assert_agrees
from strategies import Labelled, labelled_counts, priors
from threecpo._core import counts as counts_module
from threecpo._core.dispersion import dispersions
from threecpo._core.matrices import from_dense
from threecpo._core.sums import sum_by_labels


def dispersions_of(case, prior, *, block_counts=1 << 16):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts_module, "BLOCK_COUNTS", block_counts)
        counts = from_dense(case.Y)
        labels = np.where(case.labels < 0, case.n_clusters, case.labels)
        labels = labels.astype(np.int32)
        sums = sum_by_labels(counts, labels, case.n_clusters, case.groups, prior)
        sums = sums.smoothed(prior)
        return dispersions(counts, labels, sums, case.groups), len(counts.blocks)


def size_of_sums(*facts):
    """Size of the terms that cancel in Pearson's statistic, over what divides it."""
    sizes = []
    for x, mu, free in oracle.dispersion_terms(*facts):
        seen = mu > 0
        terms = (x[seen] ** 2 / mu[seen]).sum() + (x + mu).sum()
        excess = (x[seen] / mu[seen]).sum() / max(1, len(x))
        divisor = free * (excess or 1.0)
        sizes.append(terms / divisor if divisor > 0 else 0.0)
    return np.array(sizes)


def check(case, prior, **options):
    X = case.Y + prior
    found, n_blocks = dispersions_of(case, prior, **options)
    facts = X, case.labels, case.groups, prior
    assert_agrees(found, oracle.dispersions(*facts), size_of_sums(*facts))
    return n_blocks


@given(
    *(labelled_counts(), priors, st.sampled_from([1, 4, 1 << 16])),
    st.sampled_from([1, 0.37, 1e-3]),
)
def test_equals_the_dense_formula(case, prior, block_counts, scale):
    case = Labelled(case.Y * scale, case.labels, case.groups, case.n_clusters)
    check(case, prior, block_counts=block_counts)


def simulated(seed, mean, dispersion=1.0, n_columns=300, n_rows=500):
    """Counts of variance dispersion times mean in columns of all groups.

    There are many columns, as the size of a row is fitted to its own counts.
    """
    rng = np.random.default_rng(seed)
    groups = np.resize(np.array([1, 0, -1], dtype=np.int8), n_columns)
    labels = np.arange(n_rows) % 3
    sizes = rng.uniform(0.5, 1.5, size=(n_rows, 1))
    rates = mean * rng.uniform(0.5, 1.5, size=n_columns)
    factors = rng.uniform(0.4, 1.6, size=(3, n_columns))
    factors[:, groups != 1] = 1.0
    mu = np.where(groups >= 0, sizes, 1.0) * rates * factors[labels]
    if dispersion > 1:
        mu = rng.gamma(mu / (dispersion - 1), dispersion - 1)
    return Labelled(rng.poisson(mu).astype(float), labels, groups, 3)


def means_by_group(n_seeds, mean, dispersion=1.0, *, prior=1e-3, **shape):
    """Mean dispersion of C-, C0 and C1 over columns and seeds."""
    means = []
    for seed in range(n_seeds):
        case = simulated(seed, mean, dispersion, **shape)
        found, _ = dispersions_of(case, prior)
        means.append([found[case.groups == group].mean() for group in (-1, 0, 1)])
    return np.mean(means, axis=0)


def test_poisson_counts_have_dispersion_1():
    """Mean over 3 seeds and 100 columns of each group: within 0.02 of 1."""
    for mean in (0.2, 3.0, 50.0):
        np.testing.assert_allclose(means_by_group(3, mean), 1.0, atol=0.02)


def test_very_sparse_poisson_counts_have_dispersion_1():
    """Without a prior within 0.01; the prior, a 20th of the mean, takes up to 0.1."""
    shape = {"n_columns": 900, "n_rows": 2000}
    without = means_by_group(1, 0.02, prior=0.0, **shape)
    np.testing.assert_allclose(without, 1.0, atol=0.01)
    with_prior = means_by_group(1, 0.02, **shape)
    assert ((with_prior > 0.9) & (with_prior < 1.0)).all()


@pytest.mark.parametrize(("mean", "dispersion"), [(1.0, 2.0), (5.0, 4.0), (40.0, 2.0)])
def test_overdispersed_counts_have_their_dispersion(mean, dispersion):
    """Mean over 3 seeds and 100 columns of each group: within 5 % of the truth."""
    found = means_by_group(3, mean, dispersion)
    np.testing.assert_allclose(found, dispersion, rtol=0.05)


def test_a_column_that_is_nearly_all_of_the_sizes_has_rough_digits():
    Y = np.array([[745.0, 0, 0], [0, 0, 0]])
    check(Labelled(Y, np.zeros(2, int), np.zeros(3, np.int8), 1), 1e-3)
