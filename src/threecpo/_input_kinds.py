"""What people pass in place of a table of counts, and what to do instead."""

from __future__ import annotations

import os
from numbers import Number
from typing import Any

import numpy as np

_TABLES = "an array, a frame, a sparse matrix or a CountTable"


def refuse_other_kinds(X: Any) -> None:
    """Refuse what is no table of numbers, in one sentence each."""
    message = _wrong_object(X)
    if message is None and isinstance(X, list | tuple):
        message = _wrong_list(X)
    elif message is None and isinstance(X, np.ndarray):
        message = _wrong_array(X)
    elif message is None and hasattr(X, "columns") and hasattr(X, "dtypes"):
        message = _wrong_frame(X)
    if message is not None:
        raise ValueError(message)


def _wrong_object(X: Any) -> str | None:
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
    return None


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
            f"X holds text such as {str(X.flat[0])!r}, no numbers; if these are "
            "numbers, pass X.astype(float)."
            if X.size
            else None
        )
    if kind in "Mm":
        return "X holds dates or times, no counts; leave them out."
    if kind == "c":
        return "Complex data not supported: X holds complex numbers, no counts."
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
                f"Column {name!r} of X holds {found}, which is no number; leave it "
                f"out: X.drop({columns})."
            )
    return None


def _is_number(dtype: Any) -> bool:
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
    kind = getattr(getattr(dtype, "subtype", dtype), "kind", "O")
    return kind in "biufc"


def _no_number(column: Any) -> str | None:
    """The first value that is no number, shown; None where all are."""
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
