"""What labels of ambiguous rows regain of their cost."""

import numpy as np
import pytest
from k_paths import path_of
from scipy.special import logsumexp

import oracle
from containers import planted
from threecpo import CountTable, ThreeCPO
from threecpo._fit.describing import LabelGain

N_ROWS = 90
RNG = np.random.default_rng(0)
X = RNG.poisson(np.repeat(RNG.gamma(4.0, 0.3, (3, 12)), N_ROWS // 3, axis=0))
X[-3:] = 0
ROWS = np.arange(N_ROWS)
KINDS = {
    "plain": ({}, {}),
    "weights": ({}, {"sample_weight": ROWS % 4 / 2}),
    "batches": ({}, {"batch": ROWS % 2}),
    "held": ({}, {"known_labels": np.where(ROWS % 5, -1, ROWS // 30)}),
    "outliers": ({"outliers": "iterative", "outlier_threshold": 0.3}, {}),
    "final": ({"outliers": "final", "outlier_threshold": 0.3}, {}),
    "paper": ({"assignment": "paper"}, {}),
    "no prior": ({"prior": 0.0}, {}),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_rows_regain_what_other_clusters_explain(kind):
    options, rows = KINDS[kind]
    model = ThreeCPO(3, random_state=0, n_init=2, **options).fit(X, **rows)
    record = model.record_
    counts = CountTable(X).counts.with_rows(record.rows.info)
    scores = record.row_scores(counts)
    own = scores[ROWS, record.labels_of_rates]
    gains = np.minimum(logsumexp(scores, axis=1) - own, np.log(3))
    gains[record.labels_of_rates < 0] = 0.0
    gains[~np.isfinite(own)] = np.log(3)
    if kind == "held":
        gains[ROWS % 5 == 0] = np.log(3)
    if kind == "outliers":
        assert (model.labels_ < 0).any()
    expected = (gains * rows.get("sample_weight", 1)).sum()
    found = LabelGain.of(record, np.ones(12))(counts)
    assert found == pytest.approx(expected, rel=1e-6)
    assert 0 < found < record.sums.total_weight * np.log(3)


def test_scores_are_those_of_columns_over_their_dispersions():
    Y, _ = planted(n_rows=20)
    Y = Y * RNG.integers(1, 4, Y.shape)
    for fit in path_of(Y, [1, 2, 4])._ordered():
        labels, groups = fit.labels, fit.record.groups
        assert (fit.dispersions > 1).any()
        scaled = (Y + 1e-3) / fit.dispersions
        scores = oracle.row_scores(scaled, labels, groups, exact=True)
        gains = logsumexp(scores, axis=1) - scores[np.arange(len(Y)), labels]
        gains = np.minimum(gains, np.log(fit.n_found))
        assert fit.regained == pytest.approx(gains.sum(), abs=1e-5)


def test_empty_rows_regain_their_labels_and_clear_rows_nothing():
    Y, _ = planted(n_rows=30)
    clear = path_of(100 * Y, [3])._best().regained
    assert clear == pytest.approx(0.0, abs=1e-5)
    with_empty = np.vstack([100 * Y, np.zeros((10, Y.shape[1]))])
    found = path_of(with_empty, [3])._best().regained
    assert found == pytest.approx(10 * np.log(3), rel=0.02)
