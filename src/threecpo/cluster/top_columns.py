"""The paper's table of words: which columns mark each cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import NOISE, RELEVANT, SHARED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._fit.record import FitRecord

__all__ = ["have_common_scale", "named_top_columns", "top_columns_table"]

# The size of a cluster's rows is then known to about 5 %.
ENOUGH_COUNTS = 400


def top_columns_table(record: FitRecord, n: int) -> dict[str, list[Any]]:
    """List the best columns of each cluster, then of C0 and of C-.

    Parameters
    ----------
    record : FitRecord
        A finished fit.
    n : int
        Most columns to list for each cluster and group.

    Returns
    -------
    dict of str to list
        ``group``, ``cluster`` (-1 outside C1), ``rank`` (from 1), ``column`` (its
        number) and ``value``.
    """
    rates = record.rates
    table: dict[str, list[Any]] = {
        key: [] for key in ("group", "cluster", "rank", "column", "value")
    }

    def add(group: int, cluster: int, values: NDArray[np.float64]) -> None:
        members = np.flatnonzero(record.groups == group)
        best = members[np.argsort(-values[members], kind="stable")[:n]]
        for rank, j in enumerate(best, start=1):
            row = (group, cluster, rank, int(j), float(values[j]))
            for key, value in zip(table, row, strict=True):
                table[key].append(value)

    for k, values in enumerate(_above_average(record)):
        add(RELEVANT, k, values)
    add(SHARED, -1, rates.shared)
    add(NOISE, -1, rates.noise)
    return table


def named_top_columns(record: FitRecord, n: int) -> dict[str, list[Any]]:
    """List the same by the names of the columns, where they have names."""
    table = top_columns_table(record, n)
    if record.column_names is not None:
        table["column"] = [record.column_names[j] for j in table["column"]]
    return table


def _above_average(record: FitRecord) -> NDArray[np.float64]:
    """How far each cluster's rates lie above the overall ones (K x m).

    Where the rates of different clusters have no common scale, shares of the cluster's
    counts are compared.
    """
    rates, overall = record.rates.cluster, record.rates.shared
    if have_common_scale(record):
        return rates - overall
    used = record.groups != NOISE
    totals = rates[:, used].sum(axis=1, keepdims=True)
    return rates / np.where(totals > 0, totals, 1.0) - overall / max(
        overall[used].sum(), np.finfo(float).tiny
    )


def have_common_scale(record: FitRecord) -> bool:
    """Whether C0 shows how large the rows of every cluster are.

    A single column in C0 is only a choice of scale, and a few counts are not enough to
    estimate it.
    """
    shared = record.groups == SHARED
    sums = record.sums.clusters[:, shared]
    enough = (sums.sum(axis=1) >= ENOUGH_COUNTS).all()
    return bool(np.count_nonzero(shared) > 1 and enough)
