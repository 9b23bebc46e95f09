"""Algorithm 1 by the formulas of ``oracle``, and whether its steps hang on rounding."""

from dataclasses import dataclass

import numpy as np

from oracle import (
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


def run(X, labels, groups, penalty, *, exact=True, outliers=False, max_iter=100):
    """Algorithm 1 from these labels and groups to a fixed point or a repeated state."""
    rule = {"exact": exact, "outliers": outliers}
    labels = without_empty(np.asarray(labels))
    column_losses, row_losses, seen = [], [], set()
    clear, converged = True, False
    while not converged and len(row_losses) < max_iter:
        scores = column_scores(X, labels, groups, penalty)
        new_groups = choose_groups(scores, tolerance(X, groups))
        clear &= clear_columns(X, labels, groups, penalty).all()
        clear &= clear_rows(X, labels, new_groups, **rule).all()
        column_losses.append(loss(X, labels, new_groups, penalty))
        new_labels = assign(X, labels, new_groups, **rule)
        converged = np.array_equal(labels, new_labels) and np.array_equal(
            groups, new_groups
        )
        labels, groups = without_empty(new_labels), new_groups
        row_losses.append(loss(X, labels, groups, penalty))
        state = labels.tobytes() + groups.tobytes()
        if state in seen and not converged:
            break
        seen.add(state)
    return Run(
        largest_first(labels), groups, column_losses, row_losses, converged, clear
    )


def largest_first(labels):
    sizes = np.bincount(labels[labels >= 0])
    new = np.empty(len(sizes), dtype=int)
    new[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return np.where(labels >= 0, new[labels], labels)
