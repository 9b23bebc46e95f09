"""Which columns of a wide table are names, labels, counts or to be left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..._core.counts import EXACT
from ..._errors import DataFormatError
from .._file_content import check_names, no_count, shown
from .number_style import hint, is_missing, may_be_count
from .order_lines import find_order_lines, is_id

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
    # First values of all columns, which tell what to do about others.
    sample: Sequence[Sequence[str]] = ()
    order_lines: list[str] | None = None

    def called(self, column: int) -> str:
        """How errors call a column of counts."""
        if self.names is None:
            return f"column {self.counted[column] + 1}"
        return f"column {shown(self.names[column])}"


def find_layout(
    header: list[str] | None,
    first: list[str],
    options: ReadOptions,
    sample: Sequence[Sequence[str]] = (),
) -> Layout:
    """Decide by the names of columns and by the first record.

    ``sample`` are first values of all columns, for what errors advise.
    """
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
    orders = (
        None if options.drop or options.labels else find_order_lines(header, sample)
    )
    unnamed = tuple(sorted(blank))
    return Layout(width, index, labels, counted, names, unnamed, sample, orders)


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
    return name.strip().lower() in ("", "index") or is_id(name)


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
        message = (
            f"{option}={name!r} names a column, but the first line is not a header"
        )
        raise UnknownColumnError(message, name, option)
    if name not in header:
        some = ", ".join(shown(column) for column in header[:8]) or "none"
        more = ", ..." if len(header) > 8 else ""
        missing = f"{held} has no column {shown(name)} for {option}="
        message = f"{missing}. Available: {some}{more}"
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
        raise DataFormatError(_not_a_number(text, where))
    count = float(text)
    if not 0 <= count < EXACT:
        raise no_count(where, count, _OR_ZERO)
    return count


def _not_a_number(text: str, where: str) -> str:
    """Say what a field is, and what to pass so that it is a count."""
    if is_missing(text):
        what = "is empty" if not text.strip() else f"is missing ({shown(text)})"
        return f"{where} {what}{hint(text)}"
    return f"{where} holds {shown(text)}, which is not a number{hint(text)}"


def _text_in(fields: list[str], layout: Layout, place: str) -> DataFormatError:
    """Error about the first of some fields that is not a number."""
    wrong = [j for j, text in enumerate(fields) if not is_number(text)]
    text = fields[wrong[0]]
    message = _not_a_number(text, f"{place}, {layout.called(wrong[0])}")
    if layout.names is None or hint(text):
        return DataFormatError(message)
    if layout.order_lines:
        advice = f"Read order lines with triples={layout.order_lines!r}"
        return DataFormatError(f"{message}. {advice}")
    if _is_odd_cell(layout, wrong[0]):
        drop = f"drop=[{shown(layout.names[wrong[0]])}]"
        advice = f"Correct the cell, or exclude the column with {drop}"
    else:
        texts = [j for j in wrong if not may_be_count(fields[j])]
        advice = _not_counts(layout, texts, sentence=len(text.split()) > 3)
    return DataFormatError(f"{message}. {advice}")


def _is_odd_cell(layout: Layout, column: int) -> bool:
    """Whether other values of a column are counts."""
    values = layout.sample[layout.counted[column]] if layout.sample else ()
    return 2 * sum(map(may_be_count, values)) > len(values)


def _not_counts(layout: Layout, columns: Sequence[int], *, sentence: bool) -> str:
    """What to do about columns of text, the first of which may hold sentences."""
    assert layout.names is not None
    names = [layout.names[j] for j in columns]
    if sentence or len(names) == len(layout.names):
        return f"To count its words, pass text={shown(names[0])}"
    listed = ", ".join(map(shown, names))
    if len(names) > 1:
        several = f"Exclude the {len(names)} columns that are not counts"
        return f"{several} with drop=[{listed}], or pass labels=[{listed}]"
    values = layout.sample[layout.counted[columns[0]]] if layout.sample else ()
    unique = layout.index is None and 2 < len(values) == len(set(values))
    other = f"use it as row names with index={listed}"
    if not unique:
        other = f"compare clusters with it by labels=[{listed}]"
    return f"Exclude the column with drop=[{listed}], or {other}"
