"""Sums of clusters, moved and from scratch, and records on their way into loops."""

import pickle

import numpy as np
import pytest
from core_cases import assert_same_sums
from hypothesis import given
from hypothesis import strategies as st

import oracle
import oracle_run
from oracle import assert_agrees, size_of_terms
from strategies import labelled_counts, planted, priors
from threecpo._core import counts as counts_module
from threecpo._core import sums as sums_module
from threecpo._core.codes import NOWHERE, inner_labels
from threecpo._core.counts import Counts
from threecpo._core.loops.records import LINE, loadable
from threecpo._core.loops.simd import LANES
from threecpo._core.matrices import from_dense
from threecpo._core.rules import CHI_SQUARED, EXACT, PAPER, scores
from threecpo._core.sums import Sums, assign, sum_by_labels, sums_by_profile
from threecpo._core.workers import SERIAL, Workers

GROUPS = np.array([1, 1, 1, 1, 0, 0, -1, -1], dtype=np.int8)
OTHER_GROUPS = np.array([1, 1, 0, 1, 0, 1, 1, -1], dtype=np.int8)


@pytest.fixture
def several_blocks(monkeypatch):
    monkeypatch.setattr(counts_module, "BLOCK_COUNTS", 40)


def planted_counts(seed, *, fractional=False, n_rows=200):
    Y, _ = planted(np.random.default_rng(seed), n_rows, fractional=fractional)
    return from_dense(Y)


def passes(counts, seed, n_jobs=1, n_clusters=4, *, background=True):
    """Three passes from random labels; C0 and C1 change in the second."""
    labels = np.random.default_rng(seed).integers(n_clusters, size=counts.n_rows)
    labels = labels.astype(np.int32)
    sums = sum_by_labels(counts, labels, n_clusters, GROUPS, 1e-3)
    moved = 0
    with Workers(n_jobs) as workers:
        for groups, with_sizes in (
            (GROUPS, False),
            (OTHER_GROUPS, True),
            (OTHER_GROUPS, False),
        ):
            smoothed = sums.smoothed(1e-3)
            profile = EXACT.profile(smoothed, groups, background=background)
            moved += assign(
                counts, profile, labels, sums, workers, with_sizes=with_sizes
            )
    assert moved > 0
    return labels, sums


@given(labelled_counts(), priors)
def test_sums_equal_the_oracle(case, prior):
    X = case.Y + prior
    sums = sum_by_labels(
        from_dense(case.Y),
        inner_labels(case.labels, case.n_clusters),
        case.n_clusters,
        case.groups,
        prior,
    )
    smoothed = sums.smoothed(prior)
    for k in range(case.n_clusters):
        assert_agrees(smoothed.clusters[k], X[case.labels == k].sum(axis=0))
    assert_agrees(smoothed.outliers, X[case.labels == -1].sum(axis=0))
    assert_agrees(smoothed.totals, X.sum(axis=0))
    members = [*range(case.n_clusters), -1]
    assert smoothed.weight_sums.tolist() == [np.sum(case.labels == k) for k in members]
    assert smoothed.n_rows == len(X)
    sizes = X[:, case.groups >= 0].sum(axis=1)
    if (case.groups >= 0).any():
        expected = oracle.times_log(X, sizes[:, None]).sum(axis=0)
        assert_agrees(smoothed.count_log_sizes, expected, size_of_terms(X.sum(axis=0)))


def test_rows_that_are_nowhere_count_in_totals_only():
    counts = from_dense(np.arange(12.0).reshape(4, 3))
    labels = np.array([NOWHERE, 0, NOWHERE, 1], dtype=np.int32)
    sums = sum_by_labels(counts, labels, 2, np.ones(3, np.int8), 1e-3)
    np.testing.assert_array_equal(sums.totals, [18, 22, 26])
    np.testing.assert_array_equal(sums.table, [[3, 4, 5], [9, 10, 11], [0, 0, 0]])
    assert sums.members.tolist() == [1, 1, 0]
    assert sums.n_rows == 4


U = "count_log_sizes", "log_size_total"


@pytest.mark.usefixtures("several_blocks")
@pytest.mark.parametrize("fractional", [False, True])
def test_moved_sums_are_the_sums_from_scratch_bit_for_bit(seed, fractional):
    counts = planted_counts(seed, fractional=fractional)
    assert counts.whole is not fractional
    assert len(counts.blocks) > 8
    labels, moved = passes(counts, seed)
    for n_jobs in (2, 4):
        other_labels, other = passes(counts, seed, n_jobs)
        np.testing.assert_array_equal(labels, other_labels)
        assert_same_sums(moved, other)
    scratch = sum_by_labels(counts, labels, 4, OTHER_GROUPS, 1e-3)
    assert_same_sums(moved, scratch, but=U if fractional else U[1:])
    u, other = (each.count_log_sizes.sum(axis=1) for each in (moved, scratch))
    np.testing.assert_allclose(u, other, rtol=1e-13)


def sized_passes(Y, seed, prior, n_jobs, row_sizes):
    """Passes with u over columns in use that change each time; all their u."""
    counts, rng = from_dense(Y), np.random.default_rng(seed)
    labels = rng.integers(4, size=counts.n_rows, dtype=np.int32)
    sums = sum_by_labels(counts, labels, 4, GROUPS, prior)
    found = []
    with Workers(n_jobs) as workers:
        for groups in (GROUPS, OTHER_GROUPS, GROUPS, OTHER_GROUPS):
            profile = EXACT.profile(sums.smoothed(prior), groups)
            how = {"with_sizes": True, "row_sizes": row_sizes}
            sums = sums.copy()
            assign(counts, profile, labels, sums, workers, **how)
            found += [sums.count_log_sizes, sums.log_size_total]
    return found


@pytest.mark.usefixtures("several_blocks")
@pytest.mark.parametrize(
    ("prior", "n_jobs", "empty"), [(1e-3, 2, False), (0.0, 1, True), (0.0, 2, False)]
)
def test_u_is_the_same_where_sizes_are_kept(seed, monkeypatch, prior, n_jobs, empty):
    monkeypatch.setattr(counts_module, "SHARE_COUNTS", 1)
    Y, _ = planted(np.random.default_rng(seed), 200)
    if empty:  # rows without counts in use at first, of size 0 where the prior is 0
        Y[:5, :6] = Y[:5, 7:] = 0
        Y[:5, 6] = 3
    kept = np.full(len(Y), np.nan)
    found = sized_passes(Y, seed, prior, n_jobs, kept)
    for u, expected in zip(
        found, sized_passes(Y, seed, prior, 1, row_sizes=None), strict=True
    ):
        np.testing.assert_array_equal(u, expected)
    in_use = OTHER_GROUPS >= 0
    sizes = Y[:, in_use].sum(axis=1) + prior * np.count_nonzero(in_use)
    np.testing.assert_array_equal(kept, sizes)


def test_u_starts_from_nothing_where_it_would_not_be_exact(seed, monkeypatch):
    Y, _ = planted(np.random.default_rng(seed), 50)
    monkeypatch.setattr(sums_module, "MOST_MOVED", float(Y.sum(axis=0).max()))
    kept = np.full(len(Y), np.nan)
    sized_passes(Y, seed, 1e-3, 1, kept)
    kept[:] = 7.0  # would be taken away, if it counted
    found = sized_passes(Y, seed, 1e-3, 1, kept)
    expected = sized_passes(Y, seed, 1e-3, 1, row_sizes=None)
    for u, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(u, other)


@given(labelled_counts(min_rows=2, huge=False), priors, st.booleans(), st.booleans())
def test_rows_go_where_the_oracle_puts_them(case, prior, exact, background):
    X, counts = case.Y + prior, from_dense(case.Y)
    labels = inner_labels(case.labels, case.n_clusters)
    sums = sum_by_labels(counts, labels, case.n_clusters, case.groups, prior)
    rule = EXACT if exact else PAPER
    profile = rule.profile(sums.smoothed(prior), case.groups, background=background)
    before = labels.copy()
    with Workers(1) as workers:
        moved = assign(counts, profile, labels, sums, workers, with_sizes=True)
    assert moved == np.sum(labels != before)
    options = {"exact": exact, "outliers": background}
    expected = oracle.assign(X, case.labels, case.groups, **options)
    clear = oracle_run.clear_rows(X, case.labels, case.groups, **options)
    expected = inner_labels(expected, case.n_clusters)
    np.testing.assert_array_equal(labels[clear], expected[clear])


@pytest.mark.parametrize(("threshold", "outliers"), [(1.0, 1), (1e6, 0)])
def test_an_outlier_must_exceed_the_threshold(threshold, outliers):
    Y = np.array([[9.0, 0, 9], [8, 0, 9], [0, 9, 9], [0, 8, 9], [5, 5, 9]])
    labels = np.array([0, 0, 1, 1, 0], dtype=np.int32)
    groups = np.array([1, 1, 0], dtype=np.int8)
    counts = from_dense(Y)
    sums = sum_by_labels(counts, labels, 2, groups, 1e-3)
    smoothed = sums.smoothed(1e-3)
    profile = EXACT.profile(smoothed, groups, background=True, threshold=threshold)
    with Workers(1) as workers:
        assign(counts, profile, labels, sums, workers, with_sizes=False)
    assert np.sum(labels == 2) == outliers
    assert sums.members[2] == outliers


def test_equal_clusters_are_filled_from_the_lowest_rank():
    counts, groups = from_dense(np.array([[1.0, 2]] * 3)), np.ones(2, np.int8)
    labels = np.arange(3, dtype=np.int32)
    sums = sum_by_labels(counts, labels, 3, groups, 0.0)
    smoothed = sums.smoothed(0.0)
    for ranks, best in (([0, 1, 2], 0), ([2, 0, 1], 1), ([1, 2, 0], 2)):
        profile = EXACT.profile(smoothed, groups, ranks=np.array(ranks, np.int32))
        new, copy = labels.copy(), sums.copy()
        with Workers(1) as workers:
            assign(counts, profile, new, copy, workers, with_sizes=False)
        assert new.tolist() == [best] * 3


def test_adding_sums_of_parts_gives_those_of_all_rows(seed):
    Y, _ = planted(np.random.default_rng(seed))
    labels = np.arange(len(Y), dtype=np.int32) % 4
    total = Sums.zeros(3, Y.shape[1])
    for part in (slice(0, 7), slice(7, 30), slice(30, None)):
        part_counts, part_labels = from_dense(Y[part]), labels[part].copy()
        total.add(sum_by_labels(part_counts, part_labels, 3, GROUPS, 1e-3))
    assert_same_sums(total, sum_by_labels(from_dense(Y), labels, 3, GROUPS, 1e-3))


@pytest.fixture
def counts(seed):
    return from_dense(planted(np.random.default_rng(seed), 60)[0])


def profile_of(counts, rule=EXACT, **options):
    labels = np.arange(counts.n_rows, dtype=np.int32) % 3
    sums = sum_by_labels(counts, labels, 3, GROUPS, 1e-3)
    return rule.profile(sums.smoothed(1e-3), GROUPS, **options)


def out_of_band(profile):
    """As Dask sends it: arrays come back read-only, where the message has them."""
    buffers = []
    data = pickle.dumps(profile, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(buffer) for buffer in buffers])


def shifted(profile):
    """Arrays of its own, writeable and across cache lines."""
    rates = profile.log_rates
    workspace = np.zeros(rates.size + 2 * LANES)
    start = -workspace.ctypes.data % LINE // 8 + 1
    own = workspace[start : start + rates.size].reshape(rates.shape)
    own[:] = rates
    others = {"offsets": profile.offsets.copy(), "slots": profile.slots.copy()}
    return profile._replace(log_rates=own, **others)


WAYS = {
    "pickled": lambda profile: pickle.loads(pickle.dumps(profile)),
    "out of band": out_of_band,
    "by hand": shifted,
    "one array": lambda profile: profile._replace(ranks=profile.ranks.copy()),
}


@pytest.mark.parametrize("rule", [EXACT, PAPER, CHI_SQUARED], ids=lambda r: r.name)
@pytest.mark.parametrize("way", WAYS)
def test_a_profile_scores_the_same_wherever_it_is_from(way, rule, counts):
    background = rule is not PAPER
    profile = profile_of(counts, rule, background=background)
    other = WAYS[way](profile)
    assert type(other) is type(profile)
    assert (other.n_clusters, other.background) == (3, background)
    np.testing.assert_array_equal(
        scores(counts, other, SERIAL), scores(counts, profile, SERIAL)
    )
    other = loadable(other)
    assert other.log_rates.ctypes.data % LINE == 0
    assert not other.writeable


def test_a_profile_that_has_not_left_is_not_copied(counts):
    profile = profile_of(counts)
    assert loadable(profile) is profile


def test_counts_may_be_read_only_or_on_disk(counts, tmp_path):
    profile = profile_of(counts)
    expected = sums_by_profile(counts, profile, with_sizes=True)
    arrays = {}
    for name in ("indptr", "indices", "data"):
        np.save(tmp_path / f"{name}.npy", getattr(counts, name))
        arrays[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
    on_disk = Counts(**arrays, n_columns=counts.n_columns)
    found = sums_by_profile(on_disk, profile, with_sizes=True)
    np.testing.assert_array_equal(found.table, expected.table)
    np.testing.assert_array_equal(found.count_log_sizes, expected.count_log_sizes)
