"""What the numbers in labels, groups and slots mean: the one place for codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

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


def all_relevant(n_columns: int) -> NDArray[np.int8]:
    """Groups with every column in C1."""
    return np.full(n_columns, RELEVANT, dtype=np.int8)


def starting_code(clusters: NDArray[Any]) -> NDArray[np.int32]:
    """Codes of rows that start in these clusters and may leave; and back again."""
    return (FREE - 1 - clusters).astype(np.int32)


def all_held(known: NDArray[np.int32]) -> NDArray[np.int32]:
    """Known clusters of rows, those that may leave them held, too."""
    return np.where(known < FREE, starting_code(known), known)


def with_fixed(
    groups: NDArray[np.int8], fixed: Sequence[tuple[int, int]]
) -> NDArray[np.int8]:
    """Groups with these columns in these groups; if C1 is empty then, others go there.

    ``fixed`` are pairs of a column and its group.
    """
    if not fixed:
        return groups
    groups = groups.copy()
    columns, held = np.array(fixed, dtype=np.int64).T
    groups[columns] = held
    if not (groups == RELEVANT).any():
        groups[np.setdiff1d(np.arange(len(groups)), columns)] = RELEVANT
    return groups


def inner_labels(labels: NDArray[Any], n_clusters: int) -> NDArray[np.int32]:
    """Labels as loops take them: outliers are the number after the last cluster."""
    return np.where(labels == OUTLIER, n_clusters, labels).astype(np.int32)
