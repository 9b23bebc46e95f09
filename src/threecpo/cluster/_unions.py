"""Which clusters are joined where a tree is cut or unions are named."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _options

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from .._core.merging import Tree


def cut_into(
    tree: Tree, n_clusters: int | None, height: float | None
) -> NDArray[np.int32]:
    """Where each cluster goes where a tree is cut."""
    if (n_clusters is None) == (height is None):
        message = "cut needs either n_clusters or height."
        raise ValueError(message)
    if height is not None:
        height = _options.check_non_negative("height", height)
        below = int(np.searchsorted(tree.heights, height, side="right"))
        n_clusters = tree.n_clusters - below
    n_left = _options.check_integer("n_clusters", n_clusters, 1)
    if n_left > tree.n_clusters:
        message = (
            f"n_clusters={n_left} is more than the {tree.n_clusters} clusters of "
            "this model; split divides a cluster."
        )
        raise ValueError(message)
    return tree.cut(n_left)


def checked_clusters(clusters: Iterable[Any], n_clusters: int) -> list[int]:
    """Numbers of clusters, each once."""
    numbers = []
    for given in clusters:
        number = int(given) if isinstance(given, Integral) else -1
        if not 0 <= number < n_clusters:
            message = f"{given!r} is not a cluster; they are 0 to {n_clusters - 1}."
            raise ValueError(message)
        numbers.append(number)
    return numbers


def merged_into(clusters: Sequence[Any], n_clusters: int) -> NDArray[np.int32]:
    """Where each cluster goes; one that is in two unions is refused."""
    from .._core.merging import without_gaps

    if any(not np.iterable(union) or isinstance(union, str) for union in clusters):
        message = f"clusters={clusters!r} must be lists of clusters, as in [[0, 3]]."
        raise ValueError(message)
    into = np.arange(n_clusters)
    seen: set[int] = set()
    for union in clusters:
        members = checked_clusters(union, n_clusters)
        if seen.intersection(members) or len(set(members)) < len(members):
            message = f"clusters={clusters!r} names a cluster twice."
            raise ValueError(message)
        seen.update(members)
        if members:
            into[members] = min(members)
    return without_gaps(into)
