"""Shares of the clusters in parts of the rows: in classes, or over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .fitted import record_of, rows_of, shown_labels
from .row_parts import parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..cluster import ThreeCPO
    from ._csv_tables import Table


def share_table(
    model: ThreeCPO, by: Iterable[Any], *, bins: int | str | None = None
) -> Table:
    """Table of the clusters' shares in each class of rows, or over time.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    by : sequence with a value for each row of the fit
        Names of classes, numbers, or dates (``datetime64``, a column of pandas).
        Rows without one (None, NaN, NaT) are left out.
    bins : int, "year", "month", "day" or None, default=None
        Parts of numbers: how many of equal width; None takes ten, or each number for
        itself where there are no more than 20 different ones. Parts of dates: the unit;
        None takes one by how long the time is.

    Returns
    -------
    dict of str to ndarray
        A line for each part and cluster: ``part``, its number of ``rows``, ``cluster``
        (-1 for outliers, -2 for rows without counts in relevant or shared columns,
        where there are any), ``count`` of rows in both, and ``share`` of the part's
        rows (NaN for a part without rows).

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.results import share_table
    >>> X = [[9, 0, 5], [8, 1, 5], [0, 9, 5], [1, 8, 5]]
    >>> model = ThreeCPO(2, random_state=0).fit(X)
    >>> table = share_table(model, ["new", "old", "old", "old"])
    >>> table["part"].tolist()
    ['new', 'new', 'old', 'old']
    >>> table["rows"].tolist()
    [1, 1, 3, 3]
    >>> float(table["share"].sum())
    2.0
    """
    record = record_of(model)
    labels, _ = shown_labels(record, rows_of(record))
    parts = parts_of(by, record.n_rows, bins)
    others = sorted(set(labels[labels < 0].tolist()), reverse=True)
    clusters = [*range(record.n_clusters), *others]
    counts = np.array(
        [
            np.bincount(
                parts.of_rows[(labels == cluster) & (parts.of_rows >= 0)],
                minlength=len(parts.names),
            )
            for cluster in clusters
        ]
    ).T
    rows = counts.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        shares = counts / rows
    names = np.empty(len(parts.names), dtype=object)
    names[:] = parts.names
    return {
        "part": np.repeat(names, len(clusters)),
        "rows": np.repeat(rows[:, 0], len(clusters)),
        "cluster": np.tile(np.array(clusters, dtype=np.int64), len(names)),
        "count": counts.ravel(),
        "share": shares.ravel(),
    }
