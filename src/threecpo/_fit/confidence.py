"""How sure a fit is of its rows: φ, T, and the probability of each cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import confidence as numerics
from .._core.codes import inner_labels
from .._core.confidence import LeftOutScores, left_out_scores
from .._core.describe import scores
from .._core.dispersion import of_ratio_sums, ratio_sums, ratio_terms, typical
from .._core.loops.records import RatioSums
from .._core.rules import EXACT
from .._core.workers import SERIAL
from . import stored
from .row_results import RowResults, read_only

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._core.dispersion import RatioTerms
    from .._core.loops.left_out import LeftOut
    from .._core.loops.records import Profile
    from .._core.workers import Workers
    from .engine import Engine
    from .record import FitRecord
    from .row_results import RowDescriber


@dataclass(frozen=True, eq=False)
class Confidence:
    """T, by which scores are divided, and P(k|i) of the rows of the fit.

    ``dispersion`` is φ, the median of the columns; None where it is not known.
    """

    temperature: float
    probabilities: NDArray[np.float64]
    dispersion: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", read_only(self.probabilities))

    def taken(self, order: NDArray[np.intp]) -> Confidence:
        """Return the same with the clusters in this order."""
        return replace(self, probabilities=self.probabilities[:, order])

    def joined(self, into: NDArray[np.int32]) -> Confidence:
        """Return that of joined clusters: T stays, the best in each counts.

        Their φ is not known without the counts.
        """
        found = numerics.of_joined(self.probabilities, into)
        return replace(self, probabilities=found, dispersion=None)

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, Any],
        facts: Mapping[str, Any],
        sizes: Mapping[str, int],
    ) -> Confidence | None:
        """Return that of a file, None where there is none."""
        if "probabilities" not in arrays:
            return None
        found = stored.checked(arrays, stored.OF_CONFIDENCE, sizes)
        value = stored.finite("temperature", facts.get("temperature"), 1.0)
        known = facts.get("dispersion")
        if known is not None:
            known = stored.finite("dispersion", known, 0.0)
        return cls(value, found["probabilities"], known)


@dataclass(frozen=True, eq=False)
class SureDescriber:
    """Describes rows of a fit, and scores each as if it had not been in it.

    With it goes what the dispersion needs of them. ``exact`` is the profile of the
    exact scores, None where labels were made by them.
    """

    describer: RowDescriber
    terms: LeftOut
    ratios: RatioTerms
    exact: Profile | None

    @classmethod
    def of(cls, record: FitRecord) -> SureDescriber:
        sums, groups = record.smoothed, record.groups
        exact = None
        if record.settings.rule is not EXACT or not _same(record):
            exact = EXACT.profile(sums, groups)
        terms = numerics.left_out_terms(sums, groups), ratio_terms(sums, groups)
        return cls(record.describer, *terms, exact)

    def __call__(
        self, counts: Counts, workers: Workers = SERIAL
    ) -> tuple[RowResults, LeftOutScores, RatioSums]:
        describer = self.describer
        counts = describer.in_batches(counts)
        found = np.empty((counts.n_rows, describer.profile.n_clusters))
        rows = describer(counts, workers, found)
        if self.exact is not None:
            found = scores(counts, self.exact, workers)
        owner = describer.labels_of_rates(rows.labels, rows.nearest_labels)
        scored = left_out_scores(counts, owner, self.terms, found, workers)
        inner = inner_labels(owner, describer.profile.n_clusters)
        return rows, scored, ratio_sums(counts, inner, self.ratios)


def described(
    record: FitRecord, counts: Counts, workers: Workers, *, sure: bool
) -> FitRecord:
    """Return the fit with results of these rows, its own, and how sure it is.

    That is not known where columns are held back.
    """
    if not sure or record.sums.column_weights is not None:
        return record.with_rows(record.describe(counts, workers))
    return _with(record, *SureDescriber.of(record)(counts, workers))


def described_over(engine: Engine, record: FitRecord, *, sure: bool) -> FitRecord:
    """Return the same of the rows of all blocks, which are read once."""
    sure = sure and record.sums.column_weights is None
    describer = SureDescriber.of(record) if sure else record.describer
    parts = engine.fold(partial(_describe_block, describer), list.__add__)
    if not sure:
        return record.with_rows(RowResults.stacked(parts))
    rows, found, ratios = zip(*parts, strict=True)
    stacked = RowResults.stacked(rows), LeftOutScores.stacked(found)
    return _with(record, *stacked, RatioSums._make(map(sum, zip(*ratios, strict=True))))


def _describe_block(
    describer: Callable[[Counts], Any], _: int, counts: Counts
) -> list[Any]:
    """What is said of the rows of a block, as of those of every block."""
    return [describer(counts)]


def _same(record: FitRecord) -> bool:
    """Whether the labels were made by the sums of the labels themselves."""
    arrays = zip(record.sums.arrays[:3], record.profile_sums.arrays[:3], strict=True)
    return all(np.array_equal(a, b) for a, b in arrays)


def _with(
    record: FitRecord, rows: RowResults, found: LeftOutScores, ratios: RatioSums
) -> FitRecord:
    sums, groups = record.smoothed, record.groups
    value = numerics.temperature(found, sums, groups)
    dispersion = typical(of_ratio_sums(ratios, sums, groups), record.sums.totals)
    shares = numerics.probabilities(found.scores, value)
    return replace(record, rows=rows, confidence=Confidence(value, shares, dispersion))
