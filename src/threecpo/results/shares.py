"""Shares of columns in the counts of clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._core.codes import NOISE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._fit.record import FitRecord

__all__ = ["Shares"]


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


def _normalised(
    rates: NDArray[np.float64], used: NDArray[np.bool_]
) -> NDArray[np.float64]:
    totals = rates[:, used].sum(axis=1, keepdims=True)
    return rates / np.where(totals > 0, totals, 1.0)
