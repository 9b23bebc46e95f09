"""Clusters too rare for the sample are found in the rows that fit worst."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from block_fits import (
    assert_same_bits,
    counts_of,
    cut,
    evenly,
    finds,
    fit,
    model_of,
    with_rare,
    write,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import labelled_counts
from threecpo import distributed
from threecpo._core.codes import FREE, NOWHERE, inner_labels
from threecpo._core.loops.records import rows_of
from threecpo._core.loops.rows import misfit_rows
from threecpo._core.matrices import from_dense
from threecpo._core.rows import RowInfo
from threecpo._core.rules import EXACT
from threecpo._core.sums import sum_by_labels
from threecpo._core.workers import SERIAL
from threecpo._fit.blocks import BlockFit
from threecpo._fit.rare_clusters import (
    MOST_SEARCHES,
    ROWS_OF_CLUSTER,
    MisfitFinder,
    Misfits,
    RareClusters,
    is_due,
    with_parts,
)
from threecpo.cluster.fitting import plan_of


def looked(blocks, *, rare_clusters=True, fitting=None, **options):
    fitting = {"rare_clusters": rare_clusters} | (fitting or {})
    return fit(blocks, 4, sample_rows=200, fitting=fitting, **options)


@pytest.mark.parametrize(
    ("seed", "options"), [(8, {}), (4, {"outliers": "iterative"}), (9, {})], ids=str
)
def test_a_cluster_too_rare_for_the_sample_is_found(seed, options):
    X, rare = with_rare(seed)
    without = looked(X, rare_clusters=False, **options)
    found = looked(X, **options)
    assert not finds(without, rare)
    assert finds(found, rare)
    assert found.n_clusters_ == 4
    assert found.loss_ < without.loss_
    n_runs = len(without.restart_losses_)
    np.testing.assert_array_equal(
        found.restart_losses_[:n_runs], without.restart_losses_
    )
    assert 1 <= len(found.restart_losses_) - n_runs <= MOST_SEARCHES
    assert found.loss_ == found.restart_losses_.min()


def test_any_cut_and_any_engine_give_the_same(tmp_path):
    X, rare = with_rare(1)
    expected = looked(X, n_jobs=1)
    assert finds(expected, rare)
    for blocks in (evenly(X, 3), cut(X, 1, 7, 4000), write(X, tmp_path / "X", 9)):
        assert_same_bits(looked(blocks, n_jobs=2), expected)


def test_rows_that_the_sample_holds_all_of_are_not_looked_at_again():
    X, _ = with_rare(1, n_rows=200)
    models = [looked(evenly(X, 2), rare_clusters=each) for each in (False, True)]
    assert_same_bits(*models)


def test_a_start_that_is_given_and_batches_are_left_alone():
    X, rare = with_rare(1)
    batch = np.arange(len(rare)) % 2
    labels = looked(X, rare_clusters=False).labels_
    for options in ({"init": labels}, {"fitting": {"batch": batch}}):
        found, expected = (
            looked(X, rare_clusters=each, **options) for each in (True, False)
        )
        assert_same_bits(found, expected)


@pytest.mark.parametrize("before_the_end", [1, 3])
def test_a_fit_that_ends_during_a_look_goes_on(tmp_path, monkeypatch, before_the_end):
    X, _ = with_rare(1)
    passes, whole = [], BlockFit._pass

    def counting(self, requests):
        passes.append(len(requests))
        if len(passes) == last:
            raise InterruptedError
        return whole(self, requests)

    monkeypatch.setattr(BlockFit, "_pass", counting)
    last = None
    expected = looked(X)
    last = len(passes) - before_the_end + 1
    passes.clear()
    kept = {"checkpoint": tmp_path / "state"}
    with pytest.raises(InterruptedError):
        looked(evenly(X, 4), fitting=kept)
    last = None
    assert_same_bits(looked(evenly(X, 3), fitting=kept), expected)
    state = json.loads((tmp_path / "state" / "state.json").read_text())["state"]
    assert 1 <= json.loads(state)["n_extra_searches"] <= MOST_SEARCHES
    with pytest.raises(ValueError, match="belongs to a fit with rare_clusters=True"):
        looked(X, rare_clusters=False, fitting=kept)


def test_known_clusters_stay_what_they_are():
    X, rare = with_rare(1)
    known = np.full(len(rare), None, dtype=object)
    known[:40] = "known"
    found = distributed.fit(model_of(4), X, sample_rows=200, known_labels=known)
    assert (found.labels_[:40] == 0).all()
    assert finds(found, rare & (np.arange(len(rare)) >= 40))


def test_a_look_is_at_half_as_many_rows_as_the_sample_and_may_find_nothing(monkeypatch):
    asked = []

    class Blind(RareClusters):
        def start(self, run, workers):
            asked.append(self.n_rows)

    monkeypatch.setattr("threecpo._fit.blocks.RareClusters", Blind)
    X, _ = with_rare(1)
    found, expected = (
        looked(X, rare_clusters=each, n_init=1) for each in (True, False)
    )
    assert_same_bits(found, expected)
    assert asked == [100]


@pytest.mark.parametrize(
    ("n_extra_searches", "losses", "due"),
    [
        (0, [90.0, 100.0], True),
        (1, [90.0, 100.0, 89.0], True),
        (1, [90.0, 100.0, 90.0 - 1e-4], False),
        (2, [90.0, 100.0, 89.0, 95.0], False),
        (MOST_SEARCHES, [90.0, 80.0, 70.0], False),
    ],
)
def test_another_look_is_due_while_the_last_has_paid(n_extra_searches, losses, due):
    runs = [SimpleNamespace(loss=loss) for loss in losses]
    assert is_due(SimpleNamespace(n_extra_searches=n_extra_searches, runs=runs)) == due


def test_each_cluster_has_its_part_of_the_rows_that_are_kept():
    X, labels = counts_of(n_rows=600)
    counts, groups = from_dense(X.toarray()), np.ones(X.shape[1], dtype=np.int8)
    sums = sum_by_labels(counts, labels.astype(np.int32), 3, groups, 1e-3)
    profile = EXACT.profile(sums.smoothed(1e-3), groups)
    finder = MisfitFinder.of(sums, profile, 300, np.array([0, 1000]))
    sizes = np.append(np.bincount(labels), 0)
    n_kept = np.maximum(np.ceil(sizes / 2), ROWS_OF_CLUSTER)
    np.testing.assert_array_equal(finder.n_kept, n_kept)
    assert (finder.shares > 0).all()
    _, found = finder(1, counts)
    assert (np.bincount(found.labels, minlength=4) <= n_kept).all()
    assert (found.numbers >= 1000).all()
    first, *rest = found.numbers.tolist()
    known = np.full(600, FREE, dtype=np.int32)
    known[first - 1000] = 0
    _, others = finder(1, counts.with_rows(RowInfo(known=known)))
    assert first not in others.numbers
    assert set(rest) <= set(others.numbers)


def look_of(n_known=0):
    """A search that reads nothing."""
    plan = plan_of(model_of(2))
    plan = replace(plan, settings=replace(plan.settings, n_known=n_known))
    return RareClusters(None, None, plan, None, 0)


def test_parts_are_rows_of_one_cluster_and_few_rows_are_no_part():
    X, labels = counts_of(n_rows=400)
    labels = labels.astype(np.int32)
    labels[: ROWS_OF_CLUSTER - 1] = 3
    parts = look_of()._divided(labels, from_dense(X.toarray()), 3, SERIAL)
    np.testing.assert_array_equal(parts == NOWHERE, labels == 3)
    of_each = [np.unique(parts[labels == k]) for k in range(3)]
    assert len(np.unique(np.concatenate(of_each))) == sum(map(len, of_each))


@pytest.mark.parametrize("n_known", [0, 2])
def test_known_clusters_are_not_joined_with_each_other(n_known):
    X, labels = counts_of(n_rows=200, n_clusters=2)
    # Two known clusters that are halves of one, and another.
    labels = np.where(labels == 0, np.arange(200) % 2, 2).astype(np.int32)
    groups = np.ones(X.shape[1], dtype=np.int8)
    sums = sum_by_labels(from_dense(X.toarray()), labels, 3, groups, 1e-3)
    found = look_of(n_known)._joined(sums, groups, 2, SERIAL)
    halves = sums.table[0] + sums.table[1]
    assert np.array_equal(found.table[0], halves) == (n_known == 0)


@settings(max_examples=50, deadline=None)
@given(labelled_counts(outliers=False, huge=False))
def test_misfits_are_what_counts_are_too_large_by(case):
    Y, labels = case.Y, case.labels.astype(np.int32)
    shares = np.random.default_rng(0).dirichlet(np.ones(Y.shape[1]), case.n_clusters)
    found = np.empty(len(Y))
    misfit_rows(rows_of(from_dense(Y)), labels, shares, 0.5, found)
    sizes = Y.sum(axis=1, keepdims=True)
    expected = sizes * shares[labels]
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = Y * np.log(Y / expected) - (Y - expected) - 0.5
    excess = np.where((expected < Y) & (excess > 0), excess, 0.0)
    slow = excess.sum(axis=1) / np.sqrt(np.maximum(sizes[:, 0], 1))
    np.testing.assert_allclose(found, slow, rtol=1e-9, atol=1e-12)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1))
def test_the_worst_of_each_cluster_are_kept_whatever_the_parts(rows):
    labels, keys = np.array(rows).T
    all_rows = Misfits(labels.astype(np.int32), keys / 2, np.arange(len(rows)))
    n_kept = np.array([1, 2, 3])
    expected = all_rows.worst(n_kept).by_number()
    for k, n in enumerate(n_kept):
        own = np.flatnonzero((labels == k) & (keys > 0))
        best = own[np.argsort(-keys[own], kind="stable")[:n]]
        assert sorted(best) == expected.numbers[expected.labels == k].tolist()
    half = len(rows) // 2
    parts = [
        Misfits(*(array[part] for array in all_rows)).worst(n_kept)
        for part in (slice(half), slice(half, None))
    ]
    again = parts[0].beside(parts[1]).worst(n_kept).by_number()
    np.testing.assert_array_equal(again.numbers, expected.numbers)


@given(labelled_counts(min_rows=3, huge=False), st.integers(1, 3))
def test_rows_move_from_their_clusters_into_parts(case, n_parts):
    counts, groups = from_dense(case.Y), case.groups
    labels = inner_labels(case.labels.astype(np.int32), case.n_clusters)
    sums = sum_by_labels(counts, labels, case.n_clusters, groups, 1e-3)
    chosen = np.arange(0, counts.n_rows, 2)
    parts = (np.arange(len(chosen)) % (n_parts + 1)).astype(np.int32)
    parts[parts == n_parts] = NOWHERE
    some = counts.rows(chosen)
    found = with_parts(sums, some, labels[chosen], parts, groups, 1e-3)
    n_there = int(parts.max()) + 1
    wide = np.where(labels == case.n_clusters, case.n_clusters + n_there, labels)
    moved = chosen[parts != NOWHERE]
    wide[moved] = case.n_clusters + parts[parts != NOWHERE]
    expected = sum_by_labels(
        counts, wide.astype(np.int32), case.n_clusters + n_there, groups, 1e-3
    )
    np.testing.assert_array_equal(found.table, expected.table)
    np.testing.assert_array_equal(found.members, expected.members)
