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
    "sparse": {"n_rows": 300, "n_columns": 100, "mean": 0.2, "shape": 4.0},
    "very sparse": {"n_rows": 300, "n_columns": 100, "mean": 0.05, "shape": 1.0},
    "sparse, unequal columns": {
        "n_rows": 300,
        "n_columns": 100,
        "mean": 0.2,
        "shape": 1.0,
    },
}


@pytest.mark.parametrize("name", NOTHING)
def test_no_clusters_are_found_where_there_are_none(name):
    """20 draws, K = 1 to 6, 5 runs: at least 19 have one cluster."""
    found, said = choices(
        lambda seed: structureless(seed, **NOTHING[name]), range(20), range(1, 7), 5
    )
    assert all(no_clusters == (k == 1) for k, no_clusters in said)
    for criterion in CRITERIA:
        assert (found[criterion] == 1).sum() >= 19, (criterion, found[criterion])


@pytest.mark.parametrize("n_clusters", [2, 4, 7])
def test_planted_clusters_are_counted(n_clusters):
    """10 draws, K = 1 to 3 more than there are, 10 runs: at least 9 are right."""
    found, _ = choices(
        lambda seed: clustered(seed, n_clusters),
        range(10),
        range(1, n_clusters + 4),
        10,
    )
    for criterion in CRITERIA:
        right = (found[criterion] == n_clusters).sum()
        assert right >= 9, (criterion, found[criterion])


@pytest.mark.parametrize("dispersion", [4.0, 5.0])
def test_overdispersed_clusters_are_counted_by_mdl_dispersion(dispersion):
    """10 draws of 3 clusters, variance 4 or 5 times the mean: at least 8 are right."""
    found, _ = choices(
        lambda seed: clustered(seed, 3, dispersion, mean=10.0),
        range(100, 110),
        range(1, 9),
        10,
    )
    assert (found["mdl-dispersion"] == 3).sum() >= 8, found["mdl-dispersion"]
    if dispersion == 5.0:  # The paper's criterion splits them in at least half.
        assert (found["mdl"] > 3).sum() >= 5, found["mdl"]
