"""Which columns of a wide table are names, labels, counts or to be left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..._errors import DataFormatError
from .._file_content import check_names, shown

if TYPE_CHECKING:
    from ..format_options import ReadOptions


@dataclass(frozen=True)
class Layout:
    """Places of columns in a line, and the names of those with counts."""

    width: int
    index: int | None
    labels: int | None
    counted: list[int]
    names: list[str] | None

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
    labels = (
        None if options.labels is None else _place(header, options.labels, "labels")
    )
    dropped = {_place(header, name, "drop") for name in options.drop}
    named = {index, labels, *dropped}
    counted = [place for place in range(width) if place not in named]
    if not counted:
        message = "it has no columns of counts"
        raise DataFormatError(message)
    names = None if header is None else [header[place] for place in counted]
    check_names(names, len(counted), "column")
    return Layout(width, index, labels, counted, names)


def _index(
    header: list[str] | None, first: list[str], options: ReadOptions
) -> int | None:
    given = options.index
    if given is not None:
        return _given_index(header, len(first), given)
    if header and header[0] in (options.labels, *options.drop):
        return None
    named = header is not None and names_rows(header[0])
    return 0 if named or not is_number(first[0]) else None


def _given_index(header: list[str] | None, width: int, given: str | int) -> int | None:
    if isinstance(given, str):
        return _place(header, given, "index")
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


def _place(header: list[str] | None, name: str, option: str) -> int:
    if header is None:
        message = f"{option}={name!r} names a column, but no line names the columns"
        raise DataFormatError(message)
    if name not in header:
        some = ", ".join(shown(column) for column in header[:8])
        more = ", ..." if len(header) > 8 else ""
        message = f"it has no column {shown(name)} for {option}=, but {some}{more}"
        raise DataFormatError(message)
    return header.index(name)


def is_number(text: str) -> bool:
    """Whether a field is a number, perhaps an infinite one or NaN."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def text_in(number: int, layout: Layout, column: int, text: str) -> DataFormatError:
    """Error about a field that is no number."""
    where = f"line {number}, {layout.called(column)}"
    if not text.strip():
        return DataFormatError(f"{where} is empty; fill in 0 for no count")
    hint = ""
    if layout.names:
        hint = (
            "; if the column is no count, leave it out by "
            f"drop=[{shown(layout.names[column])}] or pass it as labels= or index="
        )
    return DataFormatError(f"{where} holds {shown(text)}, which is no number{hint}")
