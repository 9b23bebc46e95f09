"""Rows described by a fit: labels, scores, dispersions of columns, probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core import confidence as numerics
from .._core.confidence import LeftOutScores, left_out_scores
from .._core.dispersion import RatioTerms, added, column_weights, typical
from .._core.rows import read_only
from .._core.rules import EXACT, scores
from .._core.workers import SERIAL
from .row_results import write_block

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from .._core.codes import Floats, Ints
    from .._core.counts import Counts
    from .._core.loops.left_out import LeftOut
    from .._core.loops.records import Profile, RatioSums
    from .._core.workers import Workers
    from .engine import Engine
    from .record import FitRecord
    from .row_results import RowDescriber, RowResults


@dataclass(frozen=True, eq=False)
class Confidence:
    """T, by which scores are divided, and P(k|i) of the rows of the fit.

    ``probabilities`` are None where there was no room for them. ``dispersion`` is φ,
    the median of the columns; None where it is not known.
    """

    temperature: float
    probabilities: Floats | None
    dispersion: float | None = None

    def __post_init__(self) -> None:
        if self.probabilities is not None:
            object.__setattr__(self, "probabilities", read_only(self.probabilities))

    def at(self, temperature: float) -> Confidence:
        found = self.probabilities
        if found is not None:
            found = found ** (self.temperature / temperature)
            found /= found.sum(axis=1, keepdims=True)
        return replace(self, temperature=temperature, probabilities=found)

    def taken(self, order: NDArray[np.intp]) -> Confidence:
        if self.probabilities is None:
            return self
        return replace(self, probabilities=self.probabilities[:, order])

    def joined(self, into: Ints) -> Confidence:
        """Return that of joined clusters: T stays, the best in each counts.

        Their φ is not known without the counts.
        """
        found = self.probabilities
        if found is not None:
            found = numerics.of_joined(found, into)
        return replace(self, probabilities=found, dispersion=None)


class Part(NamedTuple):
    """What is found in blocks: a list for each, and sums of all."""

    rows: list[Any]
    ratios: RatioSums

    def beside(self, other: Part) -> Part:
        return Part(self.rows + other.rows, added(self.ratios, other.ratios))


@dataclass(frozen=True, eq=False)
class LeaveOneOutDescriber:
    """Describes rows of a fit, and scores each as if it had not been in it.

    With it goes what the dispersion needs of them. ``exact`` is the profile of the
    exact scores, None where labels were made by them. Without ``every_score`` only
    what T needs of the scores is kept.
    """

    describer: RowDescriber
    terms: LeftOut
    ratios: RatioTerms
    exact: Profile | None
    every_score: bool = True

    @classmethod
    def of(cls, record: FitRecord, *, every_score: bool = True) -> LeaveOneOutDescriber:
        sums, groups = record.smoothed, record.groups
        # Are labels made by the exact scores of their own sums?
        pairs = zip(record.sums.arrays[:3], record.profile_sums.arrays[:3], strict=True)
        fixed = all(np.array_equal(a, b) for a, b in pairs)
        own = record.settings.rule is EXACT and fixed
        exact = None if own else EXACT.profile(sums, groups)
        terms = numerics.left_out_terms(sums, groups), RatioTerms.of(sums, groups)
        return cls(record.describer, *terms, exact, every_score)

    def __call__(
        self, counts: Counts, workers: Workers = SERIAL
    ) -> tuple[RowResults, LeftOutScores, RatioSums]:
        describer = self.describer
        counts = describer.in_batches(counts)
        found = np.empty((counts.n_rows, describer.profile.n_clusters))
        rows = describer(counts, workers, found)
        if self.exact is not None:
            found = scores(counts, self.exact, workers)
        owner = describer.labels_of_rates(rows)
        every = left_out_scores(counts, owner, self.terms, found, workers)
        scored = every if self.every_score else every._replace(scores=None)
        return rows, scored, self.ratios.ratio_sums(counts, owner)


def describe_left_out(
    describer: LeaveOneOutDescriber, folder: Path | None, index: int, counts: Counts
) -> Part:
    """What is said of the rows of a block, or was written, and sums over them."""
    rows, scored, ratios = describer(counts)
    if folder is None:
        return Part([(rows, scored)], ratios)
    write_block(folder, index, rows.results())
    return Part([(None, scored)], ratios)


def with_confidence_of(
    record: FitRecord, rows: RowResults | None, found: LeftOutScores, ratios: RatioSums
) -> FitRecord:
    """Return the fit with results of its rows, and how sure it is of them."""
    sums, groups = record.smoothed, record.groups
    value = numerics.temperature(found, sums, groups)
    of_columns = RatioTerms.of(sums, groups).dispersions(ratios)
    dispersion = typical(of_columns, record.sums.totals)
    shares = None
    if found.scores is not None:
        shares = numerics.probabilities(found.scores, value)
    return replace(record, rows=rows, confidence=Confidence(value, shares, dispersion))


# The least dispersion of whole counts, and of other values, such as logarithms.
OF_WHOLE, OF_FRACTIONS = 1.0, 1e-3
# What single rows regain are multiples of this, so that sums are exact in any order.
FINE = 2.0**-24


class DescribedFit(NamedTuple):
    """A fit, the labels of its rows, the dispersion of each column, what labels regain.

    The record has results of the rows where there was room for them.
    """

    record: FitRecord
    labels: NDArray[np.signedinteger[Any]]
    dispersions: Floats
    regained: float


@dataclass(frozen=True, eq=False)
class LabelGain:
    """What the labels of rows regain of their cost of log K: see docs/background.

    Scores are those of columns over their dispersions, whose inverses are ``weights``.
    """

    describer: RowDescriber
    profile: Profile
    weights: Floats

    @classmethod
    def of(cls, record: FitRecord, dispersions: Floats) -> LabelGain:
        weights = 1.0 / dispersions
        sums = replace(record.sums, column_weights=weights)
        smoothed = sums.smoothed(record.settings.prior)
        profile = EXACT.profile(smoothed, record.groups)
        return cls(record.describer, profile, weights)

    def __call__(self, counts: Counts) -> float:
        """What rows regain that are put where the fit puts them."""
        return self.of_labels(counts, self.describer.rated(counts))

    def of_labels(self, counts: Counts, labels: Ints) -> float:
        """Log of the sum of exp(S_ik - S_i,label), at most log K, added up over rows.

        An outlier regains nothing; the label of a row that is held costs nothing.
        """
        most = np.log(self.profile.n_clusters)
        weighted = self.describer.in_batches(counts).with_column_weights(self.weights)
        found = scores(weighted, self.profile, SERIAL)
        own = np.take_along_axis(found, np.maximum(labels, 0)[:, None], axis=1)
        with np.errstate(invalid="ignore", over="ignore"):
            gains = np.log(np.exp(found - own).sum(axis=1))
        gains = np.fmin(gains, most)  # NaN where a row fits no cluster
        if counts.known is not None:
            gains[counts.known >= 0] = most
        gains[labels < 0] = 0.0
        gains = np.rint(gains / FINE)
        if counts.weights is not None:
            gains = np.rint(gains * counts.weights)
        return float(gains.sum() * FINE)


def regained_of(gains: Sequence[LabelGain], counts: Counts) -> list[float]:
    return [each(counts) for each in gains]


@dataclass(frozen=True, eq=False)
class RatioDescriber:
    """Sums that dispersions need of rows, and ``keep`` ("rows" or "labels") of each."""

    describer: RowDescriber
    expected: RatioTerms
    keep: str | None = None

    @classmethod
    def of(cls, record: FitRecord, keep: str | None = None) -> RatioDescriber:
        expected = RatioTerms.of(record.smoothed, record.groups)
        return cls(record.describer, expected, keep)

    def __call__(self, counts: Counts) -> Part:
        counts = self.describer.in_batches(counts)
        rows = self.describer(counts)
        ratios = self.expected.ratio_sums(counts, self.describer.labels_of_rates(rows))
        small = np.min_scalar_type(-self.describer.profile.n_clusters)
        kept = rows if self.keep == "rows" else rows.labels.astype(small)
        return Part([kept] if self.keep else [], ratios)


def describe_each(work: Sequence[RatioDescriber], _: int, counts: Counts) -> list[Part]:
    return [each(counts) for each in work]


def beside_each(a: list[Part], b: list[Part]) -> list[Part]:
    return [own.beside(other) for own, other in zip(a, b, strict=True)]


def dispersion_weights(
    engine: Engine, record: FitRecord, max_dispersion: float
) -> Floats | None:
    """Weights of columns by their dispersion in a fit of these rows; None: all 1."""
    describer = RatioDescriber.of(record)
    (found,) = engine.fold(partial(describe_each, [describer]), beside_each)
    return column_weights(describer.expected.dispersions(found.ratios), max_dispersion)
