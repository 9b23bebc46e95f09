"""Criteria: description lengths by hand and on fits, labels regained, choices."""

from copy import deepcopy
from itertools import pairwise
from math import log
from types import SimpleNamespace

import numpy as np
import pytest
from k_paths import path_of
from scipy.special import logsumexp

import oracle
from containers import planted
from threecpo import CountTable, ThreeCPO, select_n_clusters
from threecpo._fit.describing import LabelGain
from threecpo.select._poisson import label_cost, mdl, mdl_dispersion

C0 = log(2.865064)
UNIVERSAL = {
    1: C0,
    2: C0 + log(2),
    3: C0 + log(3) + log(log(3)),
    5: C0 + log(5) + log(log(5)),
    20: C0 + log(20) + log(log(20)) + log(log(log(20))),
}


def test_labels_cost_the_universal_prior_and_log_k_a_row():
    for n_clusters, prior in UNIVERSAL.items():
        for n_rows in (1, 150):
            expected = prior + n_rows * log(n_clusters)
            assert label_cost(n_clusters, n_rows) == pytest.approx(expected, rel=1e-14)
    assert type(label_cost(3, 5)) is float


def fake(k, likelihoods, prices, dispersions, *, v=None, loss=None):
    likelihoods = np.array(likelihoods, dtype=float)
    prices = np.array(prices, dtype=float)
    best = (likelihoods - np.outer(prices, [0, 0, 1])).max(axis=1).sum()
    return SimpleNamespace(
        n_found=k,
        likelihoods=likelihoods,
        prices=prices,
        prices_in=lambda unit: prices / unit,  # any price that falls with the unit
        dispersions=np.array(dispersions, dtype=float).clip(1.0),
        regained=0.0,
        column_weights=1.0,
        label_cost=label_cost(k, 30) if v is None else v,
        loss=-best if loss is None else loss,
    )


def with_gain(k, gain, v, dispersion, **more):
    """One column, which gains so much where it is relevant."""
    return fake(k, [[0.0, -9.0, gain]], [0.0], [dispersion], v=v, **more)


def random_path(seed, n_fits=7, n_columns=8):
    rng = np.random.default_rng(seed)
    gains = np.cumsum(rng.gamma(1.0, 60.0, size=(n_fits, n_columns)), axis=0)
    return [
        fake(
            k,
            np.column_stack([rng.gamma(1.0, 20.0, size=(n_columns, 2)), gains[k - 1]]),
            rng.gamma(1.0, 3.0 * k, size=n_columns),
            rng.gamma(2.0, 3.0, size=n_columns),
            v=150 * np.log(k),
        )
        for k in range(1, n_fits + 1)
    ]


def choice_under(fits, reference):
    """Fit of least total with the dispersions of one of them, column by column."""
    totals = []
    for fit in fits:
        total = fit.label_cost
        for j, phi in enumerate(fits[reference].dispersions):
            noise, shared, relevant = fit.likelihoods[j] / max(1.0, phi)
            total -= max(noise, shared, relevant - fit.prices[j] / max(1.0, phi))
        totals.append(total)
    return np.array(totals)


def test_mdl_is_the_loss_plus_the_cost_of_labels():
    fits = [fake(k, [[0, 0, k]], [1], [1], loss=-7.5 * k) for k in (1, 2, 5)]
    expected = [-7.5 * k + label_cost(k, 30) for k in (1, 2, 5)]
    np.testing.assert_allclose(mdl(fits), expected, rtol=1e-14)


def test_no_column_counts_for_more_than_poisson():
    fits = random_path(0)
    for fit in fits:
        fit.dispersions[:] = 1.0
    np.testing.assert_allclose(mdl_dispersion(fits), mdl(fits), rtol=1e-13)


def test_a_column_takes_the_group_that_is_best_when_scaled():
    # Relevant by 10 - 6 > 0, but not by 10 / 4 - 6, where the unit changes no price.
    fit = fake(2, [[0.0, -1.0, 10.0]], [6.0], [4.0], v=0.0)
    fit.prices_in = lambda _: fit.prices
    assert mdl([fit]).tolist() == [-4.0]
    assert mdl_dispersion([fit]).tolist() == [0.0]


def reached_turns(fits):
    """References that take turns in the end, followed from the first one."""
    trace = [1]  # the first fit with more than one cluster
    for _ in range(30):
        trace.append(int(choice_under(fits, trace[-1]).argmin()))
    return trace[-15:]


def test_the_choice_chooses_itself_or_is_the_smallest_that_takes_turns():
    """Over 100 random paths, of which both kinds occur."""
    kinds = set()
    for seed in range(100):
        fits = random_path(seed)
        turns = reached_turns(fits)
        before = deepcopy(fits)
        totals = mdl_dispersion(fits)
        np.testing.assert_array_equal(fits[3].likelihoods, before[3].likelihoods)
        best = int(totals.argmin())
        assert best == min(turns)
        befores = {a for a, b in pairwise(turns) if b == best}
        (before,) = befores
        np.testing.assert_allclose(totals, choice_under(fits, before), rtol=1e-12)
        kinds.add(len(set(turns)))
        if len(set(turns)) == 1:
            assert before == best
    assert {1, 2} <= kinds


def test_the_search_starts_with_the_fewest_clusters():
    """Of two that choose themselves the smaller is found, and not one cluster."""
    fits = [
        with_gain(1, 0.0, 0.0, 100.0),
        with_gain(2, 30.0, 10.0, 2.0),
        with_gain(3, 45.0, 20.0, 1.0),
    ]
    assert [int(choice_under(fits, i).argmin()) for i in range(3)] == [0, 1, 2]
    assert mdl_dispersion(fits).argmin() == 1
    assert mdl_dispersion(fits[::2]).argmin() == 1


def test_prices_are_those_of_counts_in_units_of_their_dispersion():
    X, _ = planted()
    path = select_n_clusters(X, [3], n_init=2, random_state=0)
    (fit,) = path._fits.values()
    totals = path.estimator(3).shared_rates_
    unit = np.linspace(1, 9, len(totals))
    expected = 2 * np.log(np.maximum(totals / unit, 1.0))
    np.testing.assert_allclose(fit.prices_in(unit), expected, rtol=1e-12)


BOTH = ("mdl", "mdl-dispersion")


def structureless(seed, n_rows, n_columns, mean, shape):
    """Poisson counts of row size times column rate; small shape: unequal rates."""
    rng = np.random.default_rng(seed)
    sizes = rng.gamma(4.0, 0.25, size=(n_rows, 1))
    rates = rng.gamma(shape, 1.0, size=n_columns)
    return rng.poisson(sizes * rates * mean / rates.mean())


def clustered(seed, n_clusters, dispersion=1.0, mean=5.0, n_rows=300, n_columns=60):
    """Counts of variance dispersion times mean; half of the columns tell clusters."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % n_clusters
    rates = np.tile(rng.gamma(2.0, mean / 2, size=n_columns), (n_clusters, 1))
    half = n_columns // 2
    rates[:, :half] *= np.exp(rng.normal(0.0, 0.7, size=(n_clusters, half)))
    mu = rng.gamma(8.0, 1 / 8, size=(n_rows, 1)) * rates[labels]
    if dispersion > 1:
        mu = rng.gamma(mu / (dispersion - 1), dispersion - 1)
    return rng.poisson(mu)


def choices(draw, seeds, n_clusters, n_init):
    """Number of clusters found in each draw by each criterion, and what is said."""
    found, said = {criterion: [] for criterion in BOTH}, []
    for seed in seeds:
        path = select_n_clusters(
            draw(seed), n_clusters, n_init=n_init, random_state=seed
        )
        for criterion in BOTH:
            chosen = path.choose(criterion)
            found[criterion].append(chosen.best_k)
            said.append((chosen.best_k, "no clusters found" in repr(chosen)))
    return {name: np.array(values) for name, values in found.items()}, said


NOTHING = {
    "counts": {"n_rows": 150, "n_columns": 40, "mean": 5.0, "shape": 1.0},
    "sparse": {"n_rows": 300, "n_columns": 100, "mean": 0.2, "shape": 1.0},
}


@pytest.mark.parametrize("name", NOTHING)
def test_no_clusters_are_found_where_there_are_none(name):
    found, said = choices(
        lambda seed: structureless(seed, **NOTHING[name]), range(5), range(1, 5), 3
    )
    assert all(no_clusters == (k == 1) for k, no_clusters in said)
    for criterion in BOTH:
        assert (found[criterion] == 1).all(), (criterion, found[criterion])


def test_planted_clusters_are_counted():
    found, _ = choices(lambda seed: clustered(seed, 4), range(4), range(1, 8), 6)
    for criterion in BOTH:
        assert (found[criterion] == 4).all(), (criterion, found[criterion])


def test_overdispersed_clusters_are_counted_by_mdl_dispersion():
    """Three clusters, variance five times the mean; the paper's MDL splits them."""
    found, _ = choices(
        lambda seed: clustered(seed, 3, 5.0, mean=10.0),
        range(100, 104),
        range(1, 7),
        6,
    )
    assert (found["mdl-dispersion"] == 3).sum() >= 3, found["mdl-dispersion"]
    assert (found["mdl"] > 3).sum() >= 2, found["mdl"]


N_ROWS = 90
RNG = np.random.default_rng(0)
AMBIGUOUS = RNG.poisson(np.repeat(RNG.gamma(4.0, 0.3, (3, 12)), N_ROWS // 3, axis=0))
AMBIGUOUS[-3:] = 0
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
    model = ThreeCPO(3, random_state=0, n_init=2, **options).fit(AMBIGUOUS, **rows)
    record = model.record_
    counts = CountTable(AMBIGUOUS).counts.with_rows(record.rows.info)
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
