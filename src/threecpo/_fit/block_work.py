"""What a fit does with one block of rows, and how results of blocks come together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import seeding
from .._core.codes import NOWHERE, all_held, all_relevant, inner_labels
from .._core.counts import stacked
from .._core.sums import sum_by_labels, sums_by_profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._core.run import Request
    from .._core.sums import Sums
    from .engine import Engine
    from .row_results import RowDescriber


def answer(requests: Sequence[Request], _: int, counts: Counts) -> list[Sums]:
    """Sums of a block by the profile of each request: the pass of all runs."""
    return [
        sums_by_profile(counts, profile, with_sizes=with_sizes)
        for profile, with_sizes in requests
    ]


def sum_given(
    labels: Sequence[NDArray[np.int32]],
    n_clusters: int,
    groups: NDArray[np.int8],
    prior: float,
    index: int,
    counts: Counts,
) -> list[Sums]:
    """Sums of a block whose labels are given, as those of every block."""
    return [sum_by_labels(counts, labels[index], n_clusters, groups, prior)]


def sum_placed(
    describer: RowDescriber,
    with_outliers: bool,  # noqa: FBT001
    n_clusters: int,
    groups: NDArray[np.int8],
    prior: float,
    _: int,
    counts: Counts,
) -> list[Sums]:
    """Sums of a block by the labels that another fit gives it."""
    results = describer(counts)
    labels = results.labels if with_outliers else results.nearest_labels
    labels = inner_labels(labels, n_clusters)
    return [sum_by_labels(counts, labels, n_clusters, groups, prior)]


def x_log_x_above(
    used: NDArray[np.bool_], prior: float, _: int, counts: Counts
) -> NDArray[np.float64]:
    return seeding.x_log_x_above(counts.columns(used), prior)


def sum_columns(used: NDArray[np.bool_], prior: float, _: int, counts: Counts) -> Sums:
    """Sums over all rows with these columns in use, and no others."""
    nowhere = np.full(counts.n_rows, NOWHERE, dtype=np.int32)
    everything = all_relevant(int(np.count_nonzero(used)))
    return sum_by_labels(counts.columns(used), nowhere, 0, everything, prior)


def add_each(a: list[Sums], b: list[Sums]) -> list[Sums]:
    for own, other in zip(a, b, strict=True):
        own.add(other)
    return a


def take_rows(
    rows: Sequence[NDArray[np.int64]], index: int, counts: Counts
) -> list[Counts]:
    """Chosen rows of a block, as those of every block."""
    return [counts.rows(rows[index])] if len(rows[index]) else []


def rows_to_sample(
    n_rows: int, n_sampled: int, seed: Any, known: NDArray[np.int32] | None = None
) -> NDArray[np.int64]:
    """Rows drawn by their number, in their order.

    Of each known cluster there are as many as its part of half a sample, if it has
    them: rows are added where fewer were drawn.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.choice(n_rows, n_sampled, replace=False, shuffle=False)
    if known is not None and n_sampled < n_rows:
        held = all_held(known)
        n_known = int(held.max()) + 1
        enough = max(1, n_sampled // (2 * n_known))
        for k in range(n_known):
            there = int(np.count_nonzero(held[drawn] == k))
            others = np.setdiff1d(np.flatnonzero(held == k), drawn)
            n_more = min(max(enough - there, 0), len(others))
            more = rng.choice(others, n_more, replace=False, shuffle=False)
            drawn = np.concatenate([drawn, more])
    drawn.sort()
    return drawn


def rows_of(
    engine: Engine, firsts: NDArray[np.int64], drawn: NDArray[np.int64]
) -> Counts:
    """Rows of these numbers, which ascend, in memory."""
    cuts = np.searchsorted(drawn, firsts)
    rows = [
        drawn[a:b] - first
        for a, b, first in zip(cuts[:-1], cuts[1:], firsts[:-1], strict=True)
    ]
    parts = engine.fold(partial(take_rows, rows), list.__add__)
    return stacked(parts)


def nearest_labels(
    describer: RowDescriber, _: int, counts: Counts
) -> list[NDArray[np.int32]]:
    """Best cluster of each row of a block, as those of every block."""
    return [describer(counts).nearest_labels]
