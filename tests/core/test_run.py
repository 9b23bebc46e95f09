"""Runs: where they end, what changes nothing about them, and what they tell."""

import pickle
from dataclasses import replace
from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest
from core_cases import (
    RULES,
    assert_same_bits,
    knowing,
    run_of,
    same_partition,
    settings_of,
    start_of,
    states,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import oracle
import oracle_run
from oracle import assert_agrees, size_of_terms
from strategies import labelled_counts, penalties, permutations_of, planted, priors
from threecpo import ThreeCPO
from threecpo._core import counts as counts_module
from threecpo._core.codes import (
    NOWHERE,
    UNKNOWN,
    all_relevant,
    with_fixed,
)
from threecpo._core.matrices import from_dense
from threecpo._core.one_cluster import columns_of_one_cluster
from threecpo._core.rows import RowInfo
from threecpo._core.rules import CHI_SQUARED, EXACT, PAPER
from threecpo._core.run import RunState, Settings, digest, run
from threecpo._core.sums import sum_by_labels
from threecpo._core.workers import SERIAL, Workers
from threecpo._fit.shared_pass import PendingRun, SharedPass
from threecpo._options import resolve_penalty

RULE_OBJECTS = [EXACT, PAPER, CHI_SQUARED]


def rises(Y, labels, groups, penalty, **changes):
    """By how much each half-step raises the oracle's loss, relative to its size."""
    X = Y + changes["prior"]
    size = size_of_terms(X.sum())
    loss = partial(oracle.loss, X, penalty=penalty)
    found = []
    steps = list(states(Y, labels, groups, penalty, **changes))
    for (old, before), (new, after) in pairwise(steps):
        values = [loss(old, before), loss(old, after), loss(new, after)]
        found.extend(np.diff(values) / size)
    return np.array(found)


def assert_run_equals(actual, expected, X):
    np.testing.assert_array_equal(actual.labels, expected.labels)
    np.testing.assert_array_equal(actual.groups, expected.groups)
    assert actual.converged
    size = size_of_terms(X.sum())
    assert_agrees(actual.history["loss"], expected.row_losses, size)
    assert actual.loss == actual.history["loss"][-1]


# Every two of prior, penalty and rule meet.
@pytest.mark.parametrize(
    ("prior", "penalty", "exact", "outliers"),
    [
        (1e-3, "mdl", True, False),
        (0.0, "mdl", False, True),
        (1.0, "mdl", True, True),
        (1e-3, "bic", False, True),
        (0.0, "bic", True, False),
        (1.0, "bic", False, False),
        (1e-3, None, True, True),
        (0.0, None, False, False),
        (1.0, None, True, False),
    ],
)
def test_a_run_on_planted_counts_is_the_oracles(prior, penalty, exact, outliers, seed):
    options = {"exact": exact, "outliers": outliers}
    compared = 0
    for start in range(4 * seed, 4 * seed + 4):
        Y, labels, groups = start_of(start)
        expected = oracle_run.run(Y + prior, labels, groups, penalty, **options)
        if expected.clear and expected.converged:
            actual = run_of(Y, labels, groups, penalty, prior=prior, **options)
            assert_run_equals(actual, expected, Y + prior)
            compared += 1
    assert compared >= 2


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


@settings(max_examples=180)
@given(labelled_counts(min_rows=3), priors, penalties, st.booleans(), st.data())
def test_a_run_on_awkward_counts_is_the_oracles(case, prior, penalty, outliers, data):
    """Of any rule, or with rows held in known clusters and columns in their groups."""
    assume(outliers or (case.labels >= 0).all())
    held, fixed, options = np.full(len(case.Y), -1), (), {"outliers": outliers}
    if data.draw(st.booleans()):
        held = data.draw(held_rows(case))
    elif data.draw(st.booleans()):
        options["exact"] = False
    if options.get("exact", True):
        columns = st.integers(0, case.Y.shape[1] - 1)
        fixed = data.draw(st.dictionaries(columns, st.sampled_from([1, 0, -1])))
        fixed = tuple(sorted(fixed.items()))
    # Free rows start anywhere, held ones too.
    labels = np.where(held >= 0, held, data.draw(st.permutations(case.labels)))
    X, start = case.Y + prior, (labels, with_fixed(case.groups, fixed), penalty)
    expected = oracle_run.run(X, *start, held, fixed, **options)
    assume(expected.clear and expected.converged)
    options |= {"prior": prior, "fixed_groups": fixed}
    actual = run_of(case.Y, *start, held=held, **options)
    assert_run_equals(actual, expected, X)
    assert all(actual.groups[column] == group for column, group in fixed)


@given(labelled_counts(outliers=False), priors, penalties, st.booleans(), st.data())
def test_the_loss_never_rises_and_held_rows_stay(case, prior, penalty, outliers, data):
    held = data.draw(held_rows(case))
    options = {"held": held, "prior": prior, "outliers": outliers}
    result = run_of(case.Y, case.labels, case.groups, penalty, **options)
    size = size_of_terms((case.Y + prior).sum())
    assert (np.diff(result.history["loss"]) <= 1e-9 * size).all()
    np.testing.assert_array_equal(result.labels[held >= 0], held[held >= 0])
    n_known = held.max() + 1
    assert result.numbers[:n_known].tolist() == list(range(n_known))
    sizes = np.bincount(result.labels[result.labels >= 0])
    assert (np.diff(sizes[n_known:]) <= 0).all()


def test_a_heavy_known_row_is_many_in_the_first_assignment():
    Y = np.array([[10.0, 0, 5], [0, 10, 5], [4, 6, 5], [6, 4, 5]])
    held = np.array([0, 0, 1, -1], dtype=np.int32)
    labels = np.where(held >= 0, held, NOWHERE)
    counts = from_dense(Y).with_rows(RowInfo(np.array([9.0, 1, 1, 1])))
    options = settings_of(2, None, n_known=2)
    result = run(knowing(counts, held, 2), all_relevant(3), labels, options, SERIAL)
    assert result.labels.tolist() == [0, 0, 1, 1]
    assert result.history["rows_moved"].tolist()[0] == 0


@given(labelled_counts(), priors, penalties, st.booleans(), st.booleans())
def test_every_run_is_consistent(case, prior, penalty, exact, outliers):
    """Its loss follows from labels and groups; without C1 there is one cluster."""
    assume(outliers or (case.labels >= 0).all())
    options = {"prior": prior, "exact": exact, "outliers": outliers}
    result = run_of(case.Y, case.labels, case.groups, penalty, **options)
    X = case.Y + prior
    expected = oracle.loss(X, result.labels, result.groups, penalty)
    assert_agrees(result.loss, expected, size_of_terms(X.sum()))
    assert result.sums.n_clusters == oracle.n_clusters(result.labels)
    assert result.labels.max() == result.sums.n_clusters - 1
    sizes = np.bincount(result.labels[result.labels >= 0])
    assert (np.diff(sizes) <= 0).all()
    assert len(result.history["loss"]) < 100
    if 1 not in result.groups:
        assert not result.labels.any()


@given(labelled_counts(), priors, penalties, st.booleans(), st.sampled_from([1, 0.37]))
def test_no_half_step_raises_the_loss(case, prior, penalty, outliers, fraction):
    assume(outliers or (case.labels >= 0).all())
    options = {"prior": prior, "outliers": outliers}
    Y = case.Y * fraction
    found = rises(Y, case.labels, case.groups, penalty, **options)
    assert (found <= 1e-9).all()


def test_figure_1_is_a_fixed_point_with_the_bic_price():
    Y, labels, groups = oracle.figure_1()
    result = run_of(Y, labels, groups, "bic", prior=0.0)
    assert same_partition(result.labels, labels)
    np.testing.assert_array_equal(result.groups, groups)
    assert result.converged
    assert result.history["rows_moved"].tolist() == [0]


def test_a_repeated_state_of_the_printed_rule_ends_the_run(seed):
    """Profiles that swap names send the rows to and fro for ever."""

    class Swapped:
        def profile(self, sums, groups, **options):
            sums = replace(sums, clusters=sums.clusters[::-1].copy())
            return PAPER.profile(sums, groups, **options)

    Y, labels, groups = start_of(seed)
    settled = run_of(Y, labels, groups, None, exact=False)
    result = run_of(Y, settled.labels, settled.groups, None, rule=Swapped())
    assert not result.converged
    assert 1 < len(result.history["loss"]) < 10
    assert (result.history["rows_moved"] > 0).all()
    assert result.loss == pytest.approx(settled.loss, rel=1e-12)


class TestEdges:
    @pytest.mark.parametrize("exact", [True, False])
    def test_rows_without_counts_make_no_cluster_of_their_own(self, exact):
        """Their sums are 0 / 0 of anything where there is no prior."""
        Y, labels = np.array([[0.0], [9.0], [0.0], [5.0]]), [0, 1, 0, 1]
        groups = np.ones(1, dtype=np.int8)
        result = run_of(Y, labels, groups, prior=0.0, exact=exact)
        assert result.groups.tolist() == [0]
        assert result.labels.tolist() == [0, 0, 0, 0]

    def test_an_empty_or_copied_noise_column_moves_no_row(self, seed):
        Y, labels, groups = start_of(seed)
        plain = run_of(Y, labels, groups)
        noise = np.flatnonzero(plain.groups == -1)
        assert len(noise)
        for extra in (np.zeros(len(Y)), Y[:, noise[0]]):
            wider = np.column_stack([Y, extra])
            result = run_of(wider, labels, np.append(groups, np.int8(-1)))
            assert result.groups[-1] == -1
            np.testing.assert_array_equal(result.labels, plain.labels)

    @pytest.mark.parametrize("allowed", [(1,), (1, 0), (1, -1), (1, 0, -1)])
    def test_proportional_rows_are_not_outliers(self, allowed):
        X = np.outer([3, 2, 1, 1, 2, 2], [1e6, 3])
        labels, groups = [0, 0, 0, 1, 1, 0], np.ones(2, dtype=np.int8)
        for prior in (0.0, 1e-3):
            options = {"outliers": True, "prior": prior, "allowed": allowed}
            result = run_of(X - prior, labels, groups, None, **options)
            assert (result.labels >= 0).all()
            assert np.isin(result.groups, allowed).all()


def clear_run(case, penalty, prior=1e-3, *, outliers):
    """Run these, unless rounding would decide."""
    assume(outliers or (case.labels >= 0).all())
    start = case.labels, case.groups, penalty
    assume(oracle_run.run(case.Y + prior, *start, outliers=outliers).clear)
    return run_of(case.Y, *start, outliers=outliers, prior=prior)


@settings(max_examples=100)
@given(labelled_counts(min_rows=3), penalties, st.booleans(), st.data())
def test_order_of_rows_and_columns_and_names_of_clusters_do_not_matter(
    case, penalty, outliers, data
):
    first = clear_run(case, penalty, outliers=outliers)
    rows = data.draw(permutations_of(len(case.labels)))
    columns = data.draw(permutations_of(len(case.groups)))
    names = data.draw(permutations_of(case.n_clusters))
    labels = np.where(case.labels >= 0, names[case.labels], -1)[rows]
    start = labels, case.groups[columns], penalty
    second = run_of(case.Y[rows][:, columns], *start, outliers=outliers)
    assert same_partition(second.labels, first.labels[rows])
    np.testing.assert_array_equal(second.groups, first.groups[columns])


class TestScaleInvariance:
    """The paper's theorem: without a price, a factor on X changes nothing."""

    @pytest.mark.parametrize(("exact", "outliers"), RULES)
    def test_on_planted_counts(self, exact, outliers, seed):
        start = *start_of(seed), None
        options = {"exact": exact, "outliers": outliers}
        first = run_of(*start, **options)
        for factor in (2, 1000):
            second = run_of(
                factor * start[0], *start[1:], prior=factor * 1e-3, **options
            )
            self.check(first, second)

    @given(
        labelled_counts(min_rows=3, huge=False),
        st.sampled_from([2, 7, 1000]),
        priors,
        st.booleans(),
    )
    def test_on_awkward_counts(self, case, factor, prior, outliers):
        first = clear_run(case, None, prior, outliers=outliers)
        start = case.labels, case.groups, None
        options = {"prior": factor * prior, "outliers": outliers}
        self.check(first, run_of(factor * case.Y, *start, **options))

    def check(self, first, second):
        np.testing.assert_array_equal(first.labels, second.labels)
        np.testing.assert_array_equal(first.groups, second.groups)

    def test_the_mdl_price_breaks_it(self):
        Y, labels, groups = start_of(0)
        first = run_of(Y, labels, groups, "mdl")
        second = run_of(1000 * Y, labels, groups, "mdl", prior=1.0)
        assert not np.array_equal(first.groups, second.groups)


@pytest.mark.parametrize("rule", RULE_OBJECTS, ids=lambda rule: rule.name)
def test_rows_that_are_nowhere_join_the_best_seed(rule, seed):
    """By likelihood, where chi-squared follows."""
    Y, _, groups = start_of(seed)
    options = {"rule": rule}
    if rule is CHI_SQUARED:
        groups = np.ones(Y.shape[1], dtype=np.int8)
        options |= {"allowed": (1,), "penalty": None}
    labels = np.full(len(Y), NOWHERE)
    labels[[3, 7, 20]] = [0, 1, 2]
    exact = rule is not PAPER
    scores = oracle.row_scores(Y + 1e-3, labels, groups, exact=exact)
    first = run_of(Y, labels, groups, **options)
    second = run_of(Y, scores.argmax(axis=1), groups, **options)
    assert_same_bits(first, second)


def test_empty_clusters_of_a_start_have_no_price(seed):
    Y, labels, groups = start_of(seed)
    settings = settings_of(9)
    with Workers(1) as workers:
        sparse = run(from_dense(Y), groups, 4 * (labels % 2), settings, workers)
    dense = run_of(Y, labels % 2, groups)
    assert_same_bits(sparse, dense)


@pytest.mark.parametrize("rule", RULE_OBJECTS, ids=lambda rule: rule.name)
def test_equals_itself_after_pickling_and_no_other(rule):
    other = pickle.loads(pickle.dumps(rule))
    assert [each == other for each in RULE_OBJECTS] == [
        each is rule for each in RULE_OBJECTS
    ]


class TestThreadsAndBlocks:
    @pytest.fixture(autouse=True)
    def _several_blocks(self, monkeypatch):
        monkeypatch.setattr(counts_module, "BLOCK_COUNTS", 50)

    @pytest.mark.parametrize("fractional", [False, True])
    @pytest.mark.parametrize("kind", ["outliers", "paper", "held"])
    def test_any_number_of_threads_gives_the_same_bits(self, fractional, kind, seed):
        Y, labels, groups = start_of(seed, n_rows=200, fractional=fractional)
        assert len(from_dense(Y).blocks) > 8
        options = {
            "outliers": {"outliers": True},
            "paper": {"exact": False},
            "held": {"held": np.where(np.arange(200) % 7 == 0, labels, -1)},
        }[kind]
        results = [run_of(Y, labels, groups, n_jobs=n, **options) for n in (1, 2, 4)]
        assert_same_bits(results[0], results[1])
        assert_same_bits(results[0], results[2])


def test_the_history_adds_up(seed):
    Y, labels, groups = start_of(seed)
    history = run_of(Y, labels, groups).history
    assert history["rows_moved"][-1] == 0
    for group, name in ((1, "relevant"), (0, "shared"), (-1, "noise")):
        sizes = np.append(np.sum(groups == group), history[name])
        change = history[f"into_{name}"] - history[f"out_of_{name}"]
        np.testing.assert_array_equal(np.diff(sizes), change)
    steps = list(states(Y, labels, groups, "mdl", prior=1e-3))
    sizes = [np.sum(now == 1) for _, now in steps[1:]]
    assert history["relevant"].tolist() == sizes

    @pytest.mark.parametrize("fractional", [False, True])
    def test_block_size_changes_rounding_only(self, fractional, seed, monkeypatch):
        start = start_of(seed, n_rows=200, fractional=fractional)
        first = run_of(*start, n_jobs=2, outliers=True)
        for size in (13, 200, 10**9):
            monkeypatch.setattr(counts_module, "BLOCK_COUNTS", size)
            second = run_of(*start, n_jobs=2, outliers=True)
            np.testing.assert_array_equal(first.labels, second.labels)
            np.testing.assert_array_equal(first.groups, second.groups)
            assert first.loss == pytest.approx(second.loss, rel=1e-12)


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
def summed(seed):
    """Sums of the planted clusters."""
    Y, labels = planted(np.random.default_rng(seed), 120)
    return sum_by_labels(from_dense(Y), labels.astype(np.int32), 3, GROUPS, 1e-3)


def settled_from(summed):
    """A run whose groups no longer change."""
    running = RunState(summed, GROUPS, SETTINGS)
    while not running.finished:
        running.take(running.sums.copy(), None)
    settled_from = RunState(summed, running.groups, SETTINGS)
    np.testing.assert_array_equal(settled_from.step.groups, settled_from.groups)
    return settled_from


def moved_one(sums):
    """The same sizes, but two rows have changed places."""
    other = sums.copy()
    other.table[0, 0] += 1
    other.table[1, 0] -= 1
    return other


def test_sums_and_groups_that_repeat_are_a_fixed_point(summed):
    running = settled_from(summed)
    running.take(running.sums.copy(), None)
    assert running.converged
    assert running.lines[-1]["rows_moved"] == 0


def test_groups_that_settle_on_the_same_sums_need_no_further_pass(summed):
    running = RunState(summed, GROUPS[::-1].copy(), SETTINGS)
    while not running.finished:
        assert not np.array_equal(running.step.groups, running.groups)
        running.take(running.sums.copy(), 0)
    assert running.converged
    last = running.lines[-1]
    assert last["into_relevant"] + last["into_shared"] + last["into_noise"] > 0
    assert last["rows_moved"] == 0


def test_sizes_that_repeat_are_none(summed):
    running = settled_from(summed)
    running.take(moved_one(running.sums), None)
    assert not running.converged
    assert running.lines[-1]["rows_moved"] == UNKNOWN


def test_rows_that_moved_without_changing_sums_are_a_fixed_point(summed):
    running = settled_from(summed)
    running.take(running.sums.copy(), 4)
    assert running.converged


def test_a_cluster_that_empties_is_dropped_from_what_was_behind_too(summed):
    running = settled_from(summed)
    other = running.sums.copy()
    other.table[0] += other.table[2]
    other.members[0] += other.members[2]
    other.table[2], other.members[2] = 0, 0
    assert running.take(other, None).tolist() == [0, 1]
    assert running.sums.n_clusters == running.previous_sums.n_clusters == 2


def test_a_request_asks_for_u_only_where_the_columns_in_use_change(summed):
    running = settled_from(summed)
    assert not running.request.with_sizes
    changed = running.step.groups.copy()
    changed[0] = -1
    running.step = replace(running.step, groups=changed)
    assert running.request.with_sizes


def shared_of(*runs, ended):
    pending = [
        PendingRun(GROUPS, running=run, loss=float(i), ended=i in ended)
        for i, run in enumerate(runs)
    ]
    return SharedPass(pending, SETTINGS, runs[0].sums)


def test_states_differ_wherever_sums_sizes_or_groups_do(summed):
    members = summed.copy()
    members.members[0] += 1
    states = {
        digest(summed, GROUPS),
        digest(moved_one(summed), GROUPS),
        digest(members, GROUPS),
        digest(summed, GROUPS[::-1].copy()),
    }
    assert len(states) == 4
    assert digest(summed.copy(), GROUPS.copy()) in states


def test_only_runs_of_the_same_state_become_one(summed):
    runs = [
        RunState(each, GROUPS, SETTINGS)
        for each in (summed, moved_one(summed), summed.copy())
    ]
    shared = shared_of(*runs, ended=())
    shared._end(range(3))
    assert [run.same_as for run in shared.runs] == [None, None, 0]
    assert [run.ended for run in shared.runs] == [False, False, True]
    np.testing.assert_array_equal(shared.losses, [0.0, 1.0, 0.0])


def test_the_best_that_ended_keeps_its_sums_while_others_run(summed):
    """A rule without guarantee may end the others above it."""
    runs = [RunState(summed, GROUPS, SETTINGS) for _ in range(3)]
    shared = shared_of(*runs, ended={1, 2})
    shared._end([0])
    assert [run.running is None for run in shared.runs] == [False, False, True]


def independent(seed):
    """Independent Poisson columns: no column follows the row sizes but its own."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = rng.integers(8, 60), rng.integers(3, 8)
    return rng.poisson(rng.gamma(1, 2, n_columns), (n_rows, n_columns)).astype(float)


def lowest_loss(Y, settings, fixed=None, **rows):
    """Lowest loss over all choices of columns that are in use."""
    counts = from_dense(Y)
    counts = counts.with_rows(replace(counts.row_info, **rows))
    labels, losses = np.zeros(len(Y), np.int32), []
    for each in product([-1, 0], repeat=Y.shape[1]):
        groups = np.array(each, dtype=np.int8)
        if any(groups[j] != group for j, group in (fixed or {}).items()):
            continue
        sums = sum_by_labels(counts, labels, 1, groups, settings.prior)
        scores = settings.column_step(sums.smoothed(settings.prior), groups).scores
        losses.append(-scores[np.arange(len(groups)), groups + 1].sum())
    return min(losses)


@pytest.mark.parametrize("seed", range(12))
def test_no_choice_of_columns_has_a_lower_loss(seed):
    """Without a prior; rows count several times in some tables, columns are held."""
    Y, options, given, rows = independent(seed), {"prior": 0.0}, {}, {}
    if seed % 3 == 1:
        given["sample_weight"] = np.random.default_rng(seed).integers(1, 5, len(Y))
        rows["weights"] = given["sample_weight"].astype(float)
    if seed % 3 == 2:
        options["fixed_groups"] = {0: 0, 2: -1}
    fit = ThreeCPO(1, random_state=0, **options).fit(Y, **given)
    best = lowest_loss(Y, fit.record_.settings, options.get("fixed_groups"), **rows)
    assert fit.loss_ == pytest.approx(best, abs=1e-6)
    assert fit.refine(Y, **given).loss_ <= fit.loss_ + 1e-9


def test_batches_have_sizes_of_their_own():
    """Rows that are larger in one batch do not make columns follow them."""
    Y = independent(3)
    batches = (np.arange(len(Y)) % 2).astype(np.int32)
    Y[batches == 1] *= 7
    counts, every = from_dense(Y), all_relevant(Y.shape[1])
    info = replace(counts.row_info, batches=batches, batch_names=("a", "b"))
    assert (columns_of_one_cluster(counts, every, []) == 1).all()
    assert (columns_of_one_cluster(counts.with_rows(info), every, []) == -1).any()
