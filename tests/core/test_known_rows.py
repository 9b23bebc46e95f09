"""Runs with rows that are held in known clusters, beside the oracle."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from planted_runs import FIRST, settings_of, start_of

import oracle_known
from oracle import assert_agrees, size_of_terms
from strategies import labelled_counts, penalties, priors
from threecpo._core import crossing, seeding
from threecpo._core.codes import NOWHERE, all_relevant
from threecpo._core.matrices import from_dense
from threecpo._core.merging import joined, merge_clusters
from threecpo._core.run import run
from threecpo._core.sums import sum_by_labels
from threecpo._core.workers import SERIAL, Workers


def held_run(Y, labels, groups, held, penalty="mdl", workers=SERIAL, **changes):
    n_known = int(held.max(initial=-1)) + 1
    counts = from_dense(Y).with_known(held.astype(np.int32), ("",) * n_known)
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


@given(labelled_counts(min_rows=3), priors, penalties, st.booleans(), st.data())
def test_a_run_ends_where_the_oracle_ends(case, prior, penalty, outliers, data):
    assume(outliers or (case.labels >= 0).all())
    held = data.draw(held_rows(case))
    # Free rows start anywhere, held ones too.
    labels = np.where(held >= 0, held, data.draw(st.permutations(case.labels)))
    X = case.Y + prior
    start = labels, case.groups
    expected = oracle_known.run(X, *start, penalty, held, outliers=outliers)
    assume(expected.clear and expected.converged)
    options = {"prior": prior, "outliers": outliers}
    actual = held_run(case.Y, *start, held, penalty, **options)
    np.testing.assert_array_equal(actual.labels, expected.labels)
    np.testing.assert_array_equal(actual.groups, expected.groups)
    size = size_of_terms(X.sum())
    assert_agrees(actual.history["loss"], expected.row_losses, size)


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

    @pytest.mark.parametrize("kind", ["poisson", "random"])
    def test_seeds_are_free_rows_far_from_known_clusters(self, kind, seed):
        Y, labels, _ = start_of(seed)
        held = np.where(labels < 2, labels, -1).astype(np.int32)
        counts = from_dense(Y).with_known(held, ("", ""))
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
        counts = from_dense(Y).with_known(held, ("",))
        start = seeding.poisson_plus_plus(counts, 1e-3)
        for seed in range(5):
            found = start(np.random.default_rng(seed), 2, SERIAL)
            assert 20 <= np.flatnonzero(found == 1)[0] < 40

    def test_weights_of_known_rows_count_in_the_start(self):
        """Heavy rows are as many rows, from the first assignment on."""
        Y, labels, _ = start_of(3)
        held = np.full(40, -1, dtype=np.int32)
        held[:6] = labels[:6]
        held = np.searchsorted(np.unique(held[:6]), held).astype(np.int32) * (held >= 0)
        held[6:] = -1
        times = np.where(np.arange(40) < 6, 1 + np.arange(40) % 3, 1)
        n_known = held.max() + 1
        names = ("",) * n_known
        once = from_dense(Y).with_rows(times.astype(float)).with_known(held, names)
        copies = np.repeat(np.arange(40), times)
        many = from_dense(Y[copies]).with_known(held[copies], names)
        labels = np.where(held >= 0, held, NOWHERE)
        settings = settings_of(n_known, n_known=n_known)
        a = run(once, FIRST, labels, settings, SERIAL)
        b = run(many, FIRST, labels[copies], settings, SERIAL)
        np.testing.assert_array_equal(a.labels[copies], b.labels)
        assert a.sums.table.tobytes() == b.sums.table.tobytes()

    def test_a_heavy_known_row_is_many_in_the_first_assignment(self):
        Y = np.array([[10.0, 0, 5], [0, 10, 5], [4, 6, 5], [6, 4, 5]])
        held = np.array([0, 0, 1, -1], dtype=np.int32)
        labels = np.where(held >= 0, held, NOWHERE)
        counts = from_dense(Y).with_rows(np.array([9.0, 1, 1, 1]))
        settings = settings_of(2, None, n_known=2)
        counts = counts.with_known(held, ("", ""))
        result = run(counts, all_relevant(3), labels, settings, SERIAL)
        assert result.labels.tolist() == [0, 0, 1, 1]
        assert result.history["rows_moved"].tolist()[0] == 0
