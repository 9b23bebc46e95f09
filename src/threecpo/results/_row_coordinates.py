"""Where rows sit among the clusters: a plane that keeps neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import cKDTree

from .._core.codes import NOISE, RELEVANT
from .._core.workers import Workers
from .._options import resolve_n_jobs
from .._validation import check_counts
from .fitted import record_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._fit.record import FitRecord
    from ..cluster import ThreeCPO

# Rows that are laid out; more of them are placed by their neighbours among these.
LAID_OUT = 5_000
# Rows whose scores are in memory at the same time.
_AT_ONCE = 1 << 16


def row_map(model: ThreeCPO, X: Any) -> NDArray[np.float64]:
    """Two coordinates for each row, in which rows with similar scores are near.

    A row has a score in each cluster and in the background. Divided by the row's size
    and centred they say where the row sits between the clusters. The map starts from
    a map of the clusters, pulls every row to its 15 nearest neighbours by these scores
    and pushes it from rows drawn at random, as UMAP does. Rows that are near in the map
    have similar scores; distances between far groups, and the axes, mean nothing. The
    same rows in the same order have the same bits each time, for any number of threads.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    X : CountTable, array-like, frame or sparse matrix of shape (n_rows, n_columns)
        Counts of the model's columns. Of more than 5000 rows so many are drawn and
        laid out, and each other row is placed by its nearest ones among them.

    Returns
    -------
    ndarray of shape (n_rows, 2)
        Coordinates without a unit; 0 where there is one cluster only.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.results import row_map
    >>> X, _ = make_synth(random_state=0)
    >>> row_map(ThreeCPO(3, random_state=0).fit(X), X).shape
    (1000, 2)
    """
    record, counts = record_of(model), check_counts(X)
    if counts.n_columns != record.n_columns:
        message = (
            f"X has {counts.n_columns} columns, but the model was fitted on "
            f"{record.n_columns}."
        )
        raise ValueError(message)
    if record.n_clusters == 1 or not (record.groups == RELEVANT).any():
        return np.zeros((counts.n_rows, 2))
    with Workers(resolve_n_jobs(model.n_jobs)) as workers:
        return _mapped(record, counts, workers)


def _mapped(record: FitRecord, counts: Counts, workers: Workers) -> NDArray[np.float64]:
    from .._core.layout import place_by_neighbours, plane, principal_directions

    n_rows = counts.n_rows
    drawn = np.arange(n_rows)
    if n_rows > LAID_OUT:
        generator = np.random.default_rng(0)
        drawn = np.sort(generator.choice(n_rows, LAID_OUT, replace=False))
    scores, nearest = _scores_per_count(record, counts.rows(drawn), workers)
    axes = principal_directions(scores)
    points = np.einsum("ik,kd->id", scores, axes)
    laid_out = plane(points, nearest, workers.n_jobs)
    out = np.empty((n_rows, 2))
    out[drawn] = laid_out
    if n_rows == len(drawn):
        return out
    tree = cKDTree(points)
    others = np.setdiff1d(np.arange(n_rows), drawn, assume_unique=True)
    for start in range(0, len(others), _AT_ONCE):
        some = others[start : start + _AT_ONCE]
        scores, _ = _scores_per_count(record, counts.rows(some), workers)
        further = np.einsum("ik,kd->id", scores, axes)
        out[some] = place_by_neighbours(tree, laid_out, further, workers.n_jobs)
    return out


def _scores_per_count(
    record: FitRecord, counts: Counts, workers: Workers
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Centred scores in all clusters and the background, and the nearest cluster."""
    rows = record.describe(counts, workers)
    scores = record.row_scores(counts, workers)
    background = scores.max(axis=1) + rows.outlier_scores
    scores = np.column_stack([scores, background])
    used = (record.groups != NOISE).astype(np.float64)
    sizes = counts.matrix() @ used + record.settings.prior * used.sum()
    scores -= scores.mean(axis=1, keepdims=True)
    some = sizes > 0
    scores[some] /= sizes[some, None]
    scores[~some] = 0.0
    return scores, rows.nearest_labels
