"""What readers find in a file, its checks, and names as files have them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import DataFormatError, parameter, refuse, shown
from .._labels import LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from ..table import CountTable
    from .formats import WriteOptions

    # Names of columns, and a value of each for every row.
    Records = tuple[list[str], Iterable[Sequence[Any]]]

# Whole numbers below are exact.
EXACT = 2.0**53

LARGEST = np.iinfo(np.int32).max
# Rows or columns of which nothing but their number is known. In tables that somebody
# has counted, most rows and columns hold a count.
_ALLOWED = 100_000
_ALLOWED_PER_COUNT = 100


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


def check_size(shape: tuple[int, ...], stored: int) -> None:
    """Refuse empty tables, and sizes that only a damaged header can have."""
    if len(shape) != 2:
        refuse(f"it has {len(shape)} dimensions; a table has rows and columns")
    for size, of in zip(shape, ("rows", "columns"), strict=True):
        if size < 1:
            refuse(f"it has no {of}")
        if size > LARGEST or size > _ALLOWED + _ALLOWED_PER_COUNT * stored:
            refuse(f"it claims {size} {of} for {stored} counts; it is damaged")


def check_names(names: Sequence[str] | None, length: int, of: str) -> None:
    """Refuse names that are too many, too few or not different."""
    if names is None:
        return
    if len(names) != length:
        refuse(f"it has {len(names)} names for {length} {of}s")
    first: dict[str, int] = {}
    for i, name in enumerate(names, 1):
        if (before := first.setdefault(name, i)) < i:
            refuse(
                f"{of}s {before} and {i} are both called {shown(name)}; "
                "give them different names"
            )


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
            refuse(f"a column is called {name!r}; pass another {parameter('labels')}")
        columns[name] = texts.tolist()
    return columns


def csr_rows(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    shape: tuple[int, int],
) -> sp.csr_array:
    """Rows in the memory of these arrays; scipy copies what is not as wide as another.

    Nobody has looked at the pointers yet.
    """
    import scipy.sparse as sp

    narrow = indptr.astype(indices.dtype)
    small = np.array_equal(narrow, indptr)
    return sp.csr_array((data, indices, narrow if small else indptr), shape=shape)


def called_at(of: str, names: Sequence[str] | None, i: int) -> str:
    """How errors call a row or column: by its name, or its number from 1."""
    return f"{of} {i + 1}" if names is None else f"{of} {shown(names[i])}"
