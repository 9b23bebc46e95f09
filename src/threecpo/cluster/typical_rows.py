"""Rows of each cluster with the clearest and the least clear membership."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._fit.record import FitRecord

__all__ = ["clearest_rows", "least_clear_rows"]


def clearest_rows(record: FitRecord, cluster: int, n: int) -> NDArray[np.intp]:
    """Rows of a cluster with the largest margins, the clearest first."""
    return _by_margin(record, cluster, -1)[:n]


def least_clear_rows(record: FitRecord, cluster: int, n: int) -> NDArray[np.intp]:
    """Rows of a cluster with the smallest margins, the least clear first."""
    return _by_margin(record, cluster, 1)[:n]


def _by_margin(record: FitRecord, cluster: int, sign: int) -> NDArray[np.intp]:
    if record.rows is None:
        return np.empty(0, dtype=np.intp)
    places = np.flatnonzero(record.rows.labels == cluster)
    margins = record.rows.margins[places]
    return places[np.argsort(sign * margins, kind="stable")]
