"""Planted counts, and fits of them, that tests share."""

import numpy as np

from containers import planted
from threecpo import ThreeCPO

INITS = (
    "merge",
    "poisson-k-means++",
    "random-labels",
    "random-centers",
    "k-means++",
    "k-means",
    "rf-k-means++",
    "rf-k-means",
)
X, TRUE = planted(n_background=20)
GROUPS = [1, 1, 1, 1, 1, 1, 0, 0, -1, -1]


def fit(X=X, n_clusters=3, **options):
    options = {"random_state": 0, "n_init": 3} | options
    return ThreeCPO(n_clusters, **options).fit(X)


def sums_by_label(X, labels, prior=1e-3):
    return np.stack(
        [(X[labels == k] + prior).sum(axis=0) for k in range(labels.max() + 1)]
    )
