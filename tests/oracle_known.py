"""The oracle with what a user knows: held rows, and groups of columns that are fixed.

``held`` has a cluster for each row, -1 for a free one; the held clusters are 0…C-1 and
each has a row. ``fixed`` are pairs of a column and its group.
"""

from functools import partial

import numpy as np

import oracle
import oracle_run
from oracle import NOISE, OUTLIER


def allowed_scores(scores, fixed):
    """Scores of columns with minus infinity for groups that they may not take."""
    scores = scores.copy()
    for column, group in fixed:
        other = np.arange(3) != group - NOISE
        scores[column, other] = -np.inf
    return scores


def put_back(labels, held):
    return np.where(held >= 0, held, labels)


def numbered(labels, n_held):
    """Held clusters keep their numbers, the others follow by their size."""
    sizes = np.bincount(labels[labels >= 0], minlength=n_held)
    free = n_held + np.argsort(-sizes[n_held:], kind="stable")
    new = np.empty(len(sizes), dtype=int)
    new[np.concatenate([np.arange(n_held), free])] = np.arange(len(sizes))
    return np.where(labels >= 0, new[labels], OUTLIER)


def assign(X, labels, groups, held, **rule):
    return put_back(oracle.assign(X, labels, groups, **rule), held)


def run(X, labels, groups, penalty, held, fixed=(), *, outliers=False, max_iter=100):
    """Algorithm 1 in which held rows and fixed columns do not move (exact rule)."""
    rule = {"exact": True, "outliers": outliers}
    labels = oracle.without_empty(put_back(np.asarray(labels), held))
    value = partial(oracle.loss, X, penalty=penalty)
    column_losses, row_losses = [], []
    clear, converged = True, False
    while not converged and len(row_losses) < max_iter:
        scores = oracle.column_scores(X, labels, groups, penalty)
        scores = allowed_scores(scores, fixed)
        new_groups = oracle.choose_groups(scores, oracle.tolerance(X, groups))
        size = oracle.size_of_terms(X.sum(axis=0))
        gaps = oracle_run.best_two_differ_by(scores, size)
        clear &= not oracle_run.undecided(gaps).any()
        free = oracle_run.clear_rows(X, labels, new_groups, **rule) | (held >= 0)
        clear &= bool(free.all())
        column_losses.append(value(labels, new_groups))
        new = assign(X, labels, new_groups, held, **rule)
        converged = np.array_equal(labels, new) and np.array_equal(groups, new_groups)
        labels, groups = oracle.without_empty(new), new_groups
        row_losses.append(value(labels, groups))
    labels = numbered(labels, int(held.max(initial=-1)) + 1)
    return oracle_run.Run(labels, groups, column_losses, row_losses, converged, clear)
