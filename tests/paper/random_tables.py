"""Random tables with starts, and dense formulas that several tests share."""

import numpy as np
from scipy.special import xlogy


def drawn(seed, shape=(50, 30), n_clusters=(4, 3), rate=0.4):
    """A random table without empty rows or columns, and a random start."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(rate, size=shape)
    X[:, 0] += 1
    X[0] += 1
    rows, columns = (
        rng.integers(k, size=n, dtype=np.int32)
        for k, n in zip(n_clusters, shape, strict=True)
    )
    return X, rows, columns


def blocky(seed, n_clusters=(4, 3)):
    """A table with weak blocks, and a start near them that leaves no cluster empty."""
    rng = np.random.default_rng(seed)
    rows, columns = (
        (np.arange(n) % k).astype(np.int32)
        for n, k in zip((50, 30), n_clusters, strict=True)
    )
    X = rng.poisson(np.where(rows[:, None] == columns, 4.0, 1.0))
    for labels, k in zip((rows, columns), n_clusters, strict=True):
        labels[::4] = rng.integers(k, size=len(labels[::4]))
    return X, rows, columns


def dense(X, variant):
    """Values and weights of every cell."""
    weights = np.outer(X.sum(axis=1), X.sum(axis=0))
    return (X, weights / X.sum()) if variant == "model" else (X * weights, weights)


def log_shares(labels, n_clusters, epsilon=0.0):
    sizes = np.bincount(labels, minlength=n_clusters)
    return np.log(sizes / len(labels) + epsilon)


def entropy_term(labels):
    sizes = np.bincount(labels)
    return xlogy(sizes, sizes / len(labels)).sum()
