"""Where rows sit between clusters: two coordinates that are linear in the counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from .._core.codes import NOISE, RELEVANT, SHARED
from .._validation import check_counts
from .fitted import record_of, rows_of
from .shares import Shares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._fit.record import FitRecord
    from ..cluster import ThreeCPO


def row_map(model: ThreeCPO, X: Any) -> NDArray[np.float64]:
    """Two coordinates for each row: the principal directions of its scores per count.

    A row has a score in each cluster and in the background. Divided by the row's size
    and centred they say where the row sits between the clusters. The map shows them
    along the two directions in which the clusters themselves lie furthest apart, larger
    clusters weighing more; the origin is the mean of the clusters. It costs one product
    of the counts with two columns, and any block of rows can be mapped by itself.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    X : CountTable, array-like, frame or sparse matrix of shape (n_rows, n_columns)
        Counts of the model's columns.

    Returns
    -------
    ndarray of shape (n_rows, 2)
        Coordinates in nats per count; 0 where there is one cluster only.

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
    weights, origin = _directions(record)
    used = (record.groups != NOISE).astype(np.float64)
    weights = np.column_stack([weights, used])
    sums = counts.matrix() @ weights + record.settings.prior * weights.sum(axis=0)
    sizes = sums[:, 2:]
    some = sizes[:, 0] > 0
    out = np.zeros((counts.n_rows, 2))
    out[some] = sums[some, :2] / sizes[some] - origin
    return out


def _directions(record: FitRecord) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weight of each column in each coordinate (m x 2), and the clusters' mean place.

    einsum adds in one order for any number of threads.
    """
    groups = record.groups
    relevant, shared = groups == RELEVANT, groups == SHARED
    weights = np.zeros((len(groups), 2))
    if record.n_clusters == 1 or not relevant.any():
        return weights, np.zeros(2)
    shares = Shares.of(record)
    profiles = np.vstack([shares.clusters, shares.overall])
    # Without a prior a share may be 0; it then counts as a millionth of the overall.
    floor = np.maximum(1e-6 * shares.overall, np.finfo(float).tiny)
    logs = np.log(np.maximum(profiles, floor)[:, relevant])
    portions = profiles[:, shared].sum(axis=1)
    log_portions = np.log(np.maximum(portions, 1e-6)) if shared.any() else 0 * portions
    centres = np.einsum("cj,kj->ck", shares.clusters[:, relevant], logs)
    centres += np.outer(portions[:-1], log_portions)
    centres -= centres.mean(axis=1, keepdims=True)
    nearest = rows_of(record).nearest_labels
    sizes = np.maximum(np.bincount(nearest, minlength=len(centres)), 1)
    away = centres - np.average(centres, axis=0, weights=sizes)
    spread = np.einsum("ck,c,cl->kl", away, sizes / sizes.sum(), away)
    axes = _principal_axes(spread)
    weights[relevant] = np.einsum("kj,kd->jd", logs, axes)
    weights[shared] = np.einsum("k,kd->d", log_portions, axes)
    origin = np.einsum("ck,kd->cd", centres, axes)
    return weights, np.average(origin, axis=0, weights=sizes)


def _principal_axes(spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """Two leading directions of centred scores, of which the largest entry is positive.

    Centred scores are orthogonal to the vector of ones, so the directions are sought
    there. Two clusters lie on one line; the other direction is then the one left over.
    """
    centred = scipy.linalg.helmert(len(spread)).T
    values, vectors = np.linalg.eigh(centred.T @ spread @ centred)
    axes = centred @ vectors[:, np.argsort(-values, kind="stable")[:2]]
    largest = np.abs(axes).argmax(axis=0)
    return axes * np.sign(axes[largest, [0, 1]])
