"""What is in a table of counts that is no count: totals, running numbers, copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from ..table import CountTable

# In smaller tables such patterns come by chance.
_FEWEST = 3
_FEWEST_IDS = 30
# Rows of fewer counts are often alike.
_FEWEST_COUNTS = 5


def find_traps(table: CountTable) -> dict[str, Any]:
    """Names of rows and columns that are no counts, and how many rows are copies."""
    X = table.X
    by_column = X.tocsc()
    rows = [int(i) for i in _totals(X)]
    columns = [int(j) for j in _totals(by_column.T)]
    ids = [int(j) for j in _ids(by_column)]
    return {
        "total_rows": _named(table.row_names, rows),
        "total_columns": _named(table.column_names, columns),
        "id_columns": _named(table.column_names, ids),
        "copied_rows": _copies(X),
    }


def _named(names: NDArray[np.object_] | None, places: list[int]) -> list[str]:
    return [str(place + 1 if names is None else names[place]) for place in places]


def _totals(X: Any) -> list[int]:
    """Rows that are the sum of all others."""
    if min(X.shape) < _FEWEST:
        return []
    sums, total = X.sum(axis=1), X.sum()
    if not total:
        return []
    others = np.asarray(X.sum(axis=0))
    likely = np.flatnonzero(2 * np.asarray(sums) == total)
    return [i for i in likely.tolist() if (2 * X[[i]].toarray()[0] == others).all()]


def _ids(X: sp.csc_array) -> list[int]:
    """Columns of numbers that follow each other, or that all differ as ids do."""
    n_rows = X.shape[0]
    if n_rows < _FEWEST:
        return []
    found = []
    for j in np.flatnonzero(np.diff(X.indptr) >= n_rows - 1).tolist():
        values = X.data[X.indptr[j] : X.indptr[j + 1]]
        if _are_ids(values, n_rows):
            found.append(j)
    return found


def _are_ids(values: Any, n_rows: int) -> bool:
    spread = values.max() - values.min()
    if (values != np.rint(values)).any():
        return False
    if n_rows >= 2 * _FEWEST_COUNTS and spread == len(values) - 1:
        return len(np.unique(values)) == len(values)
    alike = len(str(int(values.max()))) == len(str(int(values.min())))
    return bool(
        n_rows >= _FEWEST_IDS and alike and len(np.unique(values)) == len(values)
    )


def _copies(X: Any) -> int:
    """Number of rows that are the same as one above them."""
    long = np.flatnonzero(np.diff(X.indptr) >= _FEWEST_COUNTS)
    if not len(long):
        return 0
    # Equal rows have equal products, and others hardly ever.
    weights = np.random.default_rng(0).random((X.shape[1], 2))
    products = (X @ weights)[long]
    return len(long) - len(np.unique(products, axis=0))
