"""Rows that clusters of two labelings share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .codes import Floats


def shared_rows(
    a: NDArray[Any], b: NDArray[Any], shape: tuple[int, int] | None = None
) -> NDArray[np.int64]:
    """Rows of each cluster of ``a`` (down) in each of ``b``; outliers are left out."""
    inside = (a >= 0) & (b >= 0)
    if shape is None:
        shape = int(a.max(initial=0)) + 1, int(b.max(initial=0)) + 1
    pairs = np.ravel_multi_index((a[inside], b[inside]), shape)
    return np.bincount(pairs, minlength=shape[0] * shape[1]).reshape(shape)


def origins(shared: NDArray[np.int64]) -> list[list[int]]:
    """Old clusters that most rows of each new one come from.

    ``shared`` are rows of old clusters (down) in new ones. An old cluster is where most
    of its rows went; a new one without any is a part of the one it shares most with.
    """
    goes_to = np.where(shared.any(axis=1), shared.argmax(axis=1), -1)
    found = [np.flatnonzero(goes_to == new).tolist() for new in range(shared.shape[1])]
    return [
        old or ([int(shared[:, new].argmax())] if shared[:, new].any() else [])
        for new, old in enumerate(found)
    ]


def adjusted_rand(
    a: NDArray[Any], b: NDArray[Any], weights: Floats | None = None
) -> float:
    """Agreement of two labelings about pairs of rows: 1 if equal, 0 for chance.

    A pair of rows counts as often as the product of their weights. Outliers are left
    out; 0 where both labelings have one cluster, and agree on nothing else.
    """
    inside = (a >= 0) & (b >= 0)
    a, b = a[inside], b[inside]
    weights = np.ones(len(a)) if weights is None else weights[inside]

    def pairs(labels: NDArray[Any]) -> float:
        sums = np.bincount(labels, weights) if len(labels) else np.zeros(1)
        return float((sums**2).sum() - (weights**2).sum())

    both, each = pairs(a * (b.max(initial=0) + 1) + b), (pairs(a), pairs(b))
    every = pairs(np.zeros(len(a), int))
    chance = each[0] * each[1] / every if every > 0 else 0.0
    most = sum(each) / 2
    return (both - chance) / (most - chance) if most > chance else 0.0


def best_jaccards(
    shared: NDArray[np.int64],
    members: Sequence[Sequence[int]],
    other_members: Sequence[Sequence[int]],
) -> Floats:
    """Jaccard index of each node of a tree with the nearest of another tree.

    ``members`` are the clusters below each node, the clusters themselves first. A
    cluster is compared with clusters alone, a join with all nodes.
    """
    n, n_other = shared.shape
    below, other_below = _incidence(members, n), _incidence(other_members, n_other)
    both = below @ shared @ other_below.T
    sizes, other_sizes = below @ shared.sum(axis=1), other_below @ shared.sum(axis=0)
    either = sizes[:, None] + other_sizes - both
    indices = np.divide(both, either, out=np.zeros(both.shape), where=either > 0)
    best = indices.max(axis=1)
    best[:n] = indices[:n, :n_other].max(axis=1)
    return best


def _incidence(members: Sequence[Sequence[int]], n: int) -> NDArray[np.int64]:
    table = np.zeros((len(members), n), dtype=np.int64)
    for node, below in enumerate(members):
        table[node, list(below)] = 1
    return table
