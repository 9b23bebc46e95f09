"""Codes of labels, groups and slots; prices of relevant columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int32]
    Groups = NDArray[np.int8]

    # From column totals, the number of clusters and the number of rows to prices: the
    # term of the loss that keeps C1 small.
    Price = Callable[[Floats, int, float], Floats]

# Groups of columns.
RELEVANT, SHARED, NOISE = 1, 0, -1
GROUPS = (RELEVANT, SHARED, NOISE)
GROUP_NAMES = {RELEVANT: "relevant", SHARED: "shared", NOISE: "noise"}

# A row that is in no cluster yet.
NOWHERE = -2
# Label of an outlier outside of loops; inside it is the number after the last cluster,
# so that the outliers' sums stand behind those of the clusters.
OUTLIER = -1
# Known cluster of a row that is free. Numbers below it are of rows that are only
# started from: see ``starting_code``.
FREE = -1
# In tables, instead of a cluster, of a row without counts in C1 and C0: every cluster
# fits it alike.
NO_COUNTS = -2

# Columns outside C1 have no slot in a profile.
SHARED_SLOT, NOISE_SLOT = -1, -2

# Number of moved rows where a pass does not know it.
UNKNOWN = -1


def all_relevant(n_columns: int) -> Groups:
    """Groups with every column in C1."""
    return np.full(n_columns, RELEVANT, dtype=np.int8)


def linked_parts(linked: NDArray[np.bool_]) -> Ints:
    """Number of the part of each point, where linked points are in the same part."""
    parts = np.full(len(linked), -1, dtype=np.int32)
    while (left := parts < 0).any():
        part = parts.max() + 1
        reached = np.arange(len(linked)) == left.argmax()
        while reached.any():
            parts[reached] = part
            reached = linked[reached].any(axis=0) & (parts < 0)
    return parts


def starting_code(clusters: NDArray[Any]) -> Ints:
    """Codes of rows that start in these clusters and may leave; and back again."""
    return (FREE - 1 - clusters).astype(np.int32)


def all_held(known: Ints) -> Ints:
    """Known clusters of rows, those that may leave them held, too."""
    return np.where(known < FREE, starting_code(known), known)


def with_fixed(groups: Groups, fixed: Sequence[tuple[int, int]]) -> Groups:
    """Groups with these columns in theirs; if that empties C1, others go there."""
    if not fixed:
        return groups
    had_relevant, groups = (groups == RELEVANT).any(), groups.copy()
    columns, held = np.array(fixed, dtype=np.int64).T
    groups[columns] = held
    if had_relevant and not (groups == RELEVANT).any():
        groups[np.setdiff1d(np.arange(len(groups)), columns)] = RELEVANT
    return groups


def inner_labels(labels: NDArray[Any], n_clusters: int) -> Ints:
    """Labels as loops take them: outliers are the number after the last cluster."""
    return np.where(labels == OUTLIER, n_clusters, labels).astype(np.int32)


def mdl(totals: Floats, n_clusters: int, _: float) -> Floats:
    """K - 1 column sums, each described in log of the total; 0 below a total of 1."""
    return (n_clusters - 1) * np.log(np.maximum(totals, 1.0))


def bic(totals: Floats, n_clusters: int, n_rows: float) -> Floats:
    """K free rates, each half a log of the number of rows."""
    return np.full_like(totals, n_clusters / 2 * np.log(n_rows))


def free(totals: Floats, *_: float) -> Floats:
    """No price."""
    return np.zeros_like(totals)


# Name in files of a price that is a user's function.
CUSTOM = "custom"
PRICES: dict[str | None, Price] = {"mdl": mdl, "bic": bic, None: free}


@dataclass(frozen=True)
class UserPrice:
    """A user's function, its prices checked: 0 or more for each column."""

    function: Callable[..., object]

    @property
    def name(self) -> str:
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    def __call__(self, totals: Floats, n_clusters: int, n_rows: float) -> Floats:
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


def price_name(price: Price) -> str:
    """Name of a price as stored in files."""
    names = {function: name or "none" for name, function in PRICES.items()}
    return names.get(price, CUSTOM)
