"""Runs with known rows and fixed columns, against the oracle."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from planted_runs import FIRST, settings_of, start_of
from searching import hard, recorded

import oracle_run
from oracle import assert_agrees, size_of_terms
from strategies import labelled_counts, penalties, priors
from threecpo._core import crossing, seeding
from threecpo._core.codes import NOWHERE, all_relevant, with_fixed
from threecpo._core.matrices import from_dense
from threecpo._core.merging import joined, merge_clusters
from threecpo._core.rows import RowInfo
from threecpo._core.run import run
from threecpo._core.search import Starts, first_groups
from threecpo._core.sums import sum_by_labels
from threecpo._core.workers import SERIAL, Workers


def knowing(counts, held, n_known):
    """Counts whose rows are held in known clusters without names."""
    info = replace(counts.row_info, known=held, known_names=("",) * n_known)
    return counts.with_rows(info)


def held_run(Y, labels, groups, held, penalty="mdl", workers=SERIAL, **changes):
    n_known = int(held.max(initial=-1)) + 1
    counts = knowing(from_dense(Y), held.astype(np.int32), n_known)
    n_clusters = max(int(labels.max()) + 1, n_known)
    settings = settings_of(n_clusters, penalty, n_known=n_known, **changes)
    return run(counts, groups, np.asarray(labels), settings, workers)


@st.composite
def held_rows(draw, case):
    """Known clusters 0…C-1 of some rows, each with the first row that it has."""
    n_known = draw(st.integers(1, case.n_clusters))
    chosen = draw(st.lists(st.booleans(), min_size=len(case.Y), max_size=len(case.Y)))
    held = np.where(chosen, case.labels, -1)
    held[held >= n_known] = -1
    for k in range(n_known):
        held[np.flatnonzero(case.labels == k)[0]] = k
    return held


@settings(max_examples=120)
@given(labelled_counts(min_rows=3), priors, penalties, st.booleans(), st.data())
def test_a_run_ends_where_the_oracle_ends(case, prior, penalty, outliers, data):
    assume(outliers or (case.labels >= 0).all())
    held = np.full(len(case.Y), -1)
    if data.draw(st.booleans()):
        held = data.draw(held_rows(case))
    # Free rows start anywhere, held ones too.
    labels = np.where(held >= 0, held, data.draw(st.permutations(case.labels)))
    columns = st.integers(0, case.Y.shape[1] - 1)
    fixed = data.draw(st.dictionaries(columns, st.sampled_from([1, 0, -1])))
    fixed = tuple(sorted(fixed.items()))
    X = case.Y + prior
    start = labels, with_fixed(case.groups, fixed)
    expected = oracle_run.run(X, *start, penalty, held, fixed, outliers=outliers)
    assume(expected.clear and expected.converged)
    options = {"prior": prior, "outliers": outliers, "fixed_groups": fixed}
    actual = held_run(case.Y, *start, held, penalty, **options)
    np.testing.assert_array_equal(actual.labels, expected.labels)
    np.testing.assert_array_equal(actual.groups, expected.groups)
    assert all(actual.groups[column] == group for column, group in fixed)
    size = size_of_terms(X.sum())
    assert_agrees(actual.history["loss"], expected.row_losses, size)
    assert (np.diff(actual.history["loss"]) <= 1e-9 * size).all()


@given(labelled_counts(outliers=False), priors, penalties, st.booleans(), st.data())
def test_the_loss_never_rises_and_held_rows_stay(case, prior, penalty, outliers, data):
    held = data.draw(held_rows(case))
    options = {"prior": prior, "outliers": outliers}
    result = held_run(case.Y, case.labels, case.groups, held, penalty, **options)
    size = size_of_terms((case.Y + prior).sum())
    assert (np.diff(result.history["loss"]) <= 1e-9 * size).all()
    np.testing.assert_array_equal(result.labels[held >= 0], held[held >= 0])
    n_known = held.max() + 1
    assert result.numbers[:n_known].tolist() == list(range(n_known))
    sizes = np.bincount(result.labels[result.labels >= 0])
    assert (np.diff(sizes[n_known:]) <= 0).all()


def test_known_labels_of_nobody_are_none(seed):
    Y, labels, groups = start_of(seed)
    nobody = np.full(len(Y), -1)
    first = held_run(Y, labels, groups, nobody)
    again = run(from_dense(Y), groups, labels, settings_of(3), SERIAL)
    np.testing.assert_array_equal(first.labels, again.labels)
    assert first.loss == again.loss


def test_same_bits_for_any_number_of_threads(monkeypatch):
    from threecpo._core import counts

    Y, labels, groups = start_of(0, n_rows=300)
    held = np.where(np.arange(300) % 7 == 0, labels, -1)
    one = held_run(Y, labels, groups, held)
    monkeypatch.setattr(counts, "BLOCK_COUNTS", 200)
    with Workers(3) as workers:
        many = held_run(Y, labels, groups, held, workers=workers)
    np.testing.assert_array_equal(one.labels, many.labels)
    assert one.sums.table.tobytes() == many.sums.table.tobytes()
    assert one.loss == many.loss


class TestSearch:
    def test_known_clusters_are_never_joined(self, seed):
        rng = np.random.default_rng(seed)
        Y = rng.poisson(rng.gamma(1.0, 5.0, size=(8, 5))).astype(float)
        Y[1] = Y[0]  # the cheapest pair
        labels = np.arange(8, dtype=np.int32)
        sums = sum_by_labels(from_dense(Y), labels, 8, all_relevant(5), 1e-3)
        for apart in (2, 4):
            for n_left in range(apart, 8):
                new = merge_clusters(sums, all_relevant(5), n_left, 1e-3, apart=apart)
                assert new[:apart].tolist() == list(range(apart))
                assert new.max() == n_left - 1
        assert merge_clusters(sums, all_relevant(5), 7, 1e-3)[1] == 0

    def test_joining_down_to_k_keeps_them_apart(self):
        Y = np.array([[5.0, 1], [5, 1], [1, 5], [9, 9]])
        labels = np.arange(4, dtype=np.int32)
        sums = sum_by_labels(from_dense(Y), labels, 4, all_relevant(2), 1e-3)
        settings = settings_of(3, n_known=2)
        new, left = joined(labels, sums, all_relevant(2), settings, SERIAL)
        assert new[:2].tolist() == [0, 1]
        assert left.n_clusters == 3

    def test_crossing_keeps_known_clusters_first_and_whatever_their_size(self):
        a = np.array([0, 1, 2, 2, 2, 2, 3, 3, 3], dtype=np.int32)
        b = np.array([0, 1, 2, 2, 3, 3, 3, 3, 3], dtype=np.int32)
        parts = crossing.common_parts(a, b, 9, 2, n_known=2)
        assert parts[:2].tolist() == [0, 1]
        assert parts[6:].tolist() == [2, 2, 2]
        assert crossing.common_parts(a, b, 9, 2)[0] != 0

    def test_a_crossing_starts_with_held_rows_in_their_clusters(self, monkeypatch):
        made, Y = recorded(monkeypatch), hard(0)
        held = np.full(len(Y), -1, dtype=np.int32)
        held[[3, 150]], held[[8, 90]] = 0, 1
        counts = knowing(from_dense(Y), held, 2)
        settings = settings_of(6, n_known=2)
        ends = []
        for seed in range(6):
            start = seeding.random_centers(counts)(np.random.default_rng(seed), 6)
            ends.append(run(counts, FIRST, start, settings, SERIAL))
        for best, other in pairwise(ends):
            crossing.crossed(counts, best, other, settings, SERIAL)
        assert len(made) > 2
        for each in made:
            np.testing.assert_array_equal(each.labels[held >= 0], held[held >= 0])

    @pytest.mark.parametrize("kind", ["poisson", "random"])
    def test_seeds_are_free_rows_far_from_known_clusters(self, kind, seed):
        Y, labels, _ = start_of(seed)
        held = np.where(labels < 2, labels, -1).astype(np.int32)
        counts = knowing(from_dense(Y), held, 2)
        start = (
            seeding.poisson_plus_plus(counts, 1e-3)
            if kind == "poisson"
            else seeding.random_centers(counts)
        )
        found = start(np.random.default_rng(seed), 4, SERIAL)
        np.testing.assert_array_equal(found[held >= 0], held[held >= 0])
        seeds = found[(held < 0) & (found != NOWHERE)]
        assert sorted(seeds.tolist()) == [2, 3]

    def test_the_first_seed_is_what_known_clusters_explain_worst(self):
        Y = np.array([[9.0, 1, 1]] * 20 + [[1, 9, 1]] * 20 + [[9, 1, 2]] * 20)
        held = np.full(60, -1, dtype=np.int32)
        held[:3] = 0
        counts = knowing(from_dense(Y), held, 1)
        start = seeding.poisson_plus_plus(counts, 1e-3)
        for seed in range(5):
            found = start(np.random.default_rng(seed), 2, SERIAL)
            assert 20 <= np.flatnonzero(found == 1)[0] < 40

    def test_a_heavy_known_row_is_many_in_the_first_assignment(self):
        Y = np.array([[10.0, 0, 5], [0, 10, 5], [4, 6, 5], [6, 4, 5]])
        held = np.array([0, 0, 1, -1], dtype=np.int32)
        labels = np.where(held >= 0, held, NOWHERE)
        counts = from_dense(Y).with_rows(RowInfo(np.array([9.0, 1, 1, 1])))
        settings = settings_of(2, None, n_known=2)
        counts = knowing(counts, held, 2)
        result = run(counts, all_relevant(3), labels, settings, SERIAL)
        assert result.labels.tolist() == [0, 0, 1, 1]
        assert result.history["rows_moved"].tolist()[0] == 0


class TestFixedColumns:
    def test_starts_hold_them(self):
        fixed = ((0, -1), (2, 0))
        counts, rng = from_dense(np.ones((4, 4))), np.random.default_rng(0)
        first = np.array([1, -1, 1, 1], dtype=np.int8)
        starts = Starts(counts, first, None, also_all_columns=True, fixed_groups=fixed)
        assert starts.columns(rng, 2).tolist() == [-1, -1, 0, 1]
        assert starts.wide_columns(rng, 8, 2).tolist() == [-1, 1, 0, 1]
        assert first_groups(first, rng, fixed).tolist() == [-1, -1, 0, 1]

    def test_a_start_is_never_without_c1(self):
        groups = np.array([1, -1, -1], dtype=np.int8)
        assert with_fixed(groups, [(0, -1)]).tolist() == [-1, 1, 1]
        assert with_fixed(groups, [(0, -1), (1, 0)]).tolist() == [-1, 0, 1]
        assert groups.tolist() == [1, -1, -1]
