"""Description lengths along a path, on numbers made by hand and on fits."""

from copy import deepcopy
from itertools import pairwise
from math import log
from types import SimpleNamespace

import numpy as np
import pytest

from containers import planted
from threecpo import ThreeCPO, select_n_clusters
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


@pytest.mark.parametrize("criterion", ["mdl", "mdl-dispersion"])
def test_a_path_made_in_parts_has_the_totals_of_one_made_at_once(criterion):
    X, _ = planted()
    estimator = ThreeCPO(init="random-centers")
    options = {"n_init": 3, "random_state": 0, "estimator": estimator}
    options["criterion"] = criterion
    whole = select_n_clusters(X, range(1, 7), **options)
    parts = select_n_clusters(X, [6, 2], **options).extend(X, [1, 4]).extend(X, [3, 5])
    np.testing.assert_array_equal(parts.n_clusters, whole.n_clusters)
    assert parts.totals.tobytes() == whole.totals.tobytes()
