"""Quick scores: no label that full scores would not give, and few left in doubt."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from threecpo._core.codes import NOWHERE
from threecpo._core.loops import rows as row_loops
from threecpo._core.loops.quick import NO_QUICK, quick_of
from threecpo._core.loops.records import Workspace, loadable, rows_of
from threecpo._core.matrices import from_dense
from threecpo._core.rows import RowInfo
from threecpo._core.rules import CHI_SQUARED, EXACT, PAPER
from threecpo._core.sums import Sums, sum_by_labels

PRIOR = 1e-3
MANY = 10**9


def planted(n_clusters, seed=0, n_rows=300, n_columns=40, size=60.0):
    """Counts of clusters, and a profile of nearly their sums, all groups in it."""
    rng = np.random.default_rng(seed)
    rates = rng.gamma(0.7, size=(n_clusters, n_columns))
    labels = rng.permutation(np.arange(n_rows, dtype=np.int32) % n_clusters)
    shares = rates / rates.sum(axis=1, keepdims=True)
    counts = from_dense(rng.poisson(size * shares[labels]).astype(float))
    groups = rng.integers(-1, 2, size=n_columns).astype(np.int8)
    groups[0] = 1
    return counts, labels, groups


def profile_of(counts, labels, groups, n_clusters, rule=EXACT, prior=PRIOR):
    sums = sum_by_labels(counts, labels, n_clusters, groups, prior)
    return loadable(rule.profile(sums.smoothed(prior), groups))


def passed(counts, profile, quick):
    """Labels and sums of a pass from nothing."""
    sums = Sums.zeros_for(counts, profile.n_clusters)
    labels = np.full(counts.n_rows, NOWHERE, dtype=np.int32)
    workspace = Workspace.of(counts.longest, profile, len(quick.offsets))
    how = profile, quick, workspace, True, True
    block = (0, counts.n_rows)
    out = labels, np.empty(0), sums.arrays
    row_loops.assign_rows(rows_of(counts), block, *how, *out)
    return labels, sums


def assert_same_pass(counts, profile):
    """Quick scores change no label and no sum."""
    quick = quick_of(profile, MANY)
    assert len(quick.table) > 0
    n_batches = counts.row_info.n_batches
    assert len(quick.size_weights) == n_batches + (n_batches > 1)
    full, full_sums = passed(counts, profile, NO_QUICK)
    fast, fast_sums = passed(counts, profile, quick)
    np.testing.assert_array_equal(fast, full)
    for a, b in zip(fast_sums.arrays, full_sums.arrays, strict=True):
        np.testing.assert_array_equal(a, b)


def in_batches(counts, n_batches, seed):
    """Counts whose rows are in random batches, unless there is one."""
    if n_batches == 1:
        return counts
    rng = np.random.default_rng(seed)
    batches = rng.integers(n_batches, size=counts.n_rows).astype(np.int32)
    names = tuple("abcdefgh"[:n_batches])
    return counts.with_rows(RowInfo(batches=batches, batch_names=names))


@settings(deadline=None, max_examples=120)
@given(
    *(st.integers(1, 40), st.sampled_from([1, 1, 2, 8]), st.integers(0, 10**6)),
    *(st.sampled_from([0.5, 6.0, 60.0]), st.booleans()),
)
def test_a_pass_is_the_same_with_quick_scores(k, n_batches, seed, size, exact):
    counts, labels, groups = planted(k, seed, n_rows=80, size=size)
    counts = in_batches(counts, n_batches, seed)
    rule = EXACT if exact or n_batches > 1 else PAPER
    assert_same_pass(counts, profile_of(counts, labels, groups, k, rule))


def nearly_alike(counts, labels, groups, n_clusters, apart):
    """Profile in which every cluster has a twin whose rates hardly differ."""
    sums = sum_by_labels(counts, labels, n_clusters, groups, PRIOR)
    sums = sums.take(np.repeat(np.arange(n_clusters), 2))
    profile = EXACT.profile(sums.smoothed(PRIOR), groups)
    rates, rng = profile.log_rates.copy(), np.random.default_rng(1)
    twins = rates[:-1, 1 : 2 * n_clusters : 2]
    twins += apart * rng.normal(size=twins.shape)
    return loadable(profile._replace(log_rates=rates))


@pytest.mark.parametrize("apart", [1e-8, 1e-7, 1e-6])
@pytest.mark.parametrize("n_clusters", [7, 30])
def test_near_ties_are_left_to_full_scores(n_clusters, apart):
    counts, labels, groups = planted(n_clusters)
    assert_same_pass(counts, nearly_alike(counts, labels, groups, n_clusters, apart))


@pytest.mark.parametrize(
    ("n_clusters", "n_batches"), [(3, 1), (15, 3), (30, 1), (31, 3)]
)
def test_quick_scores_decide_nearly_all_rows(n_clusters, n_batches):
    """Against a profile that would put every row in cluster 0."""
    counts, labels, groups = planted(n_clusters, n_rows=2000, n_columns=200)
    counts = in_batches(counts, n_batches, 0)
    profile = profile_of(counts, labels, groups, n_clusters)
    full, _ = passed(counts, profile, NO_QUICK)
    offsets = np.where(np.arange(n_clusters) == 0, 1e9, profile.offsets)
    wrong = loadable(profile._replace(offsets=offsets))
    fast, _ = passed(counts, wrong, quick_of(profile, MANY))
    assert (fast == full).mean() > 0.99


def crafted(n_clusters, rates, size_weights, groups):
    """Profile with these log rates in C1 and these weights of row sizes."""
    shape = len(rates), n_clusters
    counts = from_dense(np.ones(shape[::-1]))
    everywhere = np.arange(n_clusters, dtype=np.int32)
    profile = profile_of(counts, everywhere, groups, n_clusters)
    log_rates = profile.log_rates.copy()
    log_rates[: len(rates), :n_clusters] = rates
    return loadable(
        profile._replace(
            log_rates=log_rates,
            offsets=np.zeros(n_clusters),
            size_weights=size_weights,
            prior_size=0.0,
        )
    )


def rows_of_any_length(rng, n_rows, n_columns):
    """Whole counts in few columns, of rows between 1 and nearly 2^24 long."""
    lengths = np.exp(rng.uniform(0, np.log(2.0**23), size=(n_rows, 1)))
    shares = rng.dirichlet(np.full(n_columns, 0.2), size=n_rows)
    return from_dense(np.ceil(lengths * shares))


def check_where_sizes_make_up_for_rates(n_clusters, n_columns, seed, apart, scale):
    """All columns of a cluster have one rate, the size of a row takes it away again."""
    rng = np.random.default_rng(seed)
    rates = np.tile(scale * rng.normal(size=n_clusters), (n_columns, 1))
    off = 1 + apart * rng.normal(size=(3, n_clusters))
    groups = np.ones(n_columns, np.int8)
    profile = crafted(n_clusters, rates, -rates[0] * off, groups)
    counts = in_batches(rows_of_any_length(rng, 60, n_columns), 2, seed)
    assert_same_pass(counts, profile)


@settings(deadline=None, max_examples=150)
@given(
    *(st.integers(2, 34), st.integers(1, 6), st.integers(0, 10**6)),
    *(st.sampled_from([1e-10, 1e-8, 1e-7, 1e-6]), st.sampled_from([1e-20, 1.0, 30.0])),
)
def test_rates_that_row_sizes_make_up_for_are_left_to_full_scores(
    n_clusters, n_columns, seed, apart, scale
):
    check_where_sizes_make_up_for_rates(n_clusters, n_columns, seed, apart, scale)


def test_rates_too_small_for_half_the_digits_are_left_to_full_scores():
    for seed in range(5):
        check_where_sizes_make_up_for_rates(5, 3, seed, 1e-3, 1e-42)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 34), st.integers(0, 10**6), st.sampled_from([1e-9, 1e-8, 1e-5]))
def test_weights_of_sizes_that_hardly_differ_are_left_to_full_scores(k, seed, apart):
    """Those of full scores have no digits left for what the weights differ by."""
    rng = np.random.default_rng(seed)
    weights = 1e6 * rng.normal(size=(3, 1)) + apart * rng.normal(size=(3, k))
    profile = crafted(k, np.zeros((4, k)), weights, np.ones(4, np.int8))
    counts = in_batches(rows_of_any_length(rng, 60, 4), 2, seed)
    assert_same_pass(counts, profile)


def test_there_are_none_where_full_scores_have_more_in_them():
    counts, labels, groups = planted(3)
    sums = sum_by_labels(counts, labels, 3, groups, PRIOR).smoothed(PRIOR)
    assert quick_of(loadable(CHI_SQUARED.profile(sums, groups)), MANY) is NO_QUICK
    outliers = loadable(EXACT.profile(sums, groups, background=True))
    assert quick_of(outliers, MANY) is NO_QUICK
    impossible = profile_of(counts, labels, groups, 3, prior=0.0)
    assert np.isneginf(impossible.log_rates).any()
    assert quick_of(impossible, MANY) is NO_QUICK
    # Nor where the table is longer than the rows.
    assert quick_of(profile_of(counts, labels, groups, 3), 10) is NO_QUICK


def test_long_rows_and_fractions_have_no_quick_scores():
    row = np.array([[1.0, 2.0], [3.0, 0.0]])
    assert from_dense(row).short_rows
    assert not from_dense(row / 2).short_rows
    assert not from_dense(row * 2.0**23).short_rows
