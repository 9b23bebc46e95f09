"""The joins of a tree as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import RELEVANT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._fit.record import FitRecord

__all__ = ["tree_table"]


def tree_table(record: FitRecord) -> dict[str, Any]:
    """List the joins of a fit's clusters, the cheapest first.

    Parameters
    ----------
    record : FitRecord
        A finished fit.

    Returns
    -------
    dict of str to ndarray or list
        What ``ThreeCPO.tree_table`` describes.
    """
    tree, n = record.tree, record.n_clusters
    left, right = tree.linkage[:, :2].astype(np.int64).T
    below = tree.members
    sizes, sure = record.sums.cluster_sizes, record.confidence
    dispersion, temperature = (
        (np.nan, np.nan) if sure is None else (sure.dispersion, sure.temperature)
    )
    return {
        "node": n + np.arange(n - 1),
        "left": left,
        "right": right,
        "height": tree.heights,
        "lost": tree.lost,
        "height_over_dispersion": tree.heights / (dispersion or np.nan),
        "height_over_temperature": tree.heights / temperature,
        "net": tree.lost - _price_given_back(record),
        "rows": np.array([sizes[each].sum() for each in below[n:]], dtype=np.int64),
        "clusters": below[n:],
    }


def _price_given_back(record: FitRecord) -> NDArray[np.float64]:
    """How much less C1 costs after each join, its columns held; NaN if not known."""
    from .._fit.stored_settings import lost_price

    if record.settings.price is lost_price:
        return np.full(record.n_clusters - 1, np.nan)
    totals = record.smoothed.totals[record.groups == RELEVANT]
    price, n_rows = record.settings.price, record.sums.mass
    each = [price(totals, k, n_rows).sum() for k in range(record.n_clusters, 0, -1)]
    return -np.diff(np.array(each))
