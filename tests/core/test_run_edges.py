"""Runs from odd starts and on odd counts."""

import numpy as np
import pytest
from planted_runs import assert_same_bits, run_of, settings_of, start_of

import oracle
from threecpo._core.codes import NOWHERE
from threecpo._core.matrices import from_dense
from threecpo._core.run import run
from threecpo._core.workers import Workers


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
