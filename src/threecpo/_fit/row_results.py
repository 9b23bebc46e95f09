"""What a fit says of rows: labels, scores, margins, scales."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import OUTLIER, inner_labels
from .._core.describe import describe, scores
from .._core.sums import sum_by_labels
from .._core.workers import SERIAL
from . import stored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._core.loops.records import Profile
    from .._core.sums import Sums
    from .._core.workers import Workers


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, eq=False)
class RowResults:
    """Results of each row; scores and margins are in nats.

    ``row_weights`` hold long rows back; None where they hold none.
    """

    labels: NDArray[np.int32]
    nearest_labels: NDArray[np.int32]
    outlier_scores: NDArray[np.float64]
    margins: NDArray[np.float64]
    row_scales: NDArray[np.float64]
    row_weights: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        for name, values in self.arrays.items():
            object.__setattr__(self, name, read_only(values))

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """What there is, by name."""
        named = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: values for name, values in named.items() if values is not None}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> RowResults | None:
        """Results of a file, None where there are none."""
        if not any(name in arrays for name in stored.OF_ROWS):
            return None
        held = stored.OF_HELD_ROWS if "row_weights" in arrays else {}
        return cls(**stored.checked(arrays, stored.OF_ROWS | held, sizes))

    def held_back(self, weights: NDArray[np.float64] | None) -> RowResults:
        """Return the same of rows that count with these weights."""
        return self if weights is None else replace(self, row_weights=weights)

    def renumbered(self, new: NDArray[np.int32]) -> RowResults:
        """Return the same with other numbers of clusters; outliers stay."""
        # Label -1 takes the last entry.
        numbers = np.append(new, OUTLIER).astype(np.int32)
        return replace(
            self,
            labels=numbers[self.labels],
            nearest_labels=numbers[self.nearest_labels],
        )

    @classmethod
    def stacked(cls, parts: Sequence[RowResults]) -> RowResults:
        """Results of the rows of several blocks below each other."""
        return cls(
            **{
                name: np.concatenate([getattr(part, name) for part in parts])
                for name in parts[0].arrays
            }
        )


@dataclass(frozen=True, eq=False)
class RowDescriber:
    """All that it takes to describe rows: small enough to be sent to other processes.

    ``clusters`` is the cluster that each of the profile is, or has become part of.
    ``row_factors`` is λ^R_i / r_i for a row of each cluster and, last, for an outlier,
    in each batch and, last, in an unknown one.
    """

    profile: Profile
    clusters: NDArray[np.int32]
    outliers: str | None
    threshold: float
    row_factors: NDArray[np.float64]
    with_sizes: bool
    column_weights: NDArray[np.float64] | None = None

    def __call__(self, counts: Counts, workers: Workers = SERIAL) -> RowResults:
        """Describe rows of the fit, or others with the same columns."""
        counts = counts.with_column_weights(self.column_weights)
        n_batches = len(self.profile.size_weights)
        batches = np.zeros(counts.n_rows, np.int32)
        if n_batches > 1:
            batches = batches + np.int32(n_batches - 1)
            if counts.batches is not None:
                batches = counts.batches
            names = tuple(map(str, range(n_batches)))
            counts = counts.with_rows(counts.weights, batches, names)
        rows = describe(counts, self.profile, workers, self.clusters)
        labels = rows.nearest
        if self.outliers is not None:
            outlier = rows.outlier_scores > self.threshold
            labels = np.where(outlier, np.int32(OUTLIER), rows.nearest)
        # Label -1 takes the last factor, which is the outliers'.
        factors = self.row_factors[self.labels_of_rates(labels, rows.nearest), batches]
        return RowResults(
            labels,
            rows.nearest,
            rows.outlier_scores,
            rows.margins,
            rows.row_sizes * factors if self.with_sizes else factors,
        )

    def without_counts(self, rows: RowResults) -> NDArray[np.bool_]:
        """Which of rows described here have no counts in C1 and C0."""
        if not self.with_sizes:
            return np.zeros(len(rows.labels), dtype=bool)
        factors = self.row_factors[
            self.labels_of_rates(rows.labels, rows.nearest_labels)
        ]
        # The size of such a row is that of the prior alone, to the last bit, in the
        # batch that is its own.
        sizes = self.profile.prior_size * factors
        return (rows.row_scales[:, None] == sizes).any(axis=1)

    def labels_of_rates(
        self, labels: NDArray[np.int32], nearest: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Labels that the rates belong to: outliers decided at the end are in it."""
        return nearest if self.outliers == "final" else labels


@dataclass(frozen=True, eq=False)
class RowScorer:
    """Exact score of every row in every cluster; of joined ones that of the best part.

    As a describer it is small enough to be sent to other processes.
    """

    profile: Profile
    clusters: NDArray[np.int32]

    def __call__(
        self, counts: Counts, workers: Workers = SERIAL
    ) -> NDArray[np.float64]:
        """Score rows of the fit, or others with the same columns."""
        found = scores(counts, self.profile, workers)
        n_clusters = int(self.clusters.max()) + 1
        if len(self.clusters) == n_clusters:
            return found
        out = np.full((counts.n_rows, n_clusters), -np.inf)
        for column, cluster in zip(found.T, self.clusters.tolist(), strict=True):
            np.maximum(out[:, cluster], column, out=out[:, cluster])
        return out


@dataclass(frozen=True, eq=False)
class Placing:
    """Sums of rows where a fit puts them: those that their loss is made of."""

    describer: RowDescriber
    n_clusters: int
    groups: NDArray[np.int8]
    prior: float

    def __call__(self, counts: Counts, workers: Workers = SERIAL) -> Sums:
        """Sum up rows of the fit, or others with the same columns."""
        rows = self.describer(counts, workers)
        labels = self.describer.labels_of_rates(rows.labels, rows.nearest_labels)
        inner = inner_labels(labels, self.n_clusters)
        return sum_by_labels(counts, inner, self.n_clusters, self.groups, self.prior)
