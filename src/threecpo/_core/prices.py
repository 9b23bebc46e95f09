"""Prices of relevant columns: the term of the loss that keeps C1 small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    # From column totals, the number of clusters and the number of rows to prices.
    Price = Callable[[NDArray[np.float64], int, float], NDArray[np.float64]]


def mdl(totals: NDArray[np.float64], n_clusters: int, _: float) -> NDArray[np.float64]:
    """K - 1 column sums, each described in log of the total; 0 below a total of 1."""
    return (n_clusters - 1) * np.log(np.maximum(totals, 1.0))


def bic(
    totals: NDArray[np.float64], n_clusters: int, n_rows: float
) -> NDArray[np.float64]:
    """K free rates, each half a log of the number of rows."""
    return np.full_like(totals, n_clusters / 2 * np.log(n_rows))


def free(totals: NDArray[np.float64], *_: float) -> NDArray[np.float64]:
    """No price."""
    return np.zeros_like(totals)


# Name in files of a price that is a user's function.
CUSTOM = "custom"
NAMED: dict[str | None, Price] = {"mdl": mdl, "bic": bic, None: free}


@dataclass(frozen=True)
class UserPrice:
    """A user's function, its prices checked: 0 or more for each column."""

    function: Callable[..., object]

    @property
    def name(self) -> str:
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    def __call__(
        self, totals: NDArray[np.float64], n_clusters: int, n_rows: float
    ) -> NDArray[np.float64]:
        given = np.asarray(
            self.function(totals.copy(), n_clusters, n_rows), dtype=float
        )
        if given.shape not in ((), totals.shape) or not np.all(given >= 0):
            message = (
                "column_penalty must return one price of 0 or more for each of the "
                f"{len(totals)} columns; it returned {given!r}."
            )
            raise ValueError(message)
        return np.array(np.broadcast_to(given, totals.shape))


def named(price: Price) -> str:
    """Name of a price as stored in files."""
    names = {function: name or "none" for name, function in NAMED.items()}
    return names.get(price, CUSTOM)
