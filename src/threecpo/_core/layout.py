"""A plane in which rows keep their nearest neighbours.

Rows start at a map of their clusters, are pulled to their neighbours and pushed from
rows drawn at random, as in UMAP. Sums have one order and the loop has one thread, so
that the places have the same bits for any number of threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .loops import array_type, compiled, f8, i4, i8, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.spatial import cKDTree

    from .codes import Floats, Ints

    Points = Floats

N_NEIGHBOURS = 15
N_REPELLED = 5
# More directions make the search of neighbours slow and hardly change them.
MOST_DIRECTIONS = 12
# Rows times rounds: small tables get more rounds, large ones less.
_WORK, _LEAST_ROUNDS, _MOST_ROUNDS = 500_000, 40, 500
# Spread of the clusters in the first map over the root of the number of rows, as the
# area that rows take up; and of the rows of a cluster over that of the clusters.
_BETWEEN, _WITHIN, _JITTER = 0.06, 0.2, 1e-3

# No row moves further than this in one step, for a rate of 1.
_FURTHEST = 4.0
# Rows at the same place push each other with a finite force.
_TINY = 1e-3


def principal_directions(points: Points) -> Points:
    """Leading directions of some points, as columns, the widest first."""
    away = points - points.mean(axis=0)
    spread = np.einsum("ik,il->kl", away, away) / len(points)
    values, vectors = np.linalg.eigh(spread)
    order = np.argsort(-values, kind="stable")[:MOST_DIRECTIONS]
    axes = vectors[:, order]
    largest = np.abs(axes).argmax(axis=0)
    turned: Points = axes * np.sign(axes[largest, np.arange(len(order))])
    return turned


def plane(points: Points, labels: NDArray[np.integer], n_jobs: int = 1) -> Points:
    """Place points in a plane (n x 2), near to their neighbours."""
    from scipy.spatial import cKDTree

    n_points = len(points)
    if n_points < 2:
        return np.zeros((n_points, 2))
    n_neighbours = min(N_NEIGHBOURS, n_points - 1)
    query = cKDTree(points).query(points, n_neighbours + 1, workers=n_jobs)
    found = _without_itself(np.asarray(query[1]))
    neighbours = np.ascontiguousarray(found, dtype=np.int32)
    places = first_places(points, labels)
    n_rounds = int(np.clip(_WORK // n_points, _LEAST_ROUNDS, _MOST_ROUNDS))
    rates = 1.0 - np.arange(n_rounds) / n_rounds
    lay_out(places, neighbours, rates, N_REPELLED, 0)
    centred: Points = places - places.mean(axis=0)
    return centred


def place_by_neighbours(
    tree: cKDTree, places: Points, points: Points, n_jobs: int = 1
) -> Points:
    """Place further points at the median of their nearest ones that have a place."""
    n_nearest = min(5, len(places))
    found = tree.query(points, n_nearest, workers=n_jobs)[1]
    found = found.reshape(len(points), n_nearest)
    middle: Points = np.median(places[found], axis=1)
    return middle


def first_places(points: Points, labels: NDArray[np.integer]) -> Points:
    """Places of the clusters, and of their rows around them.

    The distances of clusters enter by their root, so that one far cluster takes no axis
    of its own.
    """
    names, inner = np.unique(labels, return_inverse=True)
    sizes = np.bincount(inner, minlength=len(names)).astype(np.float64)
    centres = np.column_stack(
        [np.bincount(inner, column, len(names)) / sizes for column in points.T]
    )
    around = points - centres[inner]
    own = np.einsum("ik,kd->id", around, principal_directions(around)[:, :2])
    if own.shape[1] < 2:
        own = np.column_stack([own, np.zeros(len(own))])
    noise = np.random.default_rng(0).normal(size=own.shape)
    between = _BETWEEN * np.sqrt(len(points))
    places: Points = _scaled(_clusters_in_plane(centres), between)[inner]
    return places + _scaled(own, _WITHIN * between) + _JITTER * noise


def _clusters_in_plane(centres: Points) -> Points:
    """Classical scaling of the roots of the distances between clusters."""
    away = centres[:, None, :] - centres[None, :, :]
    # The square of a root: the distance itself.
    squares = np.sqrt((away**2).sum(axis=2))
    inner = -0.5 * (
        squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    )
    values, vectors = np.linalg.eigh(inner)
    order = np.argsort(-values, kind="stable")[:2]
    places = vectors[:, order] * np.sqrt(np.maximum(values[order], 0.0))
    largest = np.abs(places).argmax(axis=0)
    places *= np.where(places[largest, np.arange(len(order))] < 0, -1.0, 1.0)
    if places.shape[1] < 2:
        places = np.column_stack([places, np.zeros(len(places))])
    flat: Points = places
    return flat


def _scaled(places: Points, spread: float) -> Points:
    """Give places this root of the mean square, if they are not all one."""
    size = np.sqrt((places**2).sum(axis=1).mean())
    return places * (spread / size) if size > 0 else places


def _without_itself(found: NDArray[np.integer]) -> NDArray[np.integer]:
    """Neighbours without the point; among equal points it may not come first."""
    own = np.arange(len(found))[:, None]
    itself = found == own
    itself[~itself.any(axis=1), -1] = True
    return found[~itself].reshape(len(found), -1)


@inlined  # type: ignore[untyped-decorator]
def _bounded(step: float, rate: float) -> float:
    return min(max(step, -_FURTHEST * rate), _FURTHEST * rate)


@compiled(array_type(f8, 2, write=True), array_type(i4, 2), array_type(f8), i8, i8)
def lay_out(
    places: Points, neighbours: Ints, rates: Floats, n_repelled: int, seed: int
) -> None:
    """Pull rows to their neighbours and push them from rows drawn at random.

    One thread goes through the rows in their order, once for every rate. The kernel of
    nearness is 1 / (1 + d^2), and the draws come from a generator of 64 bits.
    """
    state = np.uint64(seed)
    for rate in rates:
        for i in range(len(neighbours)):
            for t in range(neighbours.shape[1]):
                j = neighbours[i, t]
                x, y = places[i, 0] - places[j, 0], places[i, 1] - places[j, 1]
                pull = 2.0 * rate / (1.0 + x * x + y * y)
                step_x, step_y = _bounded(pull * x, rate), _bounded(pull * y, rate)
                places[i, 0] -= step_x
                places[i, 1] -= step_y
                places[j, 0] += step_x
                places[j, 1] += step_y
                for _ in range(n_repelled):
                    state = state * np.uint64(6364136223846793005) + np.uint64(
                        1442695040888963407
                    )
                    other = (state >> np.uint64(33)) % np.uint64(len(places))
                    x, y = (
                        places[i, 0] - places[other, 0],
                        places[i, 1] - places[other, 1],
                    )
                    away = x * x + y * y
                    push = 2.0 * rate / ((_TINY + away) * (1.0 + away))
                    places[i, 0] += _bounded(push * x, rate)
                    places[i, 1] += _bounded(push * y, rate)
