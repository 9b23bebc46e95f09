"""Tables of rows: those of a fit, new ones and rows in blocks; places in the map."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core.codes import NOISE, RELEVANT
from .._core.workers import Workers
from .._options import resolve_n_jobs
from .._validation import check_counts
from ..cluster.naming import names_array
from ..table import CountTable, find_columns
from .fitted import (
    check_n_rows,
    in_words,
    record_of,
    row_confidence,
    row_names_of,
    rows_of,
    table_of_rows,
)
from .table_files import TEXT, column_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._fit.record import FitRecord
    from ..cluster import ThreeCPO
    from .table_files import Table

# Rows that are laid out; more of them are placed by their neighbours among these.
LAID_OUT = 5_000
# Rows whose scores are in memory at the same time.
_AT_ONCE = 1 << 16


def row_map(model: ThreeCPO, X: Any) -> NDArray[np.float64]:
    """Two coordinates for each row, in which rows with similar scores are near.

    A row has a score in each cluster and in the background. Divided by the row's size
    and centred they say where the row sits between the clusters. The map starts from
    a map of the clusters, pulls every row to its 15 nearest neighbours by these scores
    and pushes it from rows drawn at random, as UMAP does. Rows that are near in the map
    have similar scores; distances between far groups, and the axes, mean nothing. The
    same rows in the same order have the same bits each time, for any number of threads.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    X : CountTable, array-like, frame or sparse matrix of shape (n_rows, n_columns)
        Counts of the model's columns. Of more than 5000 rows so many are drawn and
        laid out, and each other row is placed by its nearest ones among them.

    Returns
    -------
    ndarray of shape (n_rows, 2)
        Coordinates without a unit; 0 where there is one cluster only.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.results import row_map
    >>> X, _ = make_synth(random_state=0)
    >>> row_map(ThreeCPO(3, random_state=0).fit(X), X).shape
    (1000, 2)
    """
    # Columns of a table are matched by name.
    named = model if isinstance(X, CountTable) else None
    record, counts = record_of(model), check_counts(X, named, reset=named is None)
    if counts.n_columns != record.n_columns:
        message = (
            f"X has {counts.n_columns} columns, but the model was fitted on "
            f"{record.n_columns}."
        )
        raise ValueError(message)
    own = record.rows
    if not counts.row_info.arrays() and own and len(own.labels) == counts.n_rows:
        # What belonged to these rows in the fit.
        info = replace(own.info, batch_names=record.batch_names)
        counts = counts.with_rows(replace(info, known=None, known_names=()))
    if record.n_clusters == 1 or not (record.groups == RELEVANT).any():
        return np.zeros((counts.n_rows, 2))
    with Workers(resolve_n_jobs(model.n_jobs)) as workers:
        return _mapped(record, counts, workers)


def _mapped(record: FitRecord, counts: Counts, workers: Workers) -> NDArray[np.float64]:
    from .._core.layout import place_by_neighbours, plane, principal_directions

    n_rows = counts.n_rows
    drawn = np.arange(n_rows)
    if n_rows > LAID_OUT:
        generator = np.random.default_rng(0)
        drawn = np.sort(generator.choice(n_rows, LAID_OUT, replace=False))
    scores, nearest = _scores_per_count(record, counts.rows(drawn), workers)
    axes = principal_directions(scores)
    points = np.einsum("ik,kd->id", scores, axes)
    laid_out = plane(points, nearest, workers.n_jobs)
    out = np.empty((n_rows, 2))
    out[drawn] = laid_out
    if n_rows == len(drawn):
        return out
    from scipy.spatial import cKDTree

    tree = cKDTree(points)
    others = np.setdiff1d(np.arange(n_rows), drawn, assume_unique=True)
    for start in range(0, len(others), _AT_ONCE):
        some = others[start : start + _AT_ONCE]
        scores, _ = _scores_per_count(record, counts.rows(some), workers)
        further = np.einsum("ik,kd->id", scores, axes)
        out[some] = place_by_neighbours(tree, laid_out, further, workers.n_jobs)
    return out


def _scores_per_count(
    record: FitRecord, counts: Counts, workers: Workers
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Centred scores in all clusters and the background, and the nearest cluster."""
    rows = record.describe(counts, workers)
    scores = record.row_scores(counts, workers)
    used = (record.groups != NOISE).astype(np.float64)
    if rows.batches is None:
        background = scores.max(axis=1) + rows.outlier_scores
        scores = np.column_stack([scores, background])
    else:
        # The background, and how many shared counts a row has, tell batches apart.
        used = (record.groups == RELEVANT).astype(np.float64)
    sizes = counts.matrix() @ used + record.settings.prior * used.sum()
    finite = np.isfinite(scores)
    if not finite.all():
        # Without a prior, clusters that lack a count of the row are impossible: a nat
        # for each count below the lowest that is possible.
        lowest = np.where(finite, scores, np.inf).min(axis=1, initial=np.inf)
        lowest = np.where(np.isfinite(lowest), lowest, 0.0)
        scores = np.where(finite, scores, (lowest - sizes)[:, None])
    scores -= scores.mean(axis=1, keepdims=True)
    some = sizes > 0
    scores[some] /= sizes[some, None]
    scores[~some] = 0.0
    return scores, rows.nearest_labels


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
        (see :func:`row_map`); ``confidence`` and ``sure`` (clear, likely or doubtful)
        where the fit has probabilities; ``title`` where X has ``row_titles``.

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
    rows, sure = rows_of(record), row_confidence(record)
    check_n_rows(record, len(places))
    places[record.empty_rows] = np.nan
    table = table_of_rows(record, row_names_of(record, X, row_names), rows) | {
        "scale": rows.row_scales,
        "map_x": places[:, 0],
        "map_y": places[:, 1],
    }
    if rows.row_weights is not None:
        table["weight"] = rows.row_weights
    if sure is not None:
        table["confidence"] = sure
        table["sure"] = column_of(map(in_words, sure.tolist()), TEXT)
    return table | _titles(X)


def predicted_rows(
    model: ThreeCPO,
    X: Any,
    *,
    row_names: Iterable[Any] | None = None,
    batch: Any = None,
) -> Table:
    """Table of new rows under a fitted model.

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
    from ..cluster.fitting import info_of_new_rows

    record = record_of(model)
    counts = check_counts(X, model, reset=False)
    if row_names is None and isinstance(X, CountTable):
        row_names = X.row_names
    names = names_array("row_names", row_names, counts.n_rows, of="X")
    given: Any = {"batch": batch, "beside": counts.row_info, "stacklevel": 3}
    info = info_of_new_rows(record, counts.n_rows, **given)
    counts = record.in_batches(counts.with_rows(info))
    with Workers(resolve_n_jobs(model.n_jobs)) as workers:
        return table_of_rows(record, names, record.describe(counts, workers)) | _titles(
            X
        )


def _titles(X: Any) -> Table:
    """Lines that show what the rows are, where a table has them."""
    titles = X.row_titles if isinstance(X, CountTable) else None
    return {} if titles is None else {"title": titles}


def predicted_block_rows(
    model: ThreeCPO,
    blocks: Any,
    *,
    row_names: Iterable[Any] | None = None,
    **options: Any,
) -> Table:
    """Table of other rows, which come in blocks, under a fitted model."""
    from ..distributed import described_rows

    found, names = described_rows(model, blocks, **options)
    given = names if row_names is None else row_names
    names = names_array("row_names", given, len(found.labels), of="blocks")
    return table_of_rows(record_of(model), names, found)


def block_row_table(
    model: ThreeCPO,
    blocks: Any,
    *,
    row_names: Iterable[Any] | None = None,
    **options: Any,
) -> Table:
    """Table of the rows that a model was fitted on, which come in blocks.

    The map is made of 5000 rows, which are drawn by their number; the others have no
    place in it.
    """
    from ..distributed import drawn_rows

    record = record_of(model)
    rows_of(record)  # says why there are none before anything is read
    n_rows, drawn, counts = drawn_rows(model, blocks, LAID_OUT, **options)
    places = np.full((n_rows, 2), np.nan)
    places[drawn] = row_map(model, CountTable(counts, column_names=record.column_names))
    return placed_rows(model, places, None, row_names)


class MatchedColumns(NamedTuple):
    """A table of the wanted columns, names that it lacked, and names left out."""

    table: CountTable
    missing: list[str]
    extra: list[str]


def match_columns(names: Iterable[str], table: CountTable) -> MatchedColumns:
    """Put the columns of a table in the order of these names."""
    if table.column_names is None:
        message = "The table has no column names to match columns by."
        raise ValueError(message)
    wanted, held = list(names), table.column_names.tolist()
    if held == wanted:
        return MatchedColumns(table, [], [])
    found = find_columns(wanted, held)
    called = names_array("names", wanted, len(wanted))
    counts = check_counts(found.taken(table.X))
    matched = replace(table, counts=counts, column_names=called)
    return MatchedColumns(matched, found.missing, found.extra)
