"""The oracle with batches: rates by a Poisson regression on the whole matrix."""

import numpy as np
import scipy.sparse as sp

from oracle import NOISE, OUTLIER, RELEVANT, SHARED, n_clusters, price, times_log


def expected(X, labels, groups, batches):
    """μ with batches: a Poisson regression on the whole matrix, by Newton's method.

    Its terms are the rows, and each cluster and each batch with every column of C1 and
    with all of C0; outliers and C- have theirs in closed form (design, Batch).
    """
    mu = np.zeros_like(X)
    used, noise = groups != NOISE, groups == NOISE
    for b in np.unique(batches):
        rows, out = batches == b, (batches == b) & (labels == OUTLIER)
        totals = X[rows].sum(axis=0)
        mu[np.ix_(rows, noise)] = totals[noise] / rows.sum()
        mu[np.ix_(rows, used)] = totals[used]
        sizes = X[out][:, used].sum(axis=1)
        mu[np.ix_(out, used)] = np.outer(sizes, totals[used]) / totals[used].sum()
    inside = np.flatnonzero(labels != OUTLIER)
    columns = [[j] for j in np.flatnonzero(groups == RELEVANT)]
    columns += [np.flatnonzero(groups == SHARED)] if (groups == SHARED).any() else []
    if not columns or not len(inside):
        return mu
    sides = [np.flatnonzero(labels == k) for k in np.unique(labels[inside])]
    sides += [
        np.intersect1d(inside, np.flatnonzero(batches == b)) for b in set(batches)
    ]
    terms = [([i], np.flatnonzero(used)) for i in inside]
    terms += [(rows, own) for rows in sides for own in columns]
    design = np.zeros((len(terms), *X.shape))
    for term, (rows, own) in zip(design, terms, strict=True):
        term[np.ix_(rows, own)] = 1.0
    at = np.ix_(inside, used)
    design = design[:, *at].reshape(len(terms), -1).T
    mu[at] = regressed(design, X[at].ravel(), np.log(mu[at]).ravel()).reshape(
        X[at].shape
    )
    return mu


def regressed(design, counts, offsets):
    """Expected counts of a Poisson regression; steps are halved until they descend."""

    def loss(logs):
        with np.errstate(over="ignore"):  # a step much too long has an infinite loss
            return (np.exp(logs) - counts * logs).sum()

    design = sp.csr_array(design)  # nearly all zeros: a fifth of the time
    # Rows and columns of one size each, so that the first steps are not too long.
    logs = offsets + np.log(counts.sum() / np.exp(offsets).sum())
    for _ in range(500):
        weights = np.exp(logs)
        slope = design.T @ (counts - weights)
        curvature = (design.T @ design.multiply(weights[:, None])).toarray()
        step = design @ np.linalg.lstsq(curvature, slope, rcond=1e-13)[0]
        times = 1.0
        while loss(logs + times * step) > loss(logs) and times > 1e-12:
            times /= 2
        logs = logs + times * step
        if ((counts - weights) * step).sum() < 1e-13 * counts.sum():
            break
    return np.exp(logs)


def loss(X, labels, groups, batches, penalty):
    """Minus log-likelihood plus prices, with batches."""
    mu = expected(X, labels, groups, batches)
    prices = price(penalty, X, n_clusters(labels))[groups == RELEVANT].sum()
    return (mu - times_log(X, mu)).sum() + prices
