"""Rows that show what a cluster is, and rows at its edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._options import check_integer
from ..cluster.naming import clearest_rows, cluster_names_of, least_clear_rows
from .fitted import record_of, row_names_of, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..cluster import ThreeCPO
    from ._csv_tables import Table


def typical_rows(
    model: ThreeCPO,
    X: Any = None,
    n: int = 3,
    *,
    row_names: Iterable[Any] | None = None,
) -> Table:
    """Table of the rows of each cluster with the clearest and least clear membership.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    X : CountTable, default=None
        The table of the fit, for the names of its rows; the counts are not needed.
    n : int, default=3
        Most rows to list for each cluster and kind.
    row_names : sequence of str, default=None
        Names of the rows; None takes those of X, else of the fit, else their numbers.

    Returns
    -------
    dict of str to ndarray
        ``cluster``, its ``name``, ``kind`` (``"clear"`` or ``"unclear"``), ``rank``
        (from 1), ``place`` (number of the row, from 0), ``row`` (its name) and
        ``margin``, by how many nats the cluster fits better than the next best.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.results import typical_rows
    >>> X = [[90, 0, 50], [80, 1, 50], [0, 90, 50], [1, 80, 50], [9, 40, 40]]
    >>> table = typical_rows(ThreeCPO(2, random_state=0).fit(X), n=1, row_names="abcde")
    >>> table["row"].tolist(), table["kind"].tolist()
    (['c', 'e', 'a', 'b'], ['clear', 'unclear', 'clear', 'unclear'])
    """
    record = record_of(model)
    rows, n = rows_of(record), check_integer("n", n, 1)
    names, clusters = row_names_of(record, X, row_names), cluster_names_of(record)
    kinds = {"clear": clearest_rows, "unclear": least_clear_rows}
    lines = [
        (k, clusters[k], kind, rank, place, names[place], rows.margins[place])
        for k in range(record.n_clusters)
        for kind, chosen in kinds.items()
        for rank, place in enumerate(chosen(record, k, n).tolist(), start=1)
    ]
    types = {
        "cluster": np.int64,
        "name": object,
        "kind": object,
        "rank": np.int64,
        "place": np.int64,
        "row": object,
        "margin": np.float64,
    }
    columns = list(zip(*lines, strict=True)) or [()] * len(types)
    return {
        key: np.array(values, dtype=kind)
        for (key, kind), values in zip(types.items(), columns, strict=True)
    }
