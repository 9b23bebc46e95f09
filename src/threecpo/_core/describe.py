"""What a fitted profile says about rows: scores, nearest clusters, outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import model
from .codes import OUTLIER
from .loops import rows as row_loops

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .counts import Counts
    from .loops.rows import Profile
    from .sums import Sums
    from .workers import Workers


@dataclass(frozen=True)
class RowDescription:
    """Per row: nearest cluster, size r_i, margin, and excess of the background."""

    nearest: NDArray[np.int32]
    sizes: NDArray[np.float64]
    margins: NDArray[np.float64]
    outlier_scores: NDArray[np.float64]


@dataclass(frozen=True)
class Fitted:
    """All that is needed to score other rows: a run's sums and its rules.

    ``profile_statistics`` are the sums whose profile produced the labels; they are the
    sums of the labels themselves unless the run was stopped early.
    """

    statistics: Sums
    profile_statistics: Sums
    groups: NDArray[np.int8]
    ranks: NDArray[np.int32]
    prior: float
    exact: bool
    threshold: float
    outliers: str | None
    chi_squared: bool = False

    def profile(self, *, exact: bool | None = None) -> Profile:
        """Profile that produced the labels, or that of the exact scores."""
        sums = model.SmoothedSums.of(self.profile_statistics, self.prior)
        if self.chi_squared and not exact:
            return model.chi_squared_profile(sums, self.ranks, background=True)
        return model.profile(
            sums,
            self.groups,
            exact=self.exact if exact is None else exact,
            background=True,
            threshold=self.threshold,
            ranks=self.ranks,
        )

    def labels(self, rows: RowDescription) -> NDArray[np.int32]:
        """Clusters, with -1 for outliers where they are asked for."""
        outlier = (rows.outlier_scores > self.threshold) & (self.outliers is not None)
        return np.where(outlier, np.int32(OUTLIER), rows.nearest)

    def model_labels(self, rows: RowDescription) -> NDArray[np.int32]:
        """Labels that the rates belong to: outliers decided at the end are in it."""
        return rows.nearest if self.outliers == "final" else self.labels(rows)

    def scales(self, rows: RowDescription) -> NDArray[np.float64]:
        """λ^R of rows that are part of the fit."""
        sums = model.SmoothedSums.of(self.statistics, self.prior)
        # Label -1 takes the last factor, which is the outliers'.
        factors = model.Scales.of(sums, self.groups).row_factors
        factors = factors[self.model_labels(rows)]
        return rows.sizes * factors if (self.groups >= 0).any() else factors


def row_results(fitted: Fitted, rows: RowDescription) -> dict[str, NDArray[Any]]:
    """All that a fit tells of its rows, by the names of the attributes."""
    return {
        "labels": fitted.labels(rows),
        "nearest_labels": rows.nearest,
        "outlier_scores": rows.outlier_scores,
        "margins": rows.margins,
        "row_scales": fitted.scales(rows),
    }


def describe(counts: Counts, profile: Profile, workers: Workers) -> RowDescription:
    """Describe every row by a profile that has a background."""
    n_rows = counts.n_rows
    out = RowDescription(
        np.empty(n_rows, np.int32), *(np.empty(n_rows) for _ in range(3))
    )

    def one(block: tuple[int, int]) -> None:
        row_loops.describe_rows(
            counts.indptr,
            counts.indices,
            counts.data,
            *block,
            profile,
            out.nearest,
            out.sizes,
            out.margins,
            out.outlier_scores,
        )

    for _ in workers.map(one, counts.blocks):
        pass
    return out


def scores(counts: Counts, profile: Profile, workers: Workers) -> NDArray[np.float64]:
    """Score of every row in every cluster."""
    out = np.empty((counts.n_rows, len(profile.ranks)))

    def one(block: tuple[int, int]) -> None:
        row_loops.score_rows(
            counts.indptr, counts.indices, counts.data, *block, profile, out
        )

    for _ in workers.map(one, counts.blocks):
        pass
    return out
