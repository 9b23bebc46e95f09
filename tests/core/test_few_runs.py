"""Few runs for each of several K, which start from runs of neighbouring K."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from planted_runs import assert_same_bits
from searching import found_by, hard, recorded, settings_for

from threecpo._core import search
from threecpo._core.search import FewRuns, few_merges


@pytest.mark.parametrize(
    ("found", "n_clusters", "expected"),
    [
        ((), 9, []),
        ((5, 7, 8), 9, []),
        ((12,), 9, [12]),
        ((8, 12), 9, [12, 8]),
        ((5, 7, 12, 16), 9, [12, 7]),
        ((5, 18), 9, [18, 5]),
        ((4, 18), 9, [18]),
        ((8, 19), 9, []),
        ((3, 4, 6), 5, [6, 4]),
        ((2, 3, 5), 4, []),  # which has all of its runs
    ],
)
def test_neighbours_are_the_nearest_at_most_twice_apart(found, n_clusters, expected):
    few = FewRuns(3, {k: SimpleNamespace(n_clusters=k) for k in found})
    near = few.neighbours(n_clusters)
    assert [each.n_clusters for each in near] == expected


def test_a_larger_run_that_lost_clusters_is_no_neighbour():
    runs = {12: SimpleNamespace(n_clusters=8), 16: SimpleNamespace(n_clusters=16)}
    assert FewRuns(3, runs).neighbours(9) == [runs[16]]


def path(few, *n_clusters, n_jobs=1):
    """Best run and losses for each number of clusters, and the counts."""
    Y = hard(3, n_rows=400)
    settings = settings_for(*n_clusters)
    return Y, found_by(partial(few_merges, few), Y, settings, 3, n_jobs)


def test_runs_between_others_start_from_these(monkeypatch):
    made, few = recorded(monkeypatch), FewRuns(3)
    _, found = path(few, 14, 10)
    assert [len(losses) for _, losses in found] == [2, 2]
    assert few.found.keys() == {14, 10}
    began = {each.settings.n_clusters for each in made}
    assert max(began) == 28  # from random rows
    made.clear()
    _, ((between, losses),) = path(few, 12)
    assert len(losses) == 2
    assert {each.settings.n_clusters for each in made} == {12}
    assert between is few.found[12]
    larger = few.found[14].labels
    start = made[0].labels
    # Each cluster of the larger run lies in one cluster of the start.
    assert len({*zip(larger, start, strict=True)}) == few.found[14].n_clusters == 14
    assert len(np.unique(start)) == 12


def test_small_numbers_have_all_trials():
    _, found = path(FewRuns(3), 8, 6, 4, 1)
    assert [len(losses) for _, losses in found] == [3, 4, 3, 3]


def test_the_best_run_is_the_one_to_start_from():
    few = FewRuns(3)
    _, found = path(few, 8, 7, 6, 5)
    assert any(losses[-1] > min(losses) for _, losses in found)
    assert [few.found[k].loss for k in (8, 7, 6, 5)] == [min(ls) for _, ls in found]


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr(search, "BLOCK_COUNTS", 10)
    several = []
    for n_jobs in (1, 2, 4):
        few = FewRuns(3)
        _, first = path(few, 12, 9, n_jobs=n_jobs)
        _, second = path(few, 10, n_jobs=n_jobs)
        several.append([*first, *second])
    for other in several[1:]:
        for (a, losses), (b, other_losses) in zip(several[0], other, strict=True):
            assert losses == other_losses
            assert_same_bits(a, b)
