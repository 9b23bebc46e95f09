"""What tables and figures take from a fitted model: its record, rows and names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import NO_COUNTS, OUTLIER
from ..cluster.naming import cluster_names_of, names_array
from ..table import CountTable
from .table_files import TEXT, WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from .._core.markers import ExpectedCounts
    from .._fit.record import FitRecord
    from .._fit.row_results import RowResults
    from ..cluster.fitting import PoissonClusterer
    from .table_files import Table

# What stands for a name where a row is in no cluster.
OUTSIDE = {OUTLIER: "outlier", NO_COUNTS: "without counts"}


def record_of(model: PoissonClusterer) -> FitRecord:
    """Return the record of a fitted model, which ``set_params`` does not change."""
    if not hasattr(model, "record_"):
        from ..cluster.fitting import check_is_fitted

        check_is_fitted(model)
    return model.record_


def rows_of(record: FitRecord) -> RowResults:
    """Return the results of the rows of a fit, or say why there are none."""
    if record.rows is None:
        from .._fit.record import NO_ROWS

        raise ValueError(NO_ROWS)
    return record.rows


def check_n_rows(record: FitRecord, n_rows: int) -> None:
    """Refuse counts of other rows than those of the fit."""
    if n_rows != record.n_rows:
        message = (
            f"X has {n_rows} rows, but the model was fitted on {record.n_rows}; "
            "pass the counts of the fit."
        )
        raise ValueError(message)


# Least probability of the own cluster that is called so.
SURE = {"clear": 0.9, "likely": 0.6, "doubtful": 0.0}


def in_words(confidence: float | None) -> str:
    """A probability of the own cluster as a word; nothing where it is not known."""
    if confidence is None or np.isnan(confidence):
        return ""
    return next(word for word, least in SURE.items() if confidence >= least)


def row_confidence(record: FitRecord) -> NDArray[np.float64] | None:
    """Probability of its own cluster for each row, NaN outside of clusters.

    None where it was not measured.
    """
    sure = record.confidence
    found = None if sure is None else sure.probabilities
    if found is None or record.rows is None:
        return None
    labels, _ = shown_labels(record, record.rows)
    own = found[np.arange(len(labels)), np.maximum(labels, 0)]
    return np.where(labels >= 0, own, np.nan)


def mean_confidence(record: FitRecord) -> list[float | None]:
    """Mean probability of the own cluster, for each; None where it is not known."""
    own = row_confidence(record)
    if own is None:
        return [None] * record.n_clusters
    inside = ~np.isnan(own)
    labels = rows_of(record).labels[inside]
    sums = np.bincount(labels, own[inside], record.n_clusters).tolist()
    sizes = np.bincount(labels, minlength=record.n_clusters).tolist()
    return [total / n if n else None for total, n in zip(sums, sizes, strict=True)]


def sizes_of(record: FitRecord) -> NDArray[np.int64]:
    """Rows of each cluster; rows without counts are in none."""
    if record.rows is None:
        return record.cluster_sizes
    labels, _ = shown_labels(record, record.rows)
    return np.bincount(labels[labels >= 0], minlength=record.n_clusters)


def shown_labels(
    record: FitRecord, rows: RowResults
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Labels and nearest clusters of tables: none for rows without counts."""
    own = rows is record.rows
    empty = record.empty_rows if own else record.describer.without_counts(rows)
    labels, nearest = (
        np.where(empty, NO_COUNTS, values).astype(np.int64)
        for values in (rows.labels, rows.nearest_labels)
    )
    return labels, nearest


def names_of_rows(
    record: FitRecord, clusters: NDArray[np.int64]
) -> NDArray[np.object_]:
    """Name of the cluster of each row."""
    # Last, so that -1 and -2 find theirs.
    names = [*cluster_names_of(record), OUTSIDE[NO_COUNTS], OUTSIDE[OUTLIER]]
    return np.array(names, dtype=object)[clusters]


def table_of_rows(
    record: FitRecord, names: NDArray[np.object_], rows: RowResults
) -> Table:
    """Columns that hold for all rows, those of the fit and others."""
    labels, nearest = shown_labels(record, rows)
    return {
        "row": names,
        "cluster": labels,
        "name": names_of_rows(record, labels),
        "nearest": nearest,
        "margin": rows.margins,
        "outlier_score": rows.outlier_scores,
    }


def column_names_of(
    record: FitRecord, given: Iterable[Any] | None = None
) -> NDArray[np.object_]:
    """Names that are given, else those of the fit, else numbers."""
    names = record.column_names if given is None else given
    return names_array("column_names", names, record.n_columns)


def named_columns(
    record: FitRecord, given: Iterable[Any] | None = None
) -> tuple[NDArray[Any], np.dtype[Any]]:
    """The same and what they are in tables: text, or whole numbers without names."""
    if given is None and record.column_names is None:
        return np.arange(record.n_columns), WHOLE
    return column_names_of(record, given), TEXT


# What leads back from transformed counts.
_BACK = {"log1p": np.expm1, "sqrt": np.square}


def in_own_units(record: FitRecord, values: NDArray[Any]) -> NDArray[Any]:
    """Values in the units of the counts, if these were transformed before the fit."""
    return _BACK[record.transform](values) if record.transform else values


def expected_counts(record: FitRecord) -> ExpectedCounts:
    """Counts expected in a row of mean size, in the units of the user's table."""
    found = record.markers.expected
    return replace(
        found,
        clusters=in_own_units(record, found.clusters),
        overall=in_own_units(record, found.overall),
    )


def row_names_of(
    record: FitRecord, X: Any = None, given: Iterable[Any] | None = None
) -> NDArray[np.object_]:
    """Names that are given, else those of a table, else of the fit, else numbers."""
    names = given
    if names is None and isinstance(X, CountTable):
        names = X.row_names
    if names is None:
        names = record.row_names
    return names_array("row_names", names, record.n_rows)


def held_columns(record: FitRecord) -> list[str]:
    """Names of the columns that are held back, the least weight first."""
    weights, names = record.sums.column_weights, column_names_of(record, None)
    return [] if weights is None else names[lightest(weights)].tolist()


def lightest(weights: NDArray[np.float64]) -> NDArray[np.intp]:
    """Places of weights below 1, the least first."""
    order = np.argsort(weights, kind="stable")
    return order[weights[order] < 1]
