"""Rates of clusters on one scale, so that they can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._core.codes import NOISE
from ..cluster.top_columns import have_common_scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._fit.record import FitRecord

__all__ = ["Shares", "TypicalCounts"]


@dataclass(frozen=True)
class Shares:
    """Share of each column in the counts of C0 and C1: by cluster, and overall."""

    clusters: NDArray[np.float64]
    overall: NDArray[np.float64]

    @classmethod
    def of(cls, record: FitRecord) -> Shares:
        """Shares of a fit."""
        rates, used = record.rates, record.groups != NOISE
        return cls(
            _normalised(np.nan_to_num(rates.cluster, posinf=0.0), used),
            _normalised(rates.shared[None], used)[0],
        )


@dataclass(frozen=True)
class TypicalCounts:
    """Expected count of each column in a row of mean size: by cluster, and overall.

    Rows of equal size have equal counts in C0 in every cluster. Where C0 does not show
    how large the rows of a cluster are, rows with equal totals are compared.
    """

    clusters: NDArray[np.float64]
    overall: NDArray[np.float64]

    @classmethod
    def of(cls, record: FitRecord) -> TypicalCounts:
        """Typical counts of a fit, with those that come from the prior."""
        rates = record.rates
        if have_common_scale(record):
            return cls(rates.cluster / record.n_rows, rates.noise)
        mean_size = float(rates.noise[record.groups != NOISE].sum())
        return cls(Shares.of(record).clusters * mean_size, rates.noise)

    @property
    def ratios(self) -> NDArray[np.float64]:
        """Clusters over overall; 1 where a column has no counts at all."""
        some = self.overall > 0
        out = np.ones_like(self.clusters)
        np.divide(self.clusters, self.overall, out=out, where=some)
        return out

    def without(self, prior: float) -> TypicalCounts:
        """The same without the counts that come from the prior alone."""
        least = prior * (1 + 1e-9)
        clusters, overall = (
            np.where(counts > least, counts - prior, 0.0)
            for counts in (self.clusters, self.overall)
        )
        return TypicalCounts(clusters, overall)

    def best(self, cluster: int, columns: NDArray[np.intp], n: int) -> NDArray[np.intp]:
        """Those of these columns that are furthest above the overall count."""
        above = (self.clusters[cluster] - self.overall)[columns]
        order = np.argsort(-above, kind="stable")[:n]
        return columns[order[above[order] > 0]]


def _normalised(
    rates: NDArray[np.float64], used: NDArray[np.bool_]
) -> NDArray[np.float64]:
    totals = rates[:, used].sum(axis=1, keepdims=True)
    return rates / np.where(totals > 0, totals, 1.0)
