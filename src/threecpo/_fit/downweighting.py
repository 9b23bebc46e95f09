"""Rows and columns that count for less, so that none decides a fit alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._core.dispersion import RatioTerms, added, column_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._core.loops.records import RatioSums
    from .engine import Engine
    from .record import FitRecord
    from .row_results import RowDescriber


class ReducedRows(NamedTuple):
    """Weights that reduce long rows, None: all 1; and the size of the longest."""

    weights: NDArray[np.float64] | None = None
    longest: float | None = None


def reduced_rows(
    engine: Engine,
    given: NDArray[np.float64] | None,
    max_row_size: float | None,
) -> ReducedRows:
    """Return what reduces rows longer than so many times the median size of rows.

    The median is the lower one of the rows that have counts, each as often as it is
    given to count.
    """
    if max_row_size is None:
        return ReducedRows()
    sizes = engine.fold(_row_sizes, _chained)
    filled = np.flatnonzero((sizes > 0) & (True if given is None else given > 0))
    if not len(filled):
        return ReducedRows()
    order = filled[np.argsort(sizes[filled], kind="stable")]
    mass = np.cumsum(np.ones(len(order)) if given is None else given[order])
    median = sizes[order[np.searchsorted(mass, mass[-1] / 2)]]
    longest = float(max_row_size * median)
    return ReducedRows(row_weights(sizes, longest), longest)


def row_weights(
    sizes: NDArray[np.float64], longest: float | None
) -> NDArray[np.float64] | None:
    """min(1, c / r_i) with c the size of the longest row; None: all 1."""
    if longest is None or not (sizes > longest).any():
        return None
    return np.divide(longest, sizes, out=np.ones(len(sizes)), where=sizes > longest)


def dispersion_weights(
    engine: Engine, record: FitRecord, max_dispersion: float
) -> NDArray[np.float64] | None:
    """Weights of columns by their dispersion in a fit of these rows; None: all 1."""
    expected = RatioTerms.of(record.smoothed, record.groups)
    work = partial(_ratio_sums, record.describer, expected)
    found = engine.fold(work, added)
    return column_weights(expected.dispersions(found), max_dispersion)


def _ratio_sums(
    describer: RowDescriber, expected: RatioTerms, _: int, counts: Counts
) -> RatioSums:
    counts = describer.in_batches(counts)
    rows = describer(counts)
    labels = describer.labels_of_rates(rows.labels, rows.nearest_labels)
    return expected.ratio_sums(counts, labels)


def _row_sizes(_: int, counts: Counts) -> NDArray[np.float64]:
    return counts.row_lengths(1)


def _chained(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([a, b])
