"""Rows that clusters start from because they have much of the columns that were named.

Such rows are held in their clusters while the search goes on, and released afterwards.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .._core.codes import FREE, starting_code

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._core.rows import RowInfo
    from .driver import FitRows
    from .given_columns import SeedColumns
    from .plan import Plan

    # For each row the cluster whose columns it has the most of, and how clearly.
    Evidence = tuple[NDArray[np.int32], NDArray[np.float64]]

# Clusters together start from one row in so many.
ROWS_PER_SEED = 10


def with_seed_rows(plan: Plan, info: RowInfo, rows: FitRows) -> RowInfo:
    """Return what belongs to rows, those known that the plan's columns make seeds."""
    seeds = plan.seed_columns
    if not seeds or not isinstance(plan.init, str):
        return info
    totals = rows.totals
    _warn_of_empty(seeds, totals)
    found = rows.fold(partial(seed_evidence, seeds, totals), _chained)
    known = _with_seeds(seeds, found, info.known, info.weights)
    # Clusters of columns come first; known ones have their names already.
    names = info.known_names or tuple(name for name, _ in seeds)
    return replace(info, known=known, known_names=names)


def seed_evidence(
    seeds: SeedColumns, totals: NDArray[np.float64], _: int, counts: Counts
) -> Evidence:
    """Which cluster's columns a row has more of than its size tells, and how clearly.

    Of x counts where e are expected, x log(x / e) - (x - e) nats speak for the cluster
    if x is above e; how clearly is what the second best falls short.
    """
    matrix, sizes = counts.matrix(), counts.row_lengths(1)
    scores = np.zeros((counts.n_rows, len(seeds) + 1))
    for k, (_name, columns) in enumerate(seeds):
        x = matrix[:, list(columns)].sum(axis=1)
        expected = sizes * (totals[list(columns)].sum() / max(totals.sum(), 1.0))
        above = x > expected
        ratio = np.divide(x, expected, out=np.ones_like(sizes), where=above)
        scores[above, k] = (x * np.log(ratio) - (x - expected))[above]
    best = scores.argmax(axis=1).astype(np.int32)
    top_two = np.sort(scores, axis=1)[:, -2:]
    return best, top_two[:, 1] - top_two[:, 0]


def _chained(a: Evidence, b: Evidence) -> Evidence:
    return np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])


def _with_seeds(
    seeds: SeedColumns,
    found: Evidence,
    known: NDArray[np.int32] | None,
    weights: NDArray[np.float64] | None,
) -> NDArray[np.int32]:
    """Known clusters of rows, with the clearest rows of each cluster of columns."""
    best, clear = found
    codes = np.full(len(best), FREE, dtype=np.int32) if known is None else known.copy()
    usable = (clear > 0) & (codes == FREE)
    if weights is not None:
        usable &= weights > 0
    most = max(1, len(best) // (ROWS_PER_SEED * len(seeds)))
    for k, (name, _) in enumerate(seeds):
        rows = np.flatnonzero(usable & (best == k))
        rows = rows[np.argsort(-clear[rows], kind="stable")[:most]]
        there = known is not None and bool(((known == k) | (known == -2 - k)).any())
        if not len(rows) and not there:
            message = (
                f"seed_columns: no row has more of the columns of {name!r} than of the "
                "others; name columns that some rows have much of."
            )
            raise ValueError(message)
        codes[rows] = starting_code(np.array(k))
    return codes


def _warn_of_empty(seeds: SeedColumns, totals: NDArray[np.float64]) -> None:
    """Warn of columns that start nothing, as no row has counts there."""
    for name, columns in seeds:
        empty = [j for j in columns if totals[j] == 0]
        if empty:
            listed = ", ".join(map(str, empty))
            message = f"seed_columns: column {listed} of {name!r} has no counts."
            warnings.warn(message, UserWarning, stacklevel=2)
