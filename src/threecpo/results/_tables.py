"""What a fitted model says about rows, columns and numbers of clusters, as tables."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._map import row_map

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ..cluster import ThreeCPO
    from ..select import KPath
    from ._csv import Table


def row_table(
    model: ThreeCPO, X: Any = None, *, row_names: Iterable[Any] | None = None
) -> Table:
    """Table of the rows that a model was fitted on.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    X : array-like, frame or sparse matrix, default=None
        The counts it was fitted on, for the map; without them the map is NaN.
    row_names : sequence of str, default=None
        Names of the rows; None takes their numbers, from 0.

    Returns
    -------
    dict of str to ndarray
        ``row``, ``cluster`` (-1 for an outlier), ``nearest``, ``margin``,
        ``outlier_score``, ``scale``, ``map_x`` and ``map_y`` (see :func:`row_map`).

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.results import row_table
    >>> X = [[9, 0, 5], [8, 1, 5], [0, 9, 5], [1, 8, 5]]
    >>> rows = row_table(ThreeCPO(2, random_state=0).fit(X), X, row_names="abcd")
    >>> list(rows)
    ['row', 'cluster', 'nearest', 'margin', 'outlier_score', 'scale', 'map_x', 'map_y']
    >>> rows["row"][rows["cluster"] == rows["cluster"][0]].tolist()
    ['a', 'b']
    """
    labels = labels_of(model)
    n_rows = len(labels)
    if X is None:
        places = np.full((n_rows, 2), np.nan)
    else:
        places = row_map(model, X)
        if len(places) != n_rows:
            message = (
                f"X has {len(places)} rows, but the model was fitted on {n_rows}; "
                "pass the counts of the fit."
            )
            raise ValueError(message)
    return {
        "row": _names("row_names", row_names, n_rows),
        "cluster": labels.astype(np.int64),
        "nearest": model.nearest_labels_.astype(np.int64),
        "margin": model.margins_,
        "outlier_score": model.outlier_scores_,
        "scale": model.row_scales_,
        "map_x": places[:, 0],
        "map_y": places[:, 1],
    }


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
        ``relevant_score`` and ``rate_0`` to ``rate_{K-1}``, the rate in each cluster.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.results import column_table
    >>> X = [[9, 0, 5], [8, 1, 5], [0, 9, 5], [1, 8, 5]]
    >>> list(column_table(ThreeCPO(2, random_state=0).fit(X)))[:5]
    ['column', 'group', 'noise_score', 'shared_score', 'relevant_score']
    """
    scores = model.column_scores_
    return {
        "column": column_names_of(model, column_names),
        "group": model.column_groups_.astype(np.int64),
        "noise_score": scores[:, 0],
        "shared_score": scores[:, 1],
        "relevant_score": scores[:, 2],
        **{f"rate_{k}": rates for k, rates in enumerate(model.cluster_rates_)},
    }


def top_table(
    model: ThreeCPO, n: int = 10, *, column_names: Iterable[Any] | None = None
) -> Table:
    """Table of the most telling columns, as ``ThreeCPO.top_columns`` lists them.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    n : int, default=10
        Most columns to list for each cluster and group.
    column_names : sequence of str, default=None
        Names of the columns; None takes those of the fit, or their numbers, from 0.

    Returns
    -------
    dict of str to ndarray
        ``group``, ``cluster`` (-1 outside C1), ``rank`` (from 1), ``column`` and
        ``value``.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.results import top_table
    >>> X = [[9, 0, 5], [8, 1, 5], [0, 9, 5], [1, 8, 5]]
    >>> list(top_table(ThreeCPO(2, random_state=0).fit(X)))
    ['group', 'cluster', 'rank', 'column', 'value']
    """
    names = column_names_of(model, column_names)
    unnamed = copy(model)
    unnamed.__dict__.pop("feature_names_in_", None)
    frame = unnamed.top_columns(n)
    table = {name: np.asarray(frame[name]) for name in frame}
    return table | {"column": names[table["column"].astype(np.intp)]}


def path_table(path: KPath) -> Table:
    """Table of a path over the number of clusters, as ``KPath.to_frame`` gives it.

    Parameters
    ----------
    path : KPath
        What :func:`threecpo.select_n_clusters` returns.

    Returns
    -------
    dict of str to ndarray
        The columns of ``KPath.to_frame`` and the name of the ``criterion``.

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
    frame = path.to_frame()
    table = {name: np.asarray(frame[name]) for name in frame}
    return table | {"criterion": _names("", [path.criterion] * len(path.n_clusters))}


def labels_of(model: ThreeCPO) -> NDArray[np.int32]:
    """Labels of the rows of a fit, or why there are none."""
    check_is_fitted(model)
    if not hasattr(model, "labels_"):
        message = (
            "This model holds nothing of its rows, as write_to= had them written; "
            "threecpo.distributed.read_rows reads them."
        )
        raise ValueError(message)
    return model.labels_


def column_names_of(
    model: ThreeCPO, given: Iterable[Any] | None = None
) -> NDArray[np.object_]:
    """Names that are given, else those of the fit, else numbers."""
    if given is None:
        given = getattr(model, "feature_names_in_", None)
    return _names("column_names", given, model.n_features_in_)


def _names(
    field: str, given: Iterable[Any] | None, length: int | None = None
) -> NDArray[np.object_]:
    """Names as an array of str, as many as there must be."""
    listed = [str(name) for name in (range(length or 0) if given is None else given)]
    if length is not None and len(listed) != length:
        message = f"{field} has {len(listed)} names, but the model has {length}."
        raise ValueError(message)
    names = np.empty(len(listed), dtype=object)
    names[:] = listed
    return names
