from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import oracle
from oracle import assert_agrees, size_of_terms
from strategies import (
    PENALTIES,
    PRIORS,
    Labelled,
    labelled_counts,
    penalties,
    permutations_of,
    planted,
    priors,
)
from threecpo._core import counts as counts_module
from threecpo._core import model, rows, seeding
from threecpo._core.counts import from_dense
from threecpo._core.kernels import NOWHERE
from threecpo._core.run import Settings, run
from threecpo._core.search import Starts, best_of, restarts
from threecpo._core.statistics import Workers, sum_by_labels
from threecpo._options import resolve_penalty

FIRST = np.array([1, 1, 1, 1, -1, 1, -1, -1], dtype=np.int8)
RULES = [(True, False), (True, True), (False, False), (False, True)]


def settings_of(n_clusters, penalty="mdl", **changes):
    options = {
        "max_iter": 100,
        "allowed": (1, 0, -1),
        "exact": True,
        "outliers": False,
        "threshold": 0.0,
        "prior": 1e-3,
    }
    options |= changes
    return Settings(
        n_clusters=n_clusters,
        penalty=resolve_penalty(penalty),
        groups=options.pop("allowed"),
        **options,
    )


def run_of(Y, labels, groups, penalty="mdl", n_jobs=1, **changes):
    settings = settings_of(max(int(np.max(labels)) + 1, 1), penalty, **changes)
    with Workers(n_jobs) as workers:
        return run(from_dense(Y), groups, np.asarray(labels), settings, workers)


def states(Y, labels, groups, penalty, **changes):
    """Labels and groups at the start and after every iteration."""
    end = run_of(Y, labels, groups, penalty, **changes)
    yield labels, groups
    for n_iter in range(1, len(end.history["loss"]) + 1):
        result = run_of(Y, labels, groups, penalty, **changes | {"max_iter": n_iter})
        yield result.labels, result.groups


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


def same_partition(first, second):
    """Labels agree up to the names of clusters."""
    pairs = {(a, b) for a, b in zip(first, second, strict=True)}
    return len(pairs) == len(np.unique(first)) == len(np.unique(second)) and all(
        (a == -1) == (b == -1) for a, b in pairs
    )


def start_of(seed, *, n_rows=40, fractional=False):
    """Counts, the clusters behind them with every third row astray, first groups."""
    rng = np.random.default_rng(seed)
    Y, labels = planted(rng, n_rows, fractional=fractional)
    labels[::3] = rng.integers(3, size=len(labels[::3]))
    return Y, labels, FIRST


def case_of(start):
    return Labelled(*start, n_clusters=3)


class TestOracle:
    @pytest.mark.parametrize("prior", PRIORS)
    @pytest.mark.parametrize("penalty", PENALTIES)
    @pytest.mark.parametrize(("exact", "outliers"), RULES)
    def test_a_run_on_planted_counts(self, prior, penalty, exact, outliers, seed):
        options = {"exact": exact, "outliers": outliers}
        compared = 0
        for start in range(4 * seed, 4 * seed + 4):
            Y, labels, groups = start_of(start)
            expected = oracle.run(Y + prior, labels, groups, penalty, **options)
            if expected.clear and expected.converged:
                actual = run_of(Y, labels, groups, penalty, prior=prior, **options)
                self.check(actual, expected, Y + prior)
                compared += 1
        assert compared >= 2

    @given(labelled_counts(min_rows=3), priors, penalties, st.booleans(), st.booleans())
    def test_a_run_on_awkward_counts(self, case, prior, penalty, exact, outliers):
        assume(outliers or (case.labels >= 0).all())
        options = {"exact": exact, "outliers": outliers}
        X = case.Y + prior
        expected = oracle.run(X, case.labels, case.groups, penalty, **options)
        assume(expected.clear and expected.converged)
        actual = run_of(
            case.Y, case.labels, case.groups, penalty, prior=prior, **options
        )
        self.check(actual, expected, X)

    def check(self, actual, expected, X):
        np.testing.assert_array_equal(actual.labels, expected.labels)
        np.testing.assert_array_equal(actual.groups, expected.groups)
        assert actual.converged
        size = size_of_terms(X.sum())
        assert_agrees(actual.history["loss"], expected.row_losses, size)
        assert actual.loss == actual.history["loss"][-1]


@given(labelled_counts(), priors, penalties, st.booleans(), st.booleans())
def test_loss_follows_from_labels_and_groups_alone(
    case, prior, penalty, exact, outliers
):
    assume(outliers or (case.labels >= 0).all())
    options = {"prior": prior, "exact": exact, "outliers": outliers}
    result = run_of(case.Y, case.labels, case.groups, penalty, **options)
    X = case.Y + prior
    expected = oracle.loss(X, result.labels, result.groups, penalty)
    assert_agrees(result.loss, expected, size_of_terms(X.sum()))
    assert result.statistics.n_clusters == oracle.n_clusters(result.labels)
    assert result.labels.max() == result.statistics.n_clusters - 1
    sizes = np.bincount(result.labels[result.labels >= 0])
    assert (np.diff(sizes) <= 0).all()


class TestMonotone:
    @given(labelled_counts(), priors, penalties, st.booleans())
    def test_on_awkward_counts(self, case, prior, penalty, outliers):
        assume(outliers or (case.labels >= 0).all())
        options = {"prior": prior, "outliers": outliers}
        found = rises(case.Y, case.labels, case.groups, penalty, **options)
        assert (found <= 1e-9).all()

    @given(labelled_counts(huge=False), penalties, st.booleans(), st.floats(0.01, 0.99))
    def test_on_fractional_values(self, case, penalty, outliers, fraction):
        assume(outliers or (case.labels >= 0).all())
        Y = case.Y * fraction
        options = {"prior": 1e-3, "outliers": outliers}
        found = rises(Y, case.labels, case.groups, penalty, **options)
        assert (found <= 1e-9).all()

    @pytest.mark.parametrize("outliers", [False, True])
    @pytest.mark.parametrize("fractional", [False, True])
    @pytest.mark.parametrize("penalty", PENALTIES)
    def test_on_planted_counts(self, seed, outliers, fractional, penalty):
        Y, labels, groups = start_of(seed, fractional=fractional)
        options = {"prior": 1e-3, "outliers": outliers}
        found = rises(Y, labels, groups, penalty, **options)
        assert (found <= 1e-9).all()
        assert (found < -1e-6).any()

    def test_only_the_printed_rule_raises_the_loss(self):
        raised = {True: 0, False: 0}
        for seed in range(60):
            rng = np.random.default_rng(seed)
            Y = rng.poisson(rng.gamma(1.0, 4.0, size=(12, 6))).astype(float)
            labels, groups = rng.integers(3, size=12), rng.choice([1, 0, -1], size=6)
            groups = np.append(groups[1:], 1).astype(np.int8)
            for exact, times in raised.items():
                options = {"prior": 1e-3, "exact": exact}
                found = rises(Y, labels, groups, None, **options)
                raised[exact] = times + bool((found > 1e-9).any())
        assert raised[True] == 0
        assert raised[False] > 0


class TestPermutations:
    @given(labelled_counts(min_rows=3), penalties, st.booleans(), st.data())
    def test_of_rows(self, case, penalty, outliers, data):
        first = self.clear_run(case, penalty, outliers)
        order = data.draw(permutations_of(len(case.labels)))
        second = run_of(
            case.Y[order], case.labels[order], case.groups, penalty, outliers=outliers
        )
        np.testing.assert_array_equal(second.labels, first.labels[order])
        np.testing.assert_array_equal(second.groups, first.groups)

    @given(labelled_counts(min_rows=3), penalties, st.booleans(), st.data())
    def test_of_columns(self, case, penalty, outliers, data):
        first = self.clear_run(case, penalty, outliers)
        order = data.draw(permutations_of(len(case.groups)))
        second = run_of(
            case.Y[:, order],
            case.labels,
            case.groups[order],
            penalty,
            outliers=outliers,
        )
        np.testing.assert_array_equal(second.labels, first.labels)
        np.testing.assert_array_equal(second.groups, first.groups[order])

    @given(labelled_counts(min_rows=3), penalties, st.booleans(), st.data())
    def test_of_cluster_names(self, case, penalty, outliers, data):
        first = self.clear_run(case, penalty, outliers)
        names = data.draw(permutations_of(case.n_clusters))
        labels = np.where(case.labels >= 0, names[case.labels], -1)
        second = run_of(case.Y, labels, case.groups, penalty, outliers=outliers)
        assert same_partition(first.labels, second.labels)
        np.testing.assert_array_equal(second.groups, first.groups)

    def clear_run(self, case, penalty, outliers):
        """Run these, unless rounding would decide."""
        assume(outliers or (case.labels >= 0).all())
        start = case.labels, case.groups, penalty
        assume(oracle.run(case.Y + 1e-3, *start, outliers=outliers).clear)
        return run_of(case.Y, *start, outliers=outliers)


class TestScaleInvariance:
    """The paper's theorem: without a price, a factor on X changes nothing."""

    @pytest.mark.parametrize("factor", [2, 7, 1000])
    @pytest.mark.parametrize(("exact", "outliers"), RULES)
    def test_on_planted_counts(self, factor, exact, outliers, seed):
        self.check(case_of(start_of(seed)), factor, 1e-3, exact, outliers)

    @given(
        labelled_counts(min_rows=3, huge=False),
        st.sampled_from([2, 7, 1000]),
        priors,
        st.booleans(),
    )
    def test_on_awkward_counts(self, case, factor, prior, outliers):
        assume(outliers or (case.labels >= 0).all())
        X = case.Y + prior
        clear = oracle.run(X, case.labels, case.groups, None, outliers=outliers).clear
        assume(clear)
        self.check(case, factor, prior, True, outliers)

    def check(self, case, factor, prior, exact, outliers):
        options = {"exact": exact, "outliers": outliers}
        start = case.labels, case.groups, None
        first = run_of(case.Y, *start, prior=prior, **options)
        second = run_of(factor * case.Y, *start, prior=factor * prior, **options)
        np.testing.assert_array_equal(first.labels, second.labels)
        np.testing.assert_array_equal(first.groups, second.groups)

    def test_the_mdl_price_breaks_it(self):
        Y, labels, groups = start_of(0)
        first = run_of(Y, labels, groups, "mdl")
        second = run_of(1000 * Y, labels, groups, "mdl", prior=1.0)
        assert not np.array_equal(first.groups, second.groups)


def assert_same_bits(first, second):
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.groups, second.groups)
    np.testing.assert_array_equal(first.column_scores, second.column_scores)
    np.testing.assert_array_equal(first.statistics.sums, second.statistics.sums)
    assert first.loss == second.loss
    for key, values in first.history.items():
        np.testing.assert_array_equal(values, second.history[key])


class TestThreadsAndBlocks:
    @pytest.fixture(autouse=True)
    def _several_blocks(self, monkeypatch):
        monkeypatch.setattr(counts_module, "BLOCK_COUNTS", 50)

    @pytest.mark.parametrize("fractional", [False, True])
    @pytest.mark.parametrize(("exact", "outliers"), RULES)
    def test_any_number_of_threads_gives_the_same_bits(
        self, fractional, exact, outliers, seed
    ):
        start = start_of(seed, n_rows=200, fractional=fractional)
        assert len(from_dense(start[0]).blocks) > 8
        options = {"exact": exact, "outliers": outliers}
        results = [run_of(*start, n_jobs=n, **options) for n in (1, 2, 4)]
        assert_same_bits(results[0], results[1])
        assert_same_bits(results[0], results[2])

    @pytest.mark.parametrize("fractional", [False, True])
    @pytest.mark.parametrize("size", [13, 200, 10**9])
    def test_block_size_changes_rounding_only(
        self, fractional, size, seed, monkeypatch
    ):
        start = start_of(seed, n_rows=200, fractional=fractional)
        first = run_of(*start, n_jobs=2, outliers=True)
        monkeypatch.setattr(counts_module, "BLOCK_COUNTS", size)
        second = run_of(*start, n_jobs=2, outliers=True)
        np.testing.assert_array_equal(first.labels, second.labels)
        np.testing.assert_array_equal(first.groups, second.groups)
        assert first.loss == pytest.approx(second.loss, rel=1e-12)

    @pytest.mark.parametrize("n_seeds", [1, 2, 5])
    @pytest.mark.parametrize("n_jobs", [2, 4])
    def test_restarts_on_any_number_of_threads(self, n_seeds, n_jobs, seed):
        first, losses = self.best_with(n_seeds, 1, seed)
        second, other_losses = self.best_with(n_seeds, n_jobs, seed)
        assert losses == other_losses
        assert_same_bits(first, second)

    def test_more_restarts_keep_the_first_ones_and_the_best(self, seed):
        result, losses = self.best_with(6, 2, seed)
        _, fewer = self.best_with(3, 1, seed)
        assert losses[:3] == fewer
        assert result.loss == min(losses)

    def best_with(self, n_seeds, n_jobs, seed):
        Y, _, _ = start_of(seed, n_rows=200)
        counts = from_dense(Y)
        groups = seeding.most_informative(seeding.column_information(counts, 1e-3))
        make = partial(seeding.poisson_plus_plus, prior=1e-3)
        seeds = np.random.SeedSequence(seed).spawn(n_seeds)
        with Workers(n_jobs) as workers:
            starts = Starts(counts, groups, make)
            (runs,) = restarts(starts, [settings_of(4)], seeds, workers)
        return best_of(runs), [each.loss for each in runs]


class TestFigure1:
    def test_is_a_fixed_point_with_the_bic_price(self):
        Y, labels, groups = oracle.figure_1()
        result = run_of(Y, labels, groups, "bic", prior=0.0)
        assert same_partition(result.labels, labels)
        np.testing.assert_array_equal(result.groups, groups)
        assert result.converged
        assert result.history["rows_moved"].tolist() == [0]

    def test_is_no_fixed_point_with_the_mdl_price(self):
        Y, labels, groups = oracle.figure_1()
        result = run_of(Y, labels, groups, "mdl", prior=0.0, max_iter=1)
        assert not np.array_equal(result.groups, groups)


class TestPrintedRule:
    def test_a_repeated_state_ends_the_run(self, monkeypatch, seed):
        """Profiles that swap names send the rows to and fro for ever."""
        original = model.profile

        def swapped(sums, groups, **options):
            sums = replace(sums, clusters=sums.clusters[::-1].copy())
            return original(sums, groups, **options)

        Y, labels, groups = start_of(seed)
        settled = run_of(Y, labels, groups, None, exact=False)
        monkeypatch.setattr(model, "profile", swapped)
        result = run_of(Y, settled.labels, settled.groups, None, exact=False)
        assert not result.converged
        assert 1 < len(result.history["loss"]) < 10
        assert (result.history["rows_moved"] > 0).all()
        assert result.loss == pytest.approx(settled.loss, rel=1e-12)

    @given(labelled_counts(), priors, penalties, st.booleans())
    def test_always_ends(self, case, prior, penalty, outliers):
        assume(outliers or (case.labels >= 0).all())
        options = {"prior": prior, "exact": False, "outliers": outliers}
        result = run_of(case.Y, case.labels, case.groups, penalty, **options)
        assert len(result.history["loss"]) < 100
        if result.converged:
            self.check_fixed_point(case.Y + prior, result, penalty, outliers)

    def check_fixed_point(self, X, result, penalty, outliers):
        labels, groups = result.labels, result.groups
        rule = {"exact": False, "outliers": outliers}
        scores = oracle.column_scores(X, labels, groups, penalty)
        best = oracle.choose_groups(scores, oracle.tolerance(X, groups))
        clear = oracle.clear_columns(X, labels, groups, penalty)
        np.testing.assert_array_equal(groups[clear], best[clear])
        best = oracle.assign(X, labels, groups, **rule)
        clear = oracle.clear_rows(X, labels, groups, **rule)
        np.testing.assert_array_equal(labels[clear], best[clear])


class TestStart:
    def test_rows_that_are_nowhere_join_the_best_seed(self, seed):
        for exact in (True, False):
            Y, _, groups = start_of(seed)
            labels = np.full(len(Y), NOWHERE)
            labels[[3, 7, 20]] = [0, 1, 2]
            scores = oracle.row_scores(Y + 1e-3, labels, groups, exact=exact)
            joined = scores.argmax(axis=1)
            first = run_of(Y, labels, groups, exact=exact)
            second = run_of(Y, joined, groups, exact=exact)
            assert_same_bits(first, second)

    def test_labels_and_groups_given_are_not_changed(self, seed):
        Y, labels, groups = start_of(seed)
        copies = labels.copy(), groups.copy()
        run_of(Y, labels, groups)
        np.testing.assert_array_equal(labels, copies[0])
        np.testing.assert_array_equal(groups, copies[1])

    def test_empty_clusters_of_a_start_have_no_price(self, seed):
        Y, labels, groups = start_of(seed)
        settings = settings_of(9)
        with Workers(1) as workers:
            sparse = run(from_dense(Y), groups, 4 * (labels % 2), settings, workers)
        dense = run_of(Y, labels % 2, groups)
        assert_same_bits(sparse, dense)


class TestEdges:
    def test_structureless_columns_leave_one_cluster(self):
        Y = np.full((8, 3), 5.0)
        labels = np.arange(8) % 3
        result = run_of(Y, labels, np.ones(3, dtype=np.int8))
        assert result.groups.tolist() == [-1, -1, -1]
        assert result.labels.tolist() == [0] * 8
        assert result.statistics.n_clusters == 1

    @given(labelled_counts(), priors, penalties, st.booleans(), st.booleans())
    def test_without_relevant_columns_all_rows_are_one_cluster(
        self, case, prior, penalty, exact, outliers
    ):
        assume(outliers or (case.labels >= 0).all())
        options = {"prior": prior, "exact": exact, "outliers": outliers}
        result = run_of(case.Y, case.labels, case.groups, penalty, **options)
        if 1 not in result.groups:
            assert result.labels.tolist() == [0] * len(case.Y)

    @pytest.mark.parametrize("exact", [True, False])
    def test_rows_without_counts_make_no_cluster_of_their_own(self, exact):
        """Their sums are 0 / 0 of anything where there is no prior."""
        Y, labels = np.array([[0.0], [9.0], [0.0], [5.0]]), [0, 1, 0, 1]
        groups = np.ones(1, dtype=np.int8)
        result = run_of(Y, labels, groups, prior=0.0, exact=exact)
        assert result.groups.tolist() == [0]
        assert result.labels.tolist() == [0, 0, 0, 0]

    @pytest.mark.parametrize("penalty", PENALTIES)
    def test_one_cluster_needs_no_relevant_column(self, penalty, seed):
        Y, labels, groups = start_of(seed)
        result = run_of(Y, np.zeros_like(labels), groups, penalty)
        assert 1 not in result.groups
        assert result.converged

    @pytest.mark.parametrize("prior", PRIORS)
    @pytest.mark.parametrize("outliers", [False, True])
    @pytest.mark.parametrize("shape", [(1, 1), (1, 4), (5, 1), (6, 3)])
    def test_no_counts_at_all(self, prior, outliers, shape):
        labels = np.arange(shape[0]) % 2
        groups = np.ones(shape[1], dtype=np.int8)
        options = {"prior": prior, "outliers": outliers}
        result = run_of(np.zeros(shape), labels, groups, **options)
        assert result.labels.tolist() == [0] * shape[0]
        assert np.isfinite(result.loss)

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

    def test_well_separated_clusters_are_recovered(self, seed):
        rng = np.random.default_rng(seed)
        truth = np.arange(60) % 3
        sizes = rng.integers(1, 4, size=60)
        profiles = 60.0 * np.eye(3)[truth] + 5
        Y = np.column_stack(
            [
                rng.poisson(sizes[:, None] * profiles),
                rng.poisson(np.outer(sizes, [60, 80])),
                rng.poisson(30, size=(60, 2)),
            ]
        ).astype(float)
        labels = truth.copy()
        labels[::4] = rng.integers(3, size=15)
        result = run_of(Y, labels, np.ones(7, dtype=np.int8))
        assert same_partition(result.labels, truth)
        assert result.groups.tolist() == [1, 1, 1, 0, 0, -1, -1]

    @pytest.mark.parametrize("allowed", [(1, 0), (1, -1), (1,)])
    def test_columns_stay_in_the_groups_allowed(self, allowed, seed):
        Y, labels, _ = start_of(seed)
        groups = np.ones(Y.shape[1], dtype=np.int8)
        result = run_of(Y, labels, groups, allowed=allowed)
        assert np.isin(result.groups, allowed).all()

    def test_a_higher_threshold_gives_no_more_outliers(self):
        Y, labels, groups = start_of(3)
        found = [
            np.sum(run_of(Y, labels, groups, outliers=True, threshold=t).labels == -1)
            for t in (0.0, 2.0, 1e9)
        ]
        assert found[0] > found[2] == 0
        assert found[0] >= found[1]

    @pytest.mark.parametrize("allowed", [(1,), (1, 0), (1, -1), (1, 0, -1)])
    @pytest.mark.parametrize("prior", [0.0, 1e-3])
    def test_proportional_rows_are_no_outliers(self, prior, allowed):
        X = np.outer([3, 2, 1, 1, 2, 2], [1e6, 3])
        labels, groups = [0, 0, 0, 1, 1, 0], np.ones(2, dtype=np.int8)
        options = {"outliers": True, "prior": prior, "allowed": allowed}
        result = run_of(X - prior, labels, groups, None, **options)
        assert (result.labels >= 0).all()


class TestResult:
    @pytest.mark.parametrize("max_iter", [1, 2, 100])
    @pytest.mark.parametrize(("exact", "outliers"), RULES)
    def test_its_profile_gives_its_labels(self, max_iter, exact, outliers, seed):
        Y, labels, groups = start_of(seed)
        options = {"exact": exact, "outliers": outliers, "max_iter": max_iter}
        result = run_of(Y, labels, groups, **options)
        fitted = rows.Fitted(
            result.statistics,
            result.profile_statistics,
            result.groups,
            result.ranks,
            1e-3,
            exact,
            0.0,
            "iterative" if outliers else None,
        )
        with Workers(1) as workers:
            description = rows.describe(from_dense(Y), fitted.profile(), workers)
        np.testing.assert_array_equal(fitted.labels(description), result.labels)

    def test_describes_rows_as_the_oracle_does(self, seed):
        Y, labels, groups = start_of(seed)
        result = run_of(Y, labels, groups, None, outliers=True)
        X, sums = Y + 1e-3, model.Sums.of(result.statistics, 1e-3)
        profile = model.profile(sums, result.groups, background=True)
        with Workers(1) as workers:
            description = rows.describe(from_dense(Y), profile, workers)
            scores = rows.scores(from_dense(Y), profile, workers)
        expected = oracle.row_scores(X, result.labels, result.groups, exact=True)
        background = oracle.background(X, result.groups, exact=True)
        ordered = np.sort(expected, axis=1)
        np.testing.assert_allclose(scores, expected, rtol=1e-11)
        np.testing.assert_array_equal(description.nearest, expected.argmax(axis=1))
        excess = background - ordered[:, -1]
        np.testing.assert_allclose(description.outlier_scores, excess, atol=1e-9)
        margins = ordered[:, -1] - ordered[:, -2]
        np.testing.assert_allclose(description.margins, margins, atol=1e-9)
        sizes = X[:, result.groups >= 0].sum(axis=1)
        np.testing.assert_allclose(description.sizes, sizes, rtol=1e-12)

    def test_its_sums_are_those_of_its_labels(self, seed):
        Y, labels, groups = start_of(seed)
        result = run_of(Y, labels, groups, outliers=True)
        n_clusters = result.statistics.n_clusters
        final = np.where(result.labels == -1, n_clusters, result.labels)
        scratch = sum_by_labels(
            from_dense(Y), final.astype(np.int32), n_clusters, result.groups, 1e-3
        )
        np.testing.assert_array_equal(result.statistics.sums, scratch.sums)
        np.testing.assert_array_equal(result.statistics.sizes, scratch.sizes)

    def test_its_groups_are_the_best_of_its_column_scores(self, seed):
        result = run_of(*start_of(seed))
        best = result.column_scores.max(axis=1)
        own = result.column_scores[np.arange(len(best)), result.groups + 1]
        np.testing.assert_allclose(own, best, rtol=1e-11)
        expected = oracle.column_scores(
            start_of(seed)[0] + 1e-3, result.labels, result.groups, "mdl"
        )
        np.testing.assert_allclose(result.column_scores, expected, rtol=1e-11)

    def test_its_history_adds_up(self, seed):
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

    def test_reports_every_iteration(self, seed):
        Y, labels, groups = start_of(seed)
        told = []
        with Workers(1) as workers:
            result = run(
                from_dense(Y),
                groups,
                labels,
                settings_of(3),
                workers,
                lambda *entry: told.append(entry),
            )
        assert [n for n, _, _ in told] == list(range(1, len(told) + 1))
        losses = [entry["loss"] for _, entry, _ in told]
        assert losses == result.history["loss"].tolist()
        assert [end for _, _, end in told] == [False] * (len(told) - 1) + [True]
