"""Rows, columns and numbers of clusters of a fit as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.workers import Workers
from .._names import MARKER_ORDERS
from .._options import check_choice, check_integer, resolve_n_jobs
from .._validation import check_counts
from ..cluster.tables import marker_table
from ..table import CountTable
from ._row_coordinates import row_map
from .fitted import (
    column_names_of,
    names_array,
    record_of,
    row_names_of,
    rows_of,
    table_of_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ..cluster import ThreeCPO
    from ..select import KPath
    from ._csv_tables import Table


def row_table(
    model: ThreeCPO, X: Any = None, *, row_names: Iterable[Any] | None = None
) -> Table:
    """Table of the rows that a model was fitted on.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    X : CountTable, array-like, frame or sparse matrix, default=None
        The counts it was fitted on, for the map; without them the map is NaN.
    row_names : sequence of str, default=None
        Names of the rows; None takes those of a CountTable, else those of the fit,
        else their numbers, from 0.

    Returns
    -------
    dict of str to ndarray
        ``row``, ``cluster`` (-1 for an outlier, -2 for a row without counts in relevant
        or shared columns, such as a text without known words) and its ``name``,
        ``nearest``, ``margin``, ``outlier_score``, ``scale``, ``map_x`` and ``map_y``
        (see :func:`row_map`), and ``title`` where X is a table with ``row_titles``.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.results import row_table
    >>> X = [[9, 0, 5], [8, 1, 5], [0, 9, 5], [1, 8, 5]]
    >>> rows = row_table(ThreeCPO(2, random_state=0).fit(X), X, row_names="abcd")
    >>> list(rows)[:6]
    ['row', 'cluster', 'name', 'nearest', 'margin', 'outlier_score']
    >>> rows["row"][rows["cluster"] == rows["cluster"][0]].tolist()
    ['a', 'b']
    """
    n_rows = record_of(model).n_rows
    places = np.full((n_rows, 2), np.nan) if X is None else row_map(model, X)
    return placed_rows(model, places, X, row_names)


def placed_rows(
    model: ThreeCPO,
    places: NDArray[np.float64],
    X: Any = None,
    row_names: Iterable[Any] | None = None,
) -> Table:
    """Table of the rows of a fit with these places in the map."""
    record = record_of(model)
    rows = rows_of(record)
    if len(places) != record.n_rows:
        message = (
            f"X has {len(places)} rows, but the model was fitted on {record.n_rows}; "
            "pass the counts of the fit."
        )
        raise ValueError(message)
    places[record.describer.without_counts(rows)] = np.nan
    return table_of_rows(record, row_names_of(record, X, row_names), rows) | {
        "scale": rows.row_scales,
        "map_x": places[:, 0],
        "map_y": places[:, 1],
        **({} if rows.row_weights is None else {"weight": rows.row_weights}),
        **_titles(X),
    }


def predicted_rows(
    model: ThreeCPO,
    X: Any,
    *,
    row_names: Iterable[Any] | None = None,
    batch: Any = None,
) -> Table:
    """Table of other rows under a fitted model.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    X : CountTable, array-like, frame or sparse matrix of shape (n_rows, n_columns)
        Counts of the model's columns.
    row_names : sequence of str, default=None
        Names of the rows; None takes those of a CountTable, else their numbers, from 0.
    batch : array-like of shape (n_rows,) or None, default=None
        Batch of each row, as in :meth:`ThreeCPO.predict`.

    Returns
    -------
    dict of str to ndarray
        The columns of :func:`row_table` that hold for rows that a model was not fitted
        on: ``row``, ``cluster`` (-1 for an outlier, -2 for a row without known counts)
        and its ``name``, ``nearest``, ``margin`` and ``outlier_score``, and ``title``
        where X has ``row_titles``.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.results import predicted_rows
    >>> X = [[9, 0, 5], [8, 1, 5], [0, 9, 5], [1, 8, 5]]
    >>> model = ThreeCPO(2, random_state=0).fit(X)
    >>> rows = predicted_rows(model, [[7, 0, 4]], row_names=["new"])
    >>> list(rows)
    ['row', 'cluster', 'name', 'nearest', 'margin', 'outlier_score']
    >>> bool(rows["cluster"][0] == model.labels_[0])
    True
    """
    record = record_of(model)
    counts = check_counts(X, model, reset=False)
    if row_names is None and isinstance(X, CountTable):
        row_names = X.row_names
    names = names_array("row_names", row_names, counts.n_rows, of="X")
    counts = record.in_batches(counts, batch)
    with Workers(resolve_n_jobs(model.n_jobs)) as workers:
        return table_of_rows(record, names, record.describe(counts, workers)) | _titles(
            X
        )


def _titles(X: Any) -> Table:
    """Lines that show what the rows are, where a table has them."""
    titles = X.row_titles if isinstance(X, CountTable) else None
    return {} if titles is None else {"title": titles}


def column_table(
    model: ThreeCPO, *, column_names: Iterable[Any] | None = None
) -> Table:
    """Table of the columns of a fitted model.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    column_names : sequence of str, default=None
        Names of the columns; None takes those of the fit, or their numbers, from 0.

    Returns
    -------
    dict of str to ndarray
        ``column``, ``group`` (1, 0 or -1), ``noise_score``, ``shared_score``,
        ``relevant_score``; and the counts expected in a row of mean size, ``overall``
        and in each cluster, ``here_0`` to ``here_{K-1}``. Where columns are held back,
        also the ``weight`` of each.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.results import column_table
    >>> X = [[9, 0, 5], [8, 1, 5], [0, 9, 5], [1, 8, 5]]
    >>> list(column_table(ThreeCPO(2, random_state=0).fit(X)))[:5]
    ['column', 'group', 'noise_score', 'shared_score', 'relevant_score']
    """
    record = record_of(model)
    scores, expected = record.column_scores, record.markers.expected
    weights = record.sums.column_weights
    held = {} if weights is None else {"weight": weights}
    return {
        "column": column_names_of(record, column_names),
        "group": record.groups.astype(np.int64),
        "noise_score": scores[:, 0],
        "shared_score": scores[:, 1],
        "relevant_score": scores[:, 2],
        "overall": expected.overall,
        **{f"here_{k}": counts for k, counts in enumerate(expected.clusters)},
        **held,
    }


def top_table(
    model: ThreeCPO,
    n: int = 10,
    *,
    order: str = "marker",
    column_names: Iterable[Any] | None = None,
) -> Table:
    """Table of the columns that mark each cluster, and the largest of other groups.

    ``ThreeCPO.top_columns`` gives the same as a frame.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    n : int, default=10
        Most columns to list for each cluster and group.
    order : {"marker", "excess"}, default="marker"
        By strength and evidence, or by the difference of counts, the paper's order.
    column_names : sequence of str, default=None
        Names of the columns; None takes those of the fit, or their numbers, from 0.

    Returns
    -------
    dict of str to ndarray
        ``group``, ``cluster`` (-1 outside C1), ``name``, ``rank`` (from 1), ``column``,
        ``here``, ``overall``, ``ratio`` and ``evidence``.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.results import top_table
    >>> X = [[9, 0, 5], [8, 1, 5], [0, 9, 5], [1, 8, 5]]
    >>> list(top_table(ThreeCPO(2, random_state=0).fit(X)))[4:]
    ['column', 'here', 'overall', 'ratio', 'evidence']
    """
    record = record_of(model)
    check_choice("order", order, MARKER_ORDERS)
    names = None
    if column_names is not None:
        names = column_names_of(record, column_names)
    listed = marker_table(
        record, check_integer("n", n, 1), order=order, column_names=names
    )
    kinds: dict[str, Any] = {"name": object, "column": object}
    listed["column"] = [str(column) for column in listed["column"]]
    return {key: np.array(listed[key], kinds.get(key)) for key in listed}


def path_table(path: KPath) -> Table:
    """Table of a path over the number of clusters, as ``KPath.to_table`` gives it.

    Parameters
    ----------
    path : KPath
        What :func:`threecpo.select_n_clusters` returns.

    Returns
    -------
    dict of str to ndarray
        The columns of ``KPath.to_table`` and the name of the ``criterion``.

    Examples
    --------
    >>> from threecpo import select_n_clusters
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.results import path_table
    >>> X, _ = make_synth(300, random_state=0)
    >>> path = select_n_clusters(X, range(1, 5), n_init=3, random_state=0)
    >>> path_table(path)["n_clusters"].tolist()
    [1, 2, 3, 4]
    """
    n_fits = len(path.n_clusters)
    return path.to_table() | {
        "criterion": np.full(n_fits, path.criterion, dtype=object)
    }
