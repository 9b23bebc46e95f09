"""What readers find in a file, and the table that becomes of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.counts import EXACT, Counts, first_bad_entry
from .._core.matrices import from_sparse
from .._errors import DataFormatError
from .._labels import LABEL
from .._validation import proportion_total
from ..table import CountTable
from .limits import check_unpacked, limit_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from .format_options import WriteOptions

if TYPE_CHECKING:
    # Names of columns, and a value of each for every row.
    Records = tuple[list[str], Iterable[Sequence[Any]]]

_PROPORTIONS = (
    "all rows sum to {}: these are proportions, not counts. Read the original counts; "
    "if they are lost, multiply all values by {} and round them"
)
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
    label_kind: str = LABEL
    other_labels: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    row_titles: Sequence[str] | None = None
    description: str = ""


def to_table(
    parts: FileContent, path: Path, *, transpose: bool, limit: int | None = None
) -> CountTable:
    """Make the table, after all checks that name a row and a column."""
    X, rows, columns = parts.X, parts.row_names, parts.column_names
    if transpose:
        if parts.labels is not None:
            message = "transpose=True cannot be combined with labels of rows"
            raise DataFormatError(message)
        X, rows, columns = _matrix(X).T, columns, rows
        parts = replace(parts, row_titles=None)
    check_size(X.shape, len(X.data))
    check_unpacked(_OF_POINTER * sum(X.shape), limit_of(path, limit))
    check_names(rows, X.shape[0], "row")
    check_names(columns, X.shape[1], "column")
    if X.data.dtype.kind not in "biuf":
        message = f"its values are of type {X.data.dtype}, not numbers"
        raise DataFormatError(message)
    counts = X if isinstance(X, Counts) else from_sparse(X)
    bad = first_bad_entry(counts, below=EXACT)
    if bad is not None:
        row, column, value = bad
        where = f"{_called('row', rows, row)}, {_called('column', columns, column)}"
        raise no_count(where, value)
    if total := proportion_total(counts):
        raise DataFormatError(_PROPORTIONS.format(total, 1000 // total))
    names: dict[str, Any] = {"row_names": rows, "column_names": columns}
    names |= {"labels": parts.labels, "label_names": parts.label_names}
    names |= {"label_kind": parts.label_kind, "other_labels": parts.other_labels}
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
        what = f"NaN; fill in 0{unless}"
    elif np.isinf(value):
        what = "an infinite number; counts are finite"
    elif value < 0:
        what = f"{value:g}; counts are 0 or more"
    else:
        what = f"{value:g}; counts must be below 2**53 to be exact"
    return DataFormatError(f"{where} holds {what}")


def written_names(names: Iterable[Any] | None, length: int) -> list[str]:
    """Names, or numbers from 0 where there are none."""
    return [str(i) for i in range(length)] if names is None else list(names)


def written_labels(
    table: CountTable, options: WriteOptions, others: Iterable[str]
) -> dict[str, list[str]]:
    """Columns of labels, empty for rows without one, beside columns of other names."""
    columns: dict[str, list[str]] = {}
    taken = set(others)
    for kind, texts in table.label_kinds.items():
        first = table.labels is not None and not columns
        name = kind if options.labels is None or not first else options.labels
        if name in columns or name in taken:
            message = f"a column is called {name!r}; pass another labels="
            raise DataFormatError(message)
        columns[name] = texts.tolist()
    return columns


def shown(text: str) -> str:
    """Return a piece of a file, short and on one line."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def _called(of: str, names: Sequence[str] | None, i: int) -> str:
    return f"{of} {i + 1}" if names is None else f"{of} {shown(names[i])}"


def _title(path: Path) -> str:
    name = path.resolve().name
    for suffix in (".gz", ".bz2", ".xz"):
        name = name.removesuffix(suffix)
    return name if path.is_dir() else name.rpartition(".")[0] or name
