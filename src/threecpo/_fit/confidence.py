"""How sure a fit is of its rows: φ, T, and the probability of each cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import confidence as numerics
from .._core.codes import inner_labels
from .._core.confidence import LeftOutScores, left_out_scores
from .._core.dispersion import Expected, typical
from .._core.workers import SERIAL
from . import stored
from .row_results import read_only

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._core.loops.records import RatioSums
    from .._core.model import SmoothedSums
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


def measured(record: FitRecord, counts: Counts, workers: Workers) -> FitRecord:
    """Return the fit with its confidence in these rows, those of the fit.

    Rows with weights or batches cannot be left out one by one: they have none.
    """
    if record.sums.batches is not None or record.sums.total_mass is not None:
        return record
    owner = record.labels_of_rates
    sums = record.smoothed
    counts = counts.with_column_weights(record.sums.column_weights)
    found = left_out_scores(counts, owner, sums, record.groups, workers)
    return _with(record, found, _ratios(counts, owner, sums, record.groups))


def measured_over(engine: Engine, record: FitRecord) -> FitRecord:
    """Return the same of the rows of all blocks."""
    if record.sums.batches is not None or record.sums.total_mass is not None:
        return record
    work = partial(_score_block, record.describer, record.smoothed, record.groups)
    scored, ratios = zip(*engine.fold(work, list.__add__), strict=True)
    columns = zip(*scored, strict=True)
    found = LeftOutScores(*map(np.concatenate, columns))
    return _with(record, found, type(ratios[0])(*map(sum, zip(*ratios, strict=True))))


def _score_block(
    describer: RowDescriber,
    sums: SmoothedSums,
    groups: NDArray[np.int8],
    _: int,
    counts: Counts,
) -> list[tuple[LeftOutScores, RatioSums]]:
    counts = counts.with_column_weights(describer.column_weights)
    rows = describer(counts)
    owner = describer.labels_of_rates(rows.labels, rows.nearest_labels)
    scored = left_out_scores(counts, owner, sums, groups, SERIAL)
    return [(scored, _ratios(counts, owner, sums, groups))]


def _ratios(
    counts: Counts,
    owner: NDArray[np.int32],
    sums: SmoothedSums,
    groups: NDArray[np.int8],
) -> RatioSums:
    labels = inner_labels(owner, sums.n_clusters)
    return Expected.of(sums, groups).ratio_sums(counts, labels)


def _with(record: FitRecord, found: LeftOutScores, ratios: RatioSums) -> FitRecord:
    sums, groups = record.smoothed, record.groups
    value = numerics.temperature(found, sums, groups)
    found_by_column = Expected.of(sums, groups).dispersions(ratios)
    dispersion = typical(found_by_column, record.sums.totals)
    confidence = Confidence(
        value, numerics.probabilities(found.scores, value), dispersion
    )
    return replace(record, confidence=confidence)
