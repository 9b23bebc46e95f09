"""How many clusters the two description lengths find, over many draws of counts.

Draws are seeded by their number, which is also the seed of the fits.
"""

import numpy as np
import pytest

from threecpo import select_n_clusters

CRITERIA = ("mdl", "mdl-dispersion")


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
    found, said = {criterion: [] for criterion in CRITERIA}, []
    for seed in seeds:
        path = select_n_clusters(
            draw(seed), n_clusters, n_init=n_init, random_state=seed
        )
        for criterion in CRITERIA:
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
    for criterion in CRITERIA:
        assert (found[criterion] == 1).all(), (criterion, found[criterion])


def test_planted_clusters_are_counted():
    found, _ = choices(lambda seed: clustered(seed, 4), range(4), range(1, 8), 6)
    for criterion in CRITERIA:
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
