"""The paper's example, its figure 1, to the digits printed."""

import numpy as np
import pytest
from model_cases import column_step, row_scales, sums_of

import oracle
from strategies import Labelled
from threecpo._core import model


class TestFigure1:
    Y, labels, groups = oracle.figure_1()
    case = Labelled(Y, labels, groups, 3)

    @property
    def rates(self):
        return model.rates(sums_of(self.case, 0.0), self.groups)

    @property
    def scales(self):
        return row_scales(self.case, 0.0)

    def test_row_scales(self):
        printed = [0.02, 0.06, 0.06, 0.16, 0.14, 0.04, 0.18, 0.14, 0.12, 0.08]
        np.testing.assert_allclose(self.scales, printed, rtol=1e-12)

    def test_column_rates(self):
        printed = [
            [100, 150, 200, 50, 100, 500],
            [200, 50, 200, 50, 50, 200],
            [150, 100, 200, 50, 50, 175],
        ]
        rates = self.rates
        np.testing.assert_allclose(rates.noise, [16, 9, 20, 5, 5.7, 22.9], rtol=1e-12)
        np.testing.assert_allclose(rates.shared, [160, 90, 200, 50, 57, 229])
        np.testing.assert_allclose(rates.cluster, printed, rtol=1e-12)

    def test_expected_values(self):
        by_cluster = [
            [2.0, 3.0, 4.0, 1.0, 2.0, 10.0],
            [6.0, 9.0, 12.0, 3.0, 6.0, 30.0],
            [6.0, 9.0, 12.0, 3.0, 6.0, 30.0],
            [32.0, 8.0, 32.0, 8.0, 8.0, 32.0],
            [28.0, 7.0, 28.0, 7.0, 7.0, 28.0],
            [8.0, 2.0, 8.0, 2.0, 2.0, 8.0],
            [27.0, 18.0, 36.0, 9.0, 9.0, 31.5],
            [21.0, 14.0, 28.0, 7.0, 7.0, 24.5],
            [18.0, 12.0, 24.0, 6.0, 6.0, 21.0],
            [12.0, 8.0, 16.0, 4.0, 4.0, 14.0],
        ]
        by_row_size = [
            [3.2, 1.8, 4.0, 1.0, 1.1, 4.6],
            [9.6, 5.4, 12.0, 3.0, 3.4, 13.7],
            [9.6, 5.4, 12.0, 3.0, 3.4, 13.7],
            [25.6, 14.4, 32.0, 8.0, 9.1, 36.6],
            [22.4, 12.6, 28.0, 7.0, 8.0, 32.1],
            [6.4, 3.6, 8.0, 2.0, 2.3, 9.2],
            [28.8, 16.2, 36.0, 9.0, 10.3, 41.2],
            [22.4, 12.6, 28.0, 7.0, 8.0, 32.1],
            [19.2, 10.8, 24.0, 6.0, 6.8, 27.5],
            [12.8, 7.2, 16.0, 4.0, 4.6, 18.3],
        ]
        start = self.Y, self.labels, self.groups
        relevant = self.scales[:, None] * self.rates.cluster[self.labels]
        shared = np.outer(self.scales, self.rates.shared)
        np.testing.assert_allclose(relevant, by_cluster, atol=0.0501)
        np.testing.assert_allclose(shared, by_row_size, atol=0.0501)
        np.testing.assert_allclose(oracle.expected_relevant(*start), relevant)
        np.testing.assert_allclose(oracle.expected_shared(*start), shared)

    @pytest.mark.parametrize(("penalty", "stays"), [("bic", True), ("mdl", False)])
    def test_its_groups_are_a_fixed_point_under_bic_only(self, penalty, stays):
        for prior in (0.0, 1e-3):
            groups = column_step(self.case, prior, penalty).groups
            assert np.array_equal(groups, self.groups) is stays
