"""What readers find in a file, and the table that becomes of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.bad_entries import first_bad_entry
from .._core.counts import EXACT, Counts, from_sparse
from .._errors import DataFormatError
from ..table import CountTable
from .limits import check_unpacked, limit_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

LARGEST = np.iinfo(np.int32).max
# Rows or columns of which nothing but their number is known. In tables that somebody
# has counted, most rows and columns hold a count.
_ALLOWED = 100_000
_ALLOWED_PER_COUNT = 100
_OF_POINTER = 8


@dataclass(frozen=True)
class FileContent:
    """A sparse matrix as it lies in the file, or counts, with names and labels."""

    X: Any
    row_names: Sequence[str] | None = None
    column_names: Sequence[str] | None = None
    labels: NDArray[np.integer] | None = None
    label_names: Sequence[str] | None = None
    row_titles: Sequence[str] | None = None
    description: str = ""


def to_table(
    parts: FileContent, path: Path, *, transpose: bool, limit: int | None = None
) -> CountTable:
    """Make the table, after all checks that name a row and a column."""
    X, rows, columns = parts.X, parts.row_names, parts.column_names
    if transpose:
        if parts.labels is not None:
            message = "transpose=True would make labels of rows labels of columns"
            raise DataFormatError(message)
        X, rows, columns = _matrix(X).T, columns, rows
        parts = replace(parts, row_titles=None)
    check_size(X.shape, len(X.data))
    check_unpacked(_OF_POINTER * sum(X.shape), limit_of(path, limit))
    check_names(rows, X.shape[0], "row")
    check_names(columns, X.shape[1], "column")
    if X.data.dtype.kind not in "biuf":
        message = f"it holds values of type {X.data.dtype}, which are no counts"
        raise DataFormatError(message)
    counts = X if isinstance(X, Counts) else from_sparse(X)
    bad = first_bad_entry(counts, below=EXACT)
    if bad is not None:
        row, column, value = bad
        where = f"{_called('row', rows, row)}, {_called('column', columns, column)}"
        raise no_count(where, value)
    names: dict[str, Any] = {"row_names": rows, "column_names": columns}
    names |= {"labels": parts.labels, "label_names": parts.label_names}
    names |= {"row_titles": parts.row_titles, "description": parts.description}
    return CountTable(counts, **names, name=_title(path), source=str(path))


def _matrix(X: Any) -> Any:
    return X.matrix() if isinstance(X, Counts) else X


def check_size(shape: tuple[int, ...], stored: int) -> None:
    """Refuse empty tables, and sizes that only a damaged header can have."""
    if len(shape) != 2:
        message = f"it holds {len(shape)} dimensions; a table has rows and columns"
        raise DataFormatError(message)
    for size, of in zip(shape, ("rows", "columns"), strict=True):
        if size < 1:
            message = f"it has no {of}"
            raise DataFormatError(message)
        if size > LARGEST or size > _ALLOWED + _ALLOWED_PER_COUNT * stored:
            message = f"it claims {size} {of} for {stored} counts; it is damaged"
            raise DataFormatError(message)


def check_names(names: Sequence[str] | None, length: int, of: str) -> None:
    """Refuse names that are too many, too few or not different."""
    if names is None:
        return
    if len(names) != length:
        message = f"it has {len(names)} names for {length} {of}s"
        raise DataFormatError(message)
    if len(set(names)) == length:
        return
    first: dict[str, int] = {}
    for i, name in enumerate(names, 1):
        if name in first:
            message = (
                f"{of}s {first[name]} and {i} are both called {shown(name)}; "
                "give them different names"
            )
            raise DataFormatError(message)
        first[name] = i


def no_count(where: str, value: float, unless: str = "") -> DataFormatError:
    """Error about a number that cannot be a count."""
    if np.isnan(value):
        what = f"NaN; fill in 0 for no count{unless}"
    elif np.isinf(value):
        what = "an infinite number; counts are finite"
    elif value < 0:
        what = f"{value:g}; counts are 0 or more"
    else:
        what = f"{value:g}; counts must be below 2**53 to be exact"
    return DataFormatError(f"{where} holds {what}")


def encoded(values: Iterable[str | None]) -> dict[str, Any]:
    """Labels by name: numbered in order, -1 where there is none."""
    listed = list(values)
    names = sorted({value for value in listed if value is not None}, key=_label_order)
    number = {name: i for i, name in enumerate(names)}
    labels = np.array([-1 if value is None else number[value] for value in listed])
    return {"labels": labels, "label_names": names}


def label_text(value: object) -> str | None:
    """A label as text; None for one that is missing."""
    if value is None or value != value:  # noqa: PLR0124
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = value.decode() if isinstance(value, bytes) else str(value)
    return text.strip() or None


def written_names(names: Iterable[Any] | None, length: int) -> list[str]:
    """Names, or numbers from 0 where there are none."""
    return [str(i) for i in range(length)] if names is None else list(names)


def written_labels(table: CountTable) -> list[str]:
    """The name of each row's label; nothing for a row without one."""
    labels = np.asarray(table.labels)
    names = written_names(table.label_names, int(labels.max()) + 1)
    return ["" if label < 0 else names[label] for label in labels.tolist()]


def shown(text: str) -> str:
    """Return a piece of a file, short and on one line."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def _label_order(name: str) -> tuple[bool, int, str]:
    """Whole numbers by size, before words by the alphabet."""
    whole = re.fullmatch(r"-?[0-9]{1,18}", name)
    return whole is None, int(name) if whole else 0, name


def _called(of: str, names: Sequence[str] | None, i: int) -> str:
    return f"{of} {i + 1}" if names is None else f"{of} {shown(names[i])}"


def _title(path: Path) -> str:
    name = path.resolve().name
    for suffix in (".gz", ".bz2", ".xz"):
        name = name.removesuffix(suffix)
    return name if path.is_dir() else name.rpartition(".")[0] or name
