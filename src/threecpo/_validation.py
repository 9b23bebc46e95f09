"""Input validation: types, counts, rows."""

from __future__ import annotations

import math
import os
import warnings
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from ._core.counts import Counts
from ._core.matrices import from_dense, from_sparse, plain_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sklearn.base import BaseEstimator

_TABLES = "an array, a frame, a sparse matrix or a CountTable"


def _wrong_kind(X: Any) -> str | None:
    """Why X is not a table of numbers, in one sentence; None if it may be one."""
    if isinstance(X, str | bytes | os.PathLike):
        name = os.fsdecode(X)
        return (
            f"X is the name {name!r}, not a table; read the file first: "
            f"threecpo.read_counts({name!r})."
        )
    kind = type(X).__name__
    if kind == "Series":
        return (
            "X is a Series, one column alone; pass a frame of several columns, or "
            "X.to_frame()."
        )
    # scipy's matrices of keys are dicts.
    if isinstance(X, dict) and not hasattr(X, "tocsr"):
        return f"X is a dict; pass {_TABLES}, such as pandas.DataFrame(X)."
    if X is None or isinstance(X, Number | set | frozenset) or hasattr(X, "__next__"):
        return f"X is of type {kind}; pass a table of counts: {_TABLES}."
    if isinstance(X, list | tuple | np.ndarray):
        return _wrong_array(X) if isinstance(X, np.ndarray) else _wrong_list(X)
    framed = hasattr(X, "columns") and hasattr(X, "dtypes")
    return _wrong_frame(X) if framed else None


def _wrong_list(X: Any) -> str | None:
    if not len(X):
        return None
    if all(isinstance(row, str) for row in X):
        return (
            "X is a list of texts; count their words first: "
            "threecpo.text.count_terms(X)."
        )
    lengths = [len(row) if isinstance(row, list | tuple) else None for row in X]
    odd = next((i for i, n in enumerate(lengths) if n != lengths[0]), None)
    if odd is None or None in (lengths[0], lengths[odd]):
        return None
    return (
        f"Rows of X differ in length: row 0 has {lengths[0]} counts, row {odd} has "
        f"{lengths[odd]}."
    )


def _wrong_array(X: np.ndarray[Any, Any]) -> str | None:
    kind = X.dtype.kind
    if kind in "US" and X.ndim == 1:
        return _wrong_list(X.astype(str).tolist())
    if kind in "US":
        return (
            f"X contains text such as {str(X.flat[0])!r}, not counts; if these are "
            "numbers, pass X.astype(float)."
            if X.size
            else None
        )
    if kind in "Mm":
        return "X contains dates or times, not counts; exclude them."
    if kind == "c":
        return "Complex data not supported: X contains complex numbers, not counts."
    if X.ndim == 1:
        return (
            "X has one dimension, a table has rows and columns. Reshape your data: "
            "X.reshape(1, -1) is one row, X.reshape(-1, 1) one column."
        )
    return None


def _wrong_frame(X: Any) -> str | None:
    """What is wrong with a frame of pandas or polars."""
    names = X.columns
    if getattr(names, "nlevels", 1) > 1:
        return (
            f"The columns of X have names of {names.nlevels} levels; join them: "
            "X.columns = ['_'.join(map(str, name)) for name in X.columns]."
        )
    if not getattr(names, "is_unique", True):
        twice = names[names.duplicated()][0]
        return f"X has several columns called {twice!r}; give each its own name."
    for place, (name, dtype) in enumerate(zip(names, X.dtypes, strict=True)):
        if _is_number(dtype):
            continue
        column = X.iloc[:, place] if hasattr(X, "iloc") else X[name]
        found = _no_number(column)
        if found is not None:
            columns = f"columns=[{name!r}]" if hasattr(X, "iloc") else f"[{name!r}]"
            return (
                f"Column {name!r} of X contains {found}, not counts; exclude it: "
                f"X.drop({columns})."
            )
    return None


def _is_number(dtype: Any) -> bool:
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
    kind = getattr(getattr(dtype, "subtype", dtype), "kind", "O")
    return kind in "biufc"


def _no_number(column: Any) -> str | None:
    """The first value that is not a number, shown; None where all are."""
    for value in column:
        if value is None or type(value).__name__ == "NAType":
            continue
        if type(value).__name__ in ("Timestamp", "datetime", "date", "NaTType"):
            return f"the date {value}"
        if isinstance(value, dict):
            return None  # scikit-learn has its own word for these
        try:
            float(value)
        except (TypeError, ValueError):
            text = repr(value)
            return text if len(text) <= 40 else f"{text[:40]}…"
    return None


_CHECKS: dict[str, Any] = {
    "accept_sparse": ("csr", "csc", "coo"),
    "dtype": "numeric",
    # Our own check names the row and column.
    "ensure_all_finite": False,
}
_MOST_NAMES = 5
# Rounded shares sum to about 1; two rows may do so by chance.
_SHARE_TOLERANCE, FEWEST_SHARES = 0.02, 3


def check_counts(
    X: Any, estimator: BaseEstimator | None = None, *, reset: bool = True
) -> Counts:
    """Return the counts of a table, array, frame or sparse matrix; X is not changed.

    A CountTable holds counts that were checked: they are returned as they are. With an
    estimator, the number and the names of columns are stored (``reset``) or compared;
    those of a table are matched by name.
    """
    held = held_counts(X)
    if held is not None:
        if estimator is not None:
            names = getattr(X, "column_names", None)
            if not reset and names is not None:
                held, names = _in_order_of_fit(estimator, held, list(names))
            _check_columns(estimator, held.n_columns, names, reset=reset)
        return _without_bad_entries(held, estimator)
    if type(X).__name__ == "AnnData":
        message = (
            "X is an AnnData; use threecpo.anndata.cluster(adata), which writes the "
            "results into it, or pass a matrix of counts such as adata.X."
        )
        raise TypeError(message)
    wrong = _wrong_kind(X)
    if wrong is not None:
        raise ValueError(wrong)
    from scipy.sparse import issparse

    if issparse(X):
        # Conversions of scikit-learn would follow indices before they are checked.
        X = plain_format(X)
    # scikit-learn, which tables of files do without.
    from sklearn.utils import check_array
    from sklearn.utils.validation import validate_data

    checked: Any
    if estimator is None:
        checked = check_array(X, input_name="X", **_CHECKS)
    else:
        checked = validate_data(estimator, X, reset=reset, **_CHECKS)
    counts = from_sparse(checked) if issparse(checked) else from_dense(checked)
    return _without_bad_entries(counts, estimator)


def check_structure(X: Any) -> None:
    """Refuse a sparse matrix whose indices lie, whatever its values are."""
    from_sparse(plain_format(X))


def held_counts(X: Any) -> Counts | None:
    """Return the counts that a table holds, or that X is; None if it has none yet."""
    held = X if isinstance(X, Counts) else getattr(X, "counts", None)
    return held if isinstance(held, Counts) else None


def _without_bad_entries(counts: Counts, estimator: Any) -> Counts:
    if counts.bad_entry is not None:
        name = "threecpo" if estimator is None else type(estimator).__name__
        raise ValueError(bad_entry_message(counts.bad_entry, name))
    return counts


def _in_order_of_fit(
    estimator: Any, counts: Counts, names: list[str]
) -> tuple[Counts, list[str]]:
    """Columns of a table matched by name, where it has just those of the fit."""
    fitted = list(getattr(estimator, "feature_names_in_", ()))
    if names == fitted or sorted(names) != sorted(fitted):
        return counts, names
    place = {name: j for j, name in enumerate(names)}
    return counts.reordered(np.array([place[name] for name in fitted])), fitted


def _check_columns(
    estimator: Any, n_columns: int, names: Sequence[str] | None, *, reset: bool
) -> None:
    """Store or compare columns as scikit-learn does for frames."""
    if reset:
        estimator.n_features_in_ = n_columns
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    fitted = getattr(estimator, "feature_names_in_", None)
    if names is not None and fitted is not None:
        _check_names(list(fitted), list(names))
    expected = getattr(estimator, "n_features_in_", n_columns)
    if n_columns != expected:
        message = (
            f"X has {n_columns} features, but {type(estimator).__name__} is expecting "
            f"{expected} features as input."
        )
        raise ValueError(message)


def _check_names(fitted: list[str], given: list[str]) -> None:
    if fitted == given:
        return
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(given) - set(fitted)), sorted(set(fitted) - set(given))
    if unseen:
        message += f"Feature names unseen at fit time:\n{_listed(unseen)}"
    if missing:
        message += (
            f"Feature names seen at fit time, yet now missing:\n{_listed(missing)}"
        )
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise ValueError(message)


def _listed(names: list[str]) -> str:
    more = "- ...\n" if len(names) > _MOST_NAMES else ""
    return "".join(f"- {name}\n" for name in names[:_MOST_NAMES]) + more


def bad_entry_message(bad: tuple[int, int, float], name: str) -> str:
    """What is wrong with an entry that is not a count, and what to do."""
    row, column, value = bad
    where = f"row {row}, column {column} holds {_formatted(value)}"
    if value < 0 and np.isfinite(value):
        return (
            f"Negative values in data passed to {name}: {where}. Counts are 0 or more."
        )
    return (
        f"Input X contains {_formatted(value)}: {where}. "
        "Drop or fill such entries first; an absent count is 0."
    )


def warn_if_fractional(counts: Counts, name: str) -> None:
    """Warn once about values that are not integers."""
    if counts.fractional and not counts.transformed:
        warnings.warn(fractional_message(counts, name), UserWarning, stacklevel=3)


def fractional_message(counts: Counts, name: str) -> str:
    """What to say about values that are not integers."""
    if looks_log_normalised(counts):
        return (
            "X contains values that are not integers, and this looks log-normalised: "
            "pass the raw counts instead (for AnnData often layers['counts'] or raw.X)."
        )
    return (
        f"X contains values that are not integers; {name} models counts. "
        "They are used as they are."
    )


def looks_log_normalised(counts: Counts, n_rows: int = 100) -> bool:
    """Whether rows are logarithms of 1 + multiples of their smallest value."""
    lengths = np.diff(counts.indptr)
    rows = np.flatnonzero(lengths >= 5)[:n_rows]
    if not len(rows):
        return False
    for base in (math.e, 2.0, 10.0):
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


def proportion_total(counts: Counts) -> int | None:
    """1 or 100 if the values of each row are shares that sum to it, else None."""
    if not counts.fractional or counts.n_columns < 2:
        return None
    sums = counts.row_lengths(1)
    sums = sums[sums > 0]
    if len(sums) < FEWEST_SHARES:
        return None
    whole = np.array([1.0, 100.0])
    near = np.abs(sums[:, None] - whole) <= _SHARE_TOLERANCE * whole
    found = np.flatnonzero(near.all(axis=0))
    return int(whole[found[0]]) if len(found) else None


def proportions_message(total: int) -> str:
    """Say that rows are shares of this total, and what to do."""
    return (
        f"all rows sum to {total}: these are proportions, not counts. Read the "
        f"original counts; if they are lost, multiply all values by {1000 // total} "
        "and round them"
    )


def _formatted(value: float) -> str:
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    return f"{value:g}"
