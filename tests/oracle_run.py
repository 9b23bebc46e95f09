"""Algorithm 1 by the formulas of ``oracle``, and whether its steps hang on rounding."""

from dataclasses import dataclass

import numpy as np

from oracle import (
    NOISE,
    RELEVANT,
    assign,
    background,
    choose_groups,
    column_scores,
    loss,
    row_scores,
    size_of_terms,
    tolerance,
    without_empty,
)

TIED, CLEAR = 1e-14, 1e-10


def best_two_differ_by(values, floor):
    """Gap between the two largest of each row, relative to their size."""
    values = np.where(np.isfinite(values), values, -1e300)
    ordered = np.sort(values, axis=1)[:, ::-1]
    if ordered.shape[1] < 2:
        return np.full(len(values), np.inf)
    return (ordered[:, 0] - ordered[:, 1]) / (np.abs(ordered[:, 0]) + floor)


def row_gaps(X, labels, groups, *, exact, outliers):
    """How clearly each row is decided between clusters, and against the background."""
    size = size_of_terms(X.sum(axis=1))
    scores = row_scores(X, labels, groups, exact=exact)
    clusters = background_gap = np.full(len(X), np.inf)
    if (groups == RELEVANT).any():
        clusters = best_two_differ_by(scores, size)
    if outliers:
        other = background(X, groups, exact=exact)
        pair = np.column_stack([scores.max(axis=1), other])
        background_gap = best_two_differ_by(pair, size)
    return clusters, background_gap


def undecided(gaps):
    """Gaps that rounding can turn round; below them, a rule for ties decides."""
    return (gaps > TIED) & (gaps < CLEAR)


def clear_rows(X, labels, groups, *, exact, outliers):
    """Rows whose label does not hang on rounding.

    The printed score of a cluster without counts in C0 and C1 is 0 / 0.
    """
    if (
        not exact
        and min(X[labels == k][:, groups >= 0].sum() for k in range(labels.max() + 1))
        == 0
    ):
        return np.zeros(len(X), dtype=bool)
    clusters, other = row_gaps(X, labels, groups, exact=exact, outliers=outliers)
    return (clusters > CLEAR) & ~undecided(other)


def clear_columns(X, labels, groups, penalty):
    """Columns whose group does not hang on rounding."""
    scores = column_scores(X, labels, groups, penalty)
    return ~undecided(best_two_differ_by(scores, size_of_terms(X.sum(axis=0))))


@dataclass
class Run:
    """A run of algorithm 1: its end, and the loss after every half-step.

    ``clear`` says that no decision hung on rounding.
    """

    labels: np.ndarray
    groups: np.ndarray
    column_losses: list
    row_losses: list
    converged: bool
    clear: bool

    @property
    def loss(self):
        return self.row_losses[-1]


def allowed_scores(scores, fixed):
    """Scores of columns with minus infinity for groups that they may not take."""
    scores = scores.copy()
    for column, group in fixed:
        scores[column, np.arange(3) != group - NOISE] = -np.inf
    return scores


def run(X, labels, groups, penalty, held=None, fixed=(), *, max_iter=100, **rule):
    """Algorithm 1 from these labels and groups to a fixed point or a repeated state.

    ``held`` has a cluster for each row that does not move, -1 for a free one; held
    clusters are 0…C-1. ``fixed`` are pairs of a column and the group it stays in.
    """
    rule = {"exact": True, "outliers": False} | rule
    held = np.full(len(X), -1) if held is None else held
    labels = without_empty(np.where(held >= 0, held, labels))
    column_losses, row_losses, seen = [], [], set()
    clear, converged = True, False
    while not converged and len(row_losses) < max_iter:
        scores = allowed_scores(column_scores(X, labels, groups, penalty), fixed)
        new_groups = choose_groups(scores, tolerance(X, groups))
        gaps = best_two_differ_by(scores, size_of_terms(X.sum(axis=0)))
        clear &= not undecided(gaps).any()
        clear &= bool((clear_rows(X, labels, new_groups, **rule) | (held >= 0)).all())
        column_losses.append(loss(X, labels, new_groups, penalty))
        new_labels = assign(X, labels, new_groups, **rule)
        new_labels = np.where(held >= 0, held, new_labels)
        same_rows = np.array_equal(labels, new_labels)
        converged = same_rows and np.array_equal(groups, new_groups)
        labels, groups = without_empty(new_labels), new_groups
        if same_rows:  # then the next rows differ only if the next groups do
            scores = allowed_scores(column_scores(X, labels, groups, penalty), fixed)
            following = choose_groups(scores, tolerance(X, groups))
            converged |= np.array_equal(following, groups)
        row_losses.append(loss(X, labels, groups, penalty))
        state = labels.tobytes() + groups.tobytes()
        if state in seen and not converged:
            break
        seen.add(state)
    labels = numbered(labels, int(held.max(initial=-1)) + 1)
    return Run(labels, groups, column_losses, row_losses, converged, clear)


def numbered(labels, n_held):
    """Held clusters keep their numbers, the others follow by their size."""
    sizes = np.bincount(labels[labels >= 0], minlength=n_held)
    free = n_held + np.argsort(-sizes[n_held:], kind="stable")
    new = np.empty(len(sizes), dtype=int)
    new[np.concatenate([np.arange(n_held), free])] = np.arange(len(sizes))
    return np.where(labels >= 0, new[labels], labels)
