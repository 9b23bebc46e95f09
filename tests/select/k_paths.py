"""Paths of planted counts, and when two of them are the same."""

from functools import partial

import numpy as np

from containers import planted
from threecpo import ThreeCPO, select_n_clusters

# Of this start every fit of a path is the one that it would be alone.
Restarted = partial(ThreeCPO, init="poisson-k-means++")

X, TRUE = planted(n_rows=30)
ALL = range(1, 6)
ARRAYS = ("labels_", "restart_losses_", "column_groups_", "column_scores_")


def path_of(X=X, n_clusters=ALL, **options):
    options = {"n_init": 3, "random_state": 0, "estimator": Restarted()} | options
    return select_n_clusters(X, n_clusters, **options)


def assert_same_fit(model, reference):
    for name in ARRAYS:
        if hasattr(reference, name):
            a, b = getattr(model, name), getattr(reference, name)
            assert a.tobytes() == b.tobytes(), name
    assert model.loss_ == reference.loss_
    assert model.n_clusters_ == reference.n_clusters_


def assert_same_path(path, reference):
    np.testing.assert_array_equal(path.n_clusters, reference.n_clusters)
    assert path.totals.tobytes() == reference.totals.tobytes()
    for k in reference.n_clusters:
        assert_same_fit(path.estimator(k), reference.estimator(k))
