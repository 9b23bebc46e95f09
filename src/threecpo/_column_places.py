"""Columns that are found by their names: where they are, and which are not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class ColumnPlaces(NamedTuple):
    """Places of wanted columns, -1 for missing ones; names missing, and not wanted."""

    places: NDArray[np.int64]
    missing: list[str]
    extra: list[str]

    def taken(self, X: sp.csr_array) -> sp.csr_array:
        """The wanted columns of a matrix, of zeros where it lacks them."""
        there = np.flatnonzero(self.places >= 0)
        ones = np.ones(len(there), dtype=X.dtype)
        shape = (X.shape[1], len(self.places))
        chosen = sp.csr_array((ones, (self.places[there], there)), shape=shape)
        return (X @ chosen).tocsr()


def find_columns(wanted: Sequence[str], held: Sequence[str]) -> ColumnPlaces:
    """Find wanted names among those that a table has."""
    at, known = {name: j for j, name in enumerate(held)}, set(wanted)
    return ColumnPlaces(
        np.array([at.get(name, -1) for name in wanted], dtype=np.int64),
        missing=[name for name in wanted if name not in at],
        extra=[name for name in held if name not in known],
    )
