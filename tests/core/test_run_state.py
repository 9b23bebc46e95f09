"""A run between two passes, given by hand what the passes found."""

from dataclasses import replace

import numpy as np
import pytest

from strategies import planted
from threecpo._core.codes import UNKNOWN
from threecpo._core.matrices import from_dense
from threecpo._core.rules import EXACT
from threecpo._core.run import RunState, Settings, digest
from threecpo._core.sums import sum_by_labels
from threecpo._fit.shared_pass import PendingRun, SharedPass
from threecpo._options import resolve_penalty

GROUPS = np.array([1, 1, 1, 1, 0, 0, -1, -1], dtype=np.int8)
SETTINGS = Settings(
    n_clusters=3,
    max_iter=50,
    price=resolve_penalty("mdl"),
    groups=(1, 0, -1),
    rule=EXACT,
    outliers=None,
    threshold=0.0,
    prior=1e-3,
)


@pytest.fixture
def found(seed):
    """Sums of the planted clusters."""
    Y, labels = planted(np.random.default_rng(seed), 120)
    return sum_by_labels(from_dense(Y), labels.astype(np.int32), 3, GROUPS, 1e-3)


def settled(found):
    """A run whose groups no longer change."""
    running = RunState(found, GROUPS, SETTINGS)
    while not running.finished:
        running.take(running.sums.copy(), None)
    settled = RunState(found, running.groups, SETTINGS)
    np.testing.assert_array_equal(settled.step.groups, settled.groups)
    return settled


def moved_one(sums):
    """The same sizes, but two rows have changed places."""
    other = sums.copy()
    other.table[0, 0] += 1
    other.table[1, 0] -= 1
    return other


def test_sums_and_groups_that_repeat_are_a_fixed_point(found):
    running = settled(found)
    running.take(running.sums.copy(), None)
    assert running.converged
    assert running.lines[-1]["rows_moved"] == 0


def test_groups_that_settle_on_the_same_sums_need_no_further_pass(found):
    running = RunState(found, GROUPS[::-1].copy(), SETTINGS)
    while not running.finished:
        assert not np.array_equal(running.step.groups, running.groups)
        running.take(running.sums.copy(), 0)
    assert running.converged
    last = running.lines[-1]
    assert last["into_relevant"] + last["into_shared"] + last["into_noise"] > 0
    assert last["rows_moved"] == 0


def test_sizes_that_repeat_are_none(found):
    running = settled(found)
    running.take(moved_one(running.sums), None)
    assert not running.converged
    assert running.lines[-1]["rows_moved"] == UNKNOWN


def test_rows_that_moved_without_changing_sums_are_a_fixed_point(found):
    running = settled(found)
    running.take(running.sums.copy(), 4)
    assert running.converged


def test_a_cluster_that_empties_is_dropped_from_what_was_behind_too(found):
    running = settled(found)
    other = running.sums.copy()
    other.table[0] += other.table[2]
    other.members[0] += other.members[2]
    other.table[2], other.members[2] = 0, 0
    assert running.take(other, None).tolist() == [0, 1]
    assert running.sums.n_clusters == running.previous_sums.n_clusters == 2


def test_a_request_asks_for_u_only_where_the_columns_in_use_change(found):
    running = settled(found)
    assert not running.request.with_sizes
    changed = running.step.groups.copy()
    changed[0] = -1
    running.step = replace(running.step, groups=changed)
    assert running.request.with_sizes


def pass_of(*runs, ended):
    pending = [
        PendingRun(GROUPS, running=run, loss=float(i), ended=i in ended)
        for i, run in enumerate(runs)
    ]
    return SharedPass(pending, SETTINGS, runs[0].sums)


def test_states_differ_wherever_sums_sizes_or_groups_do(found):
    members = found.copy()
    members.members[0] += 1
    states = {
        digest(found, GROUPS),
        digest(moved_one(found), GROUPS),
        digest(members, GROUPS),
        digest(found, GROUPS[::-1].copy()),
    }
    assert len(states) == 4
    assert digest(found.copy(), GROUPS.copy()) in states


def test_only_runs_of_the_same_state_become_one(found):
    runs = [
        RunState(each, GROUPS, SETTINGS)
        for each in (found, moved_one(found), found.copy())
    ]
    shared = pass_of(*runs, ended=())
    shared._end(range(3))
    assert [run.same_as for run in shared.runs] == [None, None, 0]
    assert [run.ended for run in shared.runs] == [False, False, True]
    np.testing.assert_array_equal(shared.losses, [0.0, 1.0, 0.0])


def test_the_best_that_ended_keeps_its_sums_while_others_run(found):
    """A rule without guarantee may end the others above it."""
    runs = [RunState(found, GROUPS, SETTINGS) for _ in range(3)]
    shared = pass_of(*runs, ended={1, 2})
    shared._end([0])
    assert [run.running is None for run in shared.runs] == [False, False, True]
