"""What a fitted profile says about rows: scores, nearest clusters, outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import model
from .codes import NOISE, OUTLIER, inner_labels
from .loops import rows as row_loops
from .loops.records import loadable, rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .counts import Counts
    from .loops.records import Profile
    from .rules import Rule
    from .sums import Sums
    from .workers import Workers


@dataclass(frozen=True)
class RowDescription:
    """Per row: nearest cluster, size r_i, margin, and excess of the background."""

    nearest: NDArray[np.int32]
    row_sizes: NDArray[np.float64]
    margins: NDArray[np.float64]
    outlier_scores: NDArray[np.float64]


@dataclass(frozen=True)
class Fitted:
    """All that is needed to score other rows: a run's sums and its rules.

    ``profile_sums`` are the sums whose profile produced the labels; they are the
    sums of the labels themselves unless the run was stopped early.
    """

    sums: Sums
    profile_sums: Sums
    groups: NDArray[np.int8]
    ranks: NDArray[np.int32]
    prior: float
    rule: Rule
    threshold: float
    outliers: str | None

    def profile(self, rule: Rule | None = None) -> Profile:
        """Profile that produced the labels, or that of another rule."""
        return (rule or self.rule).profile(
            self.profile_sums.smoothed(self.prior),
            self.groups,
            background=True,
            threshold=self.threshold,
            ranks=self.ranks,
        )

    def labels(self, rows: RowDescription) -> NDArray[np.int32]:
        """Clusters, or ``OUTLIER`` where outliers are asked for."""
        outlier = (rows.outlier_scores > self.threshold) & (self.outliers is not None)
        return np.where(outlier, np.int32(OUTLIER), rows.nearest)

    def model_labels(self, rows: RowDescription) -> NDArray[np.int32]:
        """Labels that the rates belong to: outliers decided at the end are in it."""
        return rows.nearest if self.outliers == "final" else self.labels(rows)

    def scales(self, rows: RowDescription) -> NDArray[np.float64]:
        """λ^R of rows that are part of the fit."""
        smoothed = self.sums.smoothed(self.prior)
        labels = inner_labels(self.model_labels(rows), self.sums.n_clusters)
        factors = model.Scales.of(smoothed, self.groups).row_factors[labels]
        return rows.row_sizes * factors if (self.groups != NOISE).any() else factors


def row_results(fitted: Fitted, rows: RowDescription) -> dict[str, NDArray[Any]]:
    """Results of the rows of a fit, by the names of the attributes."""
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

    columns = out.nearest, out.row_sizes, out.margins, out.outlier_scores
    rows, profile = rows_of(counts), loadable(profile)

    def one(block: tuple[int, int]) -> None:
        row_loops.describe_rows(rows, block, profile, *columns)

    for _ in workers.map(one, counts.blocks):
        pass
    return out


def scores(counts: Counts, profile: Profile, workers: Workers) -> NDArray[np.float64]:
    """Score of every row in every cluster."""
    out = np.empty((counts.n_rows, profile.n_clusters))
    rows, profile = rows_of(counts), loadable(profile)

    def one(block: tuple[int, int]) -> None:
        row_loops.score_rows(rows, block, profile, out)

    for _ in workers.map(one, counts.blocks):
        pass
    return out
