"""What a fit says of rows: labels, scores, margins, scales."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import FREE, OUTLIER, inner_labels
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
    ``batches`` are numbers of batches, the one after the last unknown; None where there
    is one. ``known`` is the cluster that a row was held in, -1 for none; None where no
    row was.
    """

    labels: NDArray[np.int32]
    nearest_labels: NDArray[np.int32]
    outlier_scores: NDArray[np.float64]
    margins: NDArray[np.float64]
    row_scales: NDArray[np.float64]
    batches: NDArray[np.int32] | None = None
    row_weights: NDArray[np.float64] | None = None
    known: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        for name, array in self.arrays().items():
            object.__setattr__(self, name, read_only(array))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What there is of each row, by name."""
        named = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: array for name, array in named if array is not None}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> RowResults | None:
        """Results of a file, None where there are none."""
        if not any(name in arrays for name in stored.OF_ROWS):
            return None
        more = {
            name: field for name, field in stored.OF_SOME_ROWS.items() if name in arrays
        }
        return cls(**stored.checked(arrays, stored.of_rows(sizes) | more, sizes))

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
            known=None if self.known is None else numbers[self.known],
        )

    @classmethod
    def stacked(cls, parts: Sequence[RowResults]) -> RowResults:
        """Results of the rows of several blocks below each other."""
        return cls(
            **{
                name: np.concatenate([getattr(part, name) for part in parts])
                for name in parts[0].arrays()
            }
        )


@dataclass(frozen=True, eq=False)
class RowDescriber:
    """All that it takes to describe rows: small enough to be sent to other processes.

    ``clusters`` is the cluster that each of the profile is, or has become part of.
    ``row_factors`` is λ^R_i / r_i for a row of each cluster and, last, for an outlier,
    in each batch and, last, in an unknown one. ``batch_names`` are those of the fit.
    """

    profile: Profile
    clusters: NDArray[np.int32]
    outliers: str | None
    threshold: float
    row_factors: NDArray[np.float64]
    with_sizes: bool
    column_weights: NDArray[np.float64] | None = None
    batch_names: tuple[str, ...] = ()

    def __call__(
        self,
        counts: Counts,
        workers: Workers = SERIAL,
        row_scores: NDArray[np.float64] | None = None,
    ) -> RowResults:
        """Describe rows of the fit, or others with the same columns."""
        counts = self.in_batches(counts)
        rows = describe(counts, self.profile, workers, self.clusters, row_scores)
        batches = counts.batches
        labels = rows.nearest
        known = None if counts.known is None else np.maximum(counts.known, FREE)
        if self.outliers is not None:
            outlier = rows.outlier_scores > self.threshold
            outlier &= True if known is None else known == FREE
            labels = np.where(outlier, np.int32(OUTLIER), rows.nearest)
        # Label -1 takes the last factor, which is the outliers'.
        own = self.labels_of_rates(labels, rows.nearest)
        factors = self.row_factors[own, 0 if batches is None else batches]
        return RowResults(
            labels,
            rows.nearest,
            rows.outlier_scores,
            rows.margins,
            rows.row_sizes * factors if self.with_sizes else factors,
            batches,
            known=known,
        )

    def in_batches(self, counts: Counts) -> Counts:
        """Return counts with the numbers that the batches of their rows have here."""
        counts = counts.with_column_weights(self.column_weights)
        n_batches = len(self.profile.size_weights)
        if n_batches == 1:
            return counts.with_rows(counts.weights)
        names = (*self.batch_names, "")
        if counts.batch_names in (names, names[:-1]) and counts.batches is not None:
            return counts.with_rows(counts.weights, counts.batches, names)
        unknown = n_batches - 1
        codes = np.full(counts.n_rows, unknown, np.int32)
        if counts.batches is not None:
            known = {name: b for b, name in enumerate(self.batch_names)}
            new = [known.get(name, unknown) for name in counts.batch_names]
            codes = np.array(new, np.int32)[counts.batches]
        return counts.with_rows(counts.weights, codes, names)

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
        if np.array_equal(self.clusters, np.arange(len(self.clusters))):
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
