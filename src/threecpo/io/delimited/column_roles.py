"""Which columns of a wide table are names, labels, counts or to be left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..._core.counts import EXACT
from ..._errors import DataFormatError
from .._file_content import check_names, no_count, shown
from .number_style import hint, may_be_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ..format_options import ReadOptions

_OR_ZERO = ", or pass empty='zero'"


@dataclass(frozen=True)
class Layout:
    """Places of columns in a line, and the names of those with counts."""

    width: int
    index: int | None
    labels: Mapping[str, int]
    counted: list[int]
    names: list[str] | None
    # Places without a name, in which nothing may stand.
    blank: tuple[int, ...] = ()

    def called(self, column: int) -> str:
        """How errors call a column of counts."""
        if self.names is None:
            return f"column {self.counted[column] + 1}"
        return f"column {shown(self.names[column])}"


def find_layout(
    header: list[str] | None, first: list[str], options: ReadOptions
) -> Layout:
    """Decide by the names of columns and by the first record."""
    if header is not None and len(first) == len(header) + 1:
        # R leaves out the corner above the names of rows.
        header = ["", *header]
    width = len(header or first)
    index = _index(header, first, options)
    labels = {name: place_of(header, name, "labels") for name in options.labels}
    dropped = {place_of(header, name, "drop") for name in options.drop}
    taken = {index, *labels.values(), *dropped}
    blank = _blank(header, first) - taken
    named = {*taken, *blank}
    counted = [place for place in range(width) if place not in named]
    if not counted:
        message = "it has no columns of counts"
        raise DataFormatError(message)
    names = None if header is None else [header[place] for place in counted]
    check_names(names, len(counted), "column")
    return Layout(width, index, labels, counted, names, tuple(sorted(blank)))


def _blank(header: list[str] | None, first: list[str]) -> set[int]:
    """Places, but the first, without a name or anything in the first record."""
    pairs = enumerate(zip(header or (), first, strict=False))
    return {j for j, (name, field) in pairs if j and not (name + field).strip()}


def _index(
    header: list[str] | None, first: list[str], options: ReadOptions
) -> int | None:
    given = options.index
    if given is not None:
        return _given_index(header, len(first), given)
    if header and header[0] in (*options.labels, *options.drop):
        return None
    named = header is not None and names_rows(header[0])
    return 0 if named or not is_number(first[0]) else None


def _given_index(header: list[str] | None, width: int, given: str | int) -> int | None:
    if isinstance(given, str):
        return place_of(header, given, "index")
    if isinstance(given, bool):
        return 0 if given else None
    if not 0 <= given < width:
        message = f"index={given} is not the place of a column, from 0"
        raise DataFormatError(message)
    return given


def names_rows(name: str) -> bool:
    """Whether a column of this name is one of names of rows, even if of numbers."""
    plain = name.strip().lower()
    return plain in ("", "index", "id") or plain.endswith(("_id", " id"))


class UnknownColumnError(DataFormatError):
    """An option names a column that is not there."""

    def __init__(self, message: str, name: str, option: str) -> None:
        super().__init__(message)
        self.name, self.option = name, option


def place_of(
    header: Sequence[str] | None, name: str, option: str, held: str = "it"
) -> int:
    """Place of the column that an option names."""
    if header is None:
        message = f"{option}={name!r} names a column, but no line names the columns"
        raise UnknownColumnError(message, name, option)
    if name not in header:
        some = ", ".join(shown(column) for column in header[:8]) or "none"
        more = ", ..." if len(header) > 8 else ""
        message = f"{held} has no column {shown(name)} for {option}=, but {some}{more}"
        raise UnknownColumnError(message, name, option)
    return header.index(name)


def is_number(text: str) -> bool:
    """Whether a field is a number, perhaps an infinite one or NaN."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def checked_counts(
    fields: list[str], layout: Layout, place: str
) -> NDArray[np.float64]:
    """Counts of the fields of a line or row, or the error that says what is wrong."""
    if not all(map(is_number, fields)):
        raise _text_in(fields, layout, place)
    values = np.array([float(text) for text in fields])
    bad = ~((values >= 0) & (values < EXACT))
    if bad.any():
        at = int(np.argmax(bad))
        where = f"{place}, {layout.called(at)}"
        raise no_count(where, values[at], _OR_ZERO)
    return values


def checked_count(text: str, where: str) -> float:
    """One count, or the error that says what is wrong with it."""
    if not is_number(text):
        what = f"holds {shown(text)}, which is no count" if text.strip() else "is empty"
        message = f"{where} {what}{hint(text)}"
        raise DataFormatError(message)
    count = float(text)
    if not 0 <= count < EXACT:
        raise no_count(where, count, _OR_ZERO)
    return count


def _text_in(fields: list[str], layout: Layout, place: str) -> DataFormatError:
    """Error about the first of some fields that is no number."""
    wrong = [j for j, text in enumerate(fields) if not is_number(text)]
    text = fields[wrong[0]]
    where = f"{place}, {layout.called(wrong[0])}"
    if not text.strip():
        return DataFormatError(f"{where} is empty{hint(text)}")
    advice = hint(text)
    if layout.names and not advice:
        names = [layout.names[j] for j in wrong if not may_be_count(fields[j])]
        advice = _not_counts(names, len(fields), sentence=" " in text.strip())
    return DataFormatError(f"{where} holds {shown(text)}, which is no number{advice}")


def _not_counts(names: Sequence[str], n_columns: int, *, sentence: bool) -> str:
    """What to do about columns that are no counts, of so many that should be.

    The first of them holds a ``sentence``, or does not.
    """
    words = f"; if its words shall be counted, pass text={shown(names[0])}"
    if len(names) == n_columns:
        return words
    listed = ", ".join(map(shown, names))
    it, what = "it", "the column is no count"
    if len(names) > 1:
        it, what = "them", f"{len(names)} columns are no counts"
    return (
        f"; if {what}, leave {it} out by drop=[{listed}] or pass {it} as labels= or "
        f"index={words if sentence else ''}"
    )
