"""Input of any kind to canonical counts, with errors that say what and where."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ._core.counts import Counts, first_bad_entry, from_dense, from_sparse

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

_CHECKS: dict[str, Any] = {
    "accept_sparse": ("csr", "csc", "coo"),
    "dtype": "numeric",
    # Our own check names the row and column.
    "ensure_all_finite": False,
}

# What holds counts but is no table itself, and where they are.
_HOLDERS = {"CountTable": "table.X", "AnnData": "adata.X or adata.layers[...]"}


def check_counts(
    X: Any, estimator: BaseEstimator | None = None, **options: Any
) -> Counts:
    """Return the counts of an array, frame or sparse matrix, which stays as it is."""
    kind = type(X).__name__
    if kind in _HOLDERS:
        message = f"X is of type {kind}; pass its counts, {_HOLDERS[kind]}."
        raise TypeError(message)
    checked: Any
    if estimator is None:
        checked = check_array(X, input_name="X", **_CHECKS, **options)
    else:
        checked = validate_data(estimator, X, **_CHECKS, **options)
    counts = from_sparse(checked) if sp.issparse(checked) else from_dense(checked)
    bad = first_bad_entry(counts)
    if bad is not None:
        name = "threecpo" if estimator is None else type(estimator).__name__
        raise ValueError(bad_entry_message(bad, name))
    return counts


def bad_entry_message(bad: tuple[int, int, float], name: str) -> str:
    """What is wrong with an entry that is no count, and what to do."""
    row, column, value = bad
    where = f"row {row}, column {column} holds {_spelled(value)}"
    if value < 0 and np.isfinite(value):
        return (
            f"Negative values in data passed to {name}: {where}. Counts are 0 or more."
        )
    return (
        f"Input X contains {_spelled(value)}: {where}. "
        "Drop or fill such entries first; an absent count is 0."
    )


def warn_if_fractional(counts: Counts, name: str) -> None:
    """Warn once about values that are not whole numbers."""
    if counts.fractional:
        warnings.warn(fractional_message(counts, name), UserWarning, stacklevel=3)


def fractional_message(counts: Counts, name: str) -> str:
    """What to tell of values that are not whole numbers."""
    if looks_log_normalised(counts):
        return (
            "X holds values that are not whole numbers, and this looks log-normalised: "
            "pass the raw counts instead (for AnnData often layers['counts'] or raw.X)."
        )
    return (
        f"X holds values that are not whole numbers; {name} models counts. "
        "They are used as they are."
    )


def looks_log_normalised(counts: Counts, n_rows: int = 100) -> bool:
    """Whether rows are logarithms of 1 + a multiple of whole numbers.

    Undoing the logarithm must leave every value of a row a whole multiple of the row's
    smallest one, which is one count scaled; tried on the first rows with enough values.
    """
    lengths = np.diff(counts.indptr)
    rows = np.flatnonzero(lengths >= 5)[:n_rows]
    if not len(rows):
        return False
    for base in (np.e, 2.0, 10.0):
        close = total = 0
        for row in rows:
            values = counts.data[counts.indptr[row] : counts.indptr[row + 1]]
            if values.max() * np.log(base) > 30:
                break
            counted = np.expm1(values * np.log(base))
            with np.errstate(over="ignore", invalid="ignore"):
                multiples = counted / counted.min()
                away = np.abs(multiples - np.rint(multiples))
            close += int(np.count_nonzero(away < 0.05))
            total += len(values)
        else:
            if close > 0.95 * total:
                return True
    return False


def _spelled(value: float) -> str:
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    return f"{value:g}"
