"""What dominates the clusters of a table: deep rows, large columns, wild values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .fitted import column_names_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._fit.record import FitRecord

# The share of rows that are the deepest.
DEEPEST = 0.05
FEW_COLUMNS = 3
MUCH = 0.5
# In smaller tables every row and column has a large share.
FEWEST_ROWS = 100
FEWEST_COLUMNS = 20


def find_dominance(sample: Counts, sums: NDArray[np.float64]) -> dict[str, Any]:
    """Shares of the deepest rows and the largest columns, and dispersion both ways.

    ``sample`` are some of the rows, ``sums`` those of all rows. Dispersions are those
    of a table of one cluster, in the sample.
    """
    of_columns, of_rows = dispersions_both_ways(sample)
    return {
        "deepest_rows": _deepest_share(sums),
        "largest_columns": _largest_columns(sample),
        "dispersion": {
            "of_columns": _median(of_columns),
            "of_rows": _median(of_rows),
        },
    }


def separation(record: FitRecord) -> dict[str, Any]:
    """The fewest columns, at most 3, that make half of what separates the clusters.

    What a column separates is its evidence in all clusters: the nats by which rates of
    their own explain their counts better than the overall rate.
    """
    markers = record.markers
    evidence = np.where(record.groups == 1, markers.evidence.sum(axis=0), 0.0)
    total = float(evidence.sum())
    if not total:
        return {"columns": [], "share": 0.0}
    order = np.argsort(-evidence, kind="stable")
    shares = np.cumsum(evidence[order[:FEW_COLUMNS]]) / total
    n = min(int(np.searchsorted(shares, MUCH)) + 1, len(shares))
    names = column_names_of(record)
    columns = [str(names[j]) for j in order[:n] if evidence[j] > 0]
    return {"columns": columns, "share": float(shares[n - 1])}


def separation_line(facts: dict[str, Any], columns: str = "columns") -> str:
    """Say which few columns make most of what separates clusters; nothing if none."""
    found, n_columns = facts.get("separation") or {}, facts["columns"]
    if n_columns < FEWEST_COLUMNS or found.get("share", 0.0) < MUCH:
        return ""
    names = found["columns"]
    who = (
        "this column makes" if len(names) == 1 else f"these {len(names)} {columns} make"
    )
    share = f"{100 * found['share']:.0f} %"
    return f"{who} {share} of what separates the clusters: {', '.join(names)}"


def _deepest_share(sums: NDArray[np.float64]) -> float:
    """Share of all counts that the deepest 5 % of the rows hold."""
    n, total = round(DEEPEST * len(sums)), float(sums.sum())
    if not n or not total:
        return 0.0
    return float(np.partition(sums, -n)[-n:].sum()) / total


def _largest_columns(counts: Counts) -> dict[str, Any]:
    """Places of the largest columns, and the shares of all counts that they hold."""
    totals = _totals(counts)
    places = np.argsort(-totals, kind="stable")[:FEW_COLUMNS]
    shares = totals[places] / max(totals.sum(), np.finfo(float).tiny)
    return {"places": places.tolist(), "shares": shares.tolist()}


def dispersions_both_ways(
    counts: Counts,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Pearson's dispersion of each column and of each row that has counts."""
    sums = counts.row_lengths(1)
    totals = _totals(counts)
    rows = np.repeat(np.arange(counts.n_rows), np.diff(counts.indptr))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ratios = counts.data * (sums.sum() / sums[rows]) / totals[counts.indices]
        squares = counts.data * ratios
    n_rows, n_columns = int((sums > 0).sum()), int((totals > 0).sum())
    return (
        _dispersion(counts.indices, squares, ratios, totals, n_rows),
        _dispersion(rows, squares, ratios, sums, n_columns),
    )


def _dispersion(
    places: NDArray[Any],
    squares: NDArray[np.float64],
    ratios: NDArray[np.float64],
    totals: NDArray[np.float64],
    n: int,
) -> NDArray[np.float64]:
    """Pearson's statistic over its degrees of freedom, as in ``_core.dispersion``."""
    filled, n_places = totals > 0, len(totals)
    if n < 2:
        return np.zeros(0)
    pearson = (np.bincount(places, squares, n_places) - totals)[filled] / (n - 1)
    return pearson / (np.bincount(places, ratios, n_places)[filled] / n)


def _totals(counts: Counts) -> NDArray[np.float64]:
    totals = np.bincount(counts.indices, counts.data, counts.n_columns)
    return totals.astype(np.float64)  # of no counts, numpy's are whole numbers


def _median(values: NDArray[np.float64]) -> float:
    return float(np.median(values)) if len(values) else 0.0
