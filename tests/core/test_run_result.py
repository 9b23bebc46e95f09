"""What a run tells of its end and of the way there."""

import numpy as np
import pytest
from planted_runs import RULES, rule_of, run_of, settings_of, start_of, states

import oracle
from threecpo._core import rules
from threecpo._core.codes import OUTLIER, inner_labels
from threecpo._core.matrices import from_dense
from threecpo._core.rules import EXACT
from threecpo._core.run import run
from threecpo._core.sums import sum_by_labels
from threecpo._core.workers import Workers


class TestResult:
    @pytest.mark.parametrize(
        ("max_iter", "exact", "outliers"),
        [(1, *RULES[1]), (2, *RULES[0]), (1, *RULES[2]), (100, *RULES[3])],
    )
    def test_its_profile_gives_its_labels(self, max_iter, exact, outliers, seed):
        Y, labels, groups = start_of(seed)
        options = {"exact": exact, "outliers": outliers, "max_iter": max_iter}
        result = run_of(Y, labels, groups, **options)
        profile = rule_of(exact=exact).profile(
            result.profile_sums.smoothed(1e-3),
            result.groups,
            background=True,
            ranks=result.ranks,
        )
        with Workers(1) as workers:
            rows = rules.describe(from_dense(Y), profile, workers)
        outlier = (rows.outlier_scores > 0) & outliers
        found = np.where(outlier, OUTLIER, rows.nearest)
        np.testing.assert_array_equal(found, result.labels)

    def test_describes_rows_as_the_oracle_does(self, seed):
        Y, labels, groups = start_of(seed)
        result = run_of(Y, labels, groups, None, outliers=True)
        X, smoothed = Y + 1e-3, result.sums.smoothed(1e-3)
        profile = EXACT.profile(smoothed, result.groups, background=True)
        with Workers(1) as workers:
            description = rules.describe(from_dense(Y), profile, workers)
            scores = rules.scores(from_dense(Y), profile, workers)
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
        np.testing.assert_allclose(description.row_sizes, sizes, rtol=1e-12)

    def test_its_sums_are_those_of_its_labels(self, seed):
        Y, labels, groups = start_of(seed)
        result = run_of(Y, labels, groups, outliers=True)
        n_clusters = result.sums.n_clusters
        final = inner_labels(result.labels, n_clusters)
        scratch = sum_by_labels(from_dense(Y), final, n_clusters, result.groups, 1e-3)
        np.testing.assert_array_equal(result.sums.table, scratch.table)
        np.testing.assert_array_equal(result.sums.members, scratch.members)

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
