"""What a choice among fits over blocks needs of each: labels of the rows, and φ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core.dispersion import RatioTerms, added, few_digits
from .row_results import RowResults

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._core.loops.records import RatioSums
    from .engine import Engine
    from .record import FitRecord
    from .row_results import RowDescriber


class DescribedFit(NamedTuple):
    """A fit, the labels of its rows, and the dispersion of each column.

    The record has results of the rows where there was room for them.
    """

    record: FitRecord
    labels: NDArray[np.signedinteger[Any]]
    dispersions: NDArray[np.float64]


class _Part(NamedTuple):
    """What is found in blocks: results or labels of each, and sums of all."""

    rows: list[Any]
    ratios: RatioSums


def described_each(
    engine: Engine,
    records: Sequence[FitRecord],
    lines: int | None,
    *,
    with_rows: bool,
) -> Iterator[DescribedFit]:
    """Describe fits, as many of them in one reading as have so many lines of sums."""
    for some in _shared_out(records, lines):
        work = [_Describer.of(record, with_rows=with_rows) for record in some]
        found = engine.fold(partial(_describe, work), _added)
        for record, each, part in zip(some, work, found, strict=True):
            # So few digits that the order in which φ was added up does not show.
            dispersions = few_digits(each.expected.dispersions(part.ratios))
            if with_rows:
                rows = RowResults.stacked(part.rows)
                yield DescribedFit(record.with_rows(rows), rows.labels, dispersions)
            else:
                yield DescribedFit(record, np.concatenate(part.rows), dispersions)


@dataclass(frozen=True, eq=False)
class _Describer:
    describer: RowDescriber
    expected: RatioTerms
    n_clusters: int
    with_rows: bool

    @classmethod
    def of(cls, record: FitRecord, *, with_rows: bool) -> _Describer:
        expected = RatioTerms.of(record.smoothed, record.groups)
        return cls(record.describer, expected, record.n_clusters, with_rows)

    def __call__(self, counts: Counts) -> _Part:
        counts = self.describer.in_batches(counts)
        rows = self.describer(counts)
        labels = self.describer.labels_of_rates(rows.labels, rows.nearest_labels)
        ratios = self.expected.ratio_sums(counts, labels)
        small = np.min_scalar_type(-self.n_clusters)
        return _Part([rows if self.with_rows else rows.labels.astype(small)], ratios)


def _describe(work: Sequence[_Describer], _: int, counts: Counts) -> list[_Part]:
    return [each(counts) for each in work]


def _added(a: list[_Part], b: list[_Part]) -> list[_Part]:
    return [
        _Part(own.rows + other.rows, added(own.ratios, other.ratios))
        for own, other in zip(a, b, strict=True)
    ]


def _shared_out(
    records: Sequence[FitRecord], lines: int | None
) -> Iterator[list[FitRecord]]:
    """Lists of fits that have at most so many lines of sums together."""
    some: list[FitRecord] = []
    used = 0
    for record in records:
        used += record.n_clusters + 1
        if some and lines is not None and used > lines:
            yield some
            some, used = [], record.n_clusters + 1
        some.append(record)
    yield some
