"""Rates of clusters on one scale, so that they can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..cluster import ThreeCPO


@dataclass(frozen=True)
class Shares:
    """Share of each column in the counts of C0 and C1: by cluster, and overall."""

    clusters: NDArray[np.float64]
    overall: NDArray[np.float64]

    @classmethod
    def of(cls, model: ThreeCPO) -> Shares:
        used = model.column_groups_ >= 0
        return cls(
            _normalised(np.nan_to_num(model.cluster_rates_, posinf=0.0), used),
            _normalised(model.shared_rates_[None], used)[0],
        )


@dataclass(frozen=True)
class TypicalCounts:
    """Expected count of each column in a row of mean size: by cluster, and overall.

    Where C0 has two or more columns, a row of the same size has the same counts there
    in every cluster. Where it has fewer, the clusters' rates have no common scale, and
    rows of equal totals are compared, as ``ThreeCPO.top_columns`` does.
    """

    clusters: NDArray[np.float64]
    overall: NDArray[np.float64]

    @classmethod
    def of(cls, model: ThreeCPO) -> TypicalCounts:
        overall = model.noise_rates_
        if np.count_nonzero(model.column_groups_ == 0) > 1:
            n_rows = len(model.labels_)
            return cls(np.nan_to_num(model.cluster_rates_ / n_rows), overall)
        mean_size = float(overall[model.column_groups_ >= 0].sum())
        return cls(Shares.of(model).clusters * mean_size, overall)

    @property
    def ratios(self) -> NDArray[np.float64]:
        """Clusters over overall; 1 where a column has no counts at all."""
        some = self.overall > 0
        out = np.ones_like(self.clusters)
        np.divide(self.clusters, self.overall, out=out, where=some)
        return out


def _normalised(
    rates: NDArray[np.float64], used: NDArray[np.bool_]
) -> NDArray[np.float64]:
    totals = rates[:, used].sum(axis=1, keepdims=True)
    return rates / np.where(totals > 0, totals, 1.0)
