"""Which columns of a table are names, labels, counts or to be left out.

A table has one row per line, or row, column and count; order lines have these
among other columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._errors import DataFormatError, parameter, refuse, shown
from .content import EXACT, check_names, no_count
from .numbers import hint, is_censored, is_missing, is_number, may_be_count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from .formats import ReadOptions

_OR_ZERO = f", or pass {parameter('empty', 'zero')}"
CALLED_COUNTS = ("count", "counts", "n", "quantity", "qty", "menge", "anzahl")
_COUNTED = re.compile(
    r"(?i)(?:\w*[ _])?(?:quantity|qty|counts?|units|menge|anzahl|cantidad|quantité)|n"
)
_WHO = re.compile(
    r"(?i).*(?:customer|client|user|member|patient|visitor|account|buyer|household"
    r"|kunde|cliente).*"
)
_WHAT = re.compile(
    r"(?i).*(?:product|item|article|categor|description|species|artikel|produkt).*"
)
_ID = re.compile(r"(?:.*[_\W])?(?i:id)|.*[a-z](?:ID|Id)")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*")


# More numbers than quantity, price and their like are a table of counts.
_MOST_NUMBERS, _MOST_COLUMNS, _FEWEST_RECORDS = 4, 40, 3


@dataclass(frozen=True)
class Layout:
    """Places of columns in a line, and the names of those with counts."""

    width: int
    index: int | None
    labels: Mapping[str, int]
    counted: list[int]
    names: list[str] | None
    # Places without a name, in which nothing may stand.
    blank: tuple[int, ...]
    # First values of all columns, which tell what to do about others.
    sample: Sequence[Sequence[str]]
    order_lines: list[str] | None

    def values(self, column: int) -> Sequence[str]:
        """First values of a column of counts."""
        return self.sample[self.counted[column]] if self.sample else ()

    def called(self, column: int) -> str:
        """How errors call a column of counts."""
        if self.names is None:
            return f"column {self.counted[column] + 1}"
        return f"column {shown(self.names[column])}"


def find_layout(
    header: list[str] | None,
    first: list[str],
    options: ReadOptions,
    sample: Sequence[Sequence[str]],
) -> Layout:
    """Decide by the names of columns and by the first record.

    ``sample`` are first values of all columns, for what errors advise.
    """
    width = len(header or first)
    index = _index(header, first, options)
    labels = {name: place_of(header, name, "labels") for name in options.labels}
    dropped = {place_of(header, name, "drop") for name in options.drop}
    taken = {index, *labels.values(), *dropped}
    # Places, but the first, without a name or anything in the first record.
    pairs = enumerate(zip(header or (), first, strict=False))
    blank = {j for j, (name, field) in pairs if j and not (name + field).strip()}
    blank -= taken
    named = {*taken, *blank}
    counted = [place for place in range(width) if place not in named]
    if not counted:
        refuse("it has no columns of counts")
    names = None if header is None else [header[place] for place in counted]
    check_names(names, len(counted), "column")
    told = options.drop or options.labels
    orders = None if told else find_order_lines(header, sample)
    unnamed = tuple(sorted(blank))
    return Layout(width, index, labels, counted, names, unnamed, sample, orders)


def _index(
    header: list[str] | None, first: list[str], options: ReadOptions
) -> int | None:
    if options.index is not None:
        return given_index(header, len(first), options.index)
    if header and header[0] in (*options.labels, *options.drop):
        return None
    named = header is not None and names_rows(header[0])
    return 0 if named or not is_number(first[0]) else None


def given_index(header: list[str] | None, width: int, given: str | int) -> int | None:
    """Place of the column of names that is asked for, None for none."""
    if isinstance(given, str):
        return place_of(header, given, "index")
    if isinstance(given, bool):
        return 0 if given else None
    if not 0 <= given < width:
        refuse(f"{parameter('index', given)} is not the place of a column, from 0")
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
            f"{parameter(option, name)} names a column, but the first line is not a "
            "header"
        )
    elif name in header:
        return header.index(name)
    else:
        some = ", ".join(shown(column) for column in header[:8]) or "none"
        more = ", ..." if len(header) > 8 else ""
        missing = f"{held} has no column {shown(name)} for {parameter(option)}"
        message = f"{missing}. Available: {some}{more}"
    raise UnknownColumnError(message, name, option)


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
        advice = f"Read order lines with {parameter('triples', layout.order_lines)}"
        return DataFormatError(f"{message}. {advice}")
    if _mostly(may_be_count, layout.values(wrong[0])):
        drop = parameter("drop", [layout.names[wrong[0]]])
        advice = f"Correct the cell, or exclude the column with {drop}"
    else:
        texts = [j for j in wrong if not may_be_count(fields[j])]
        advice = _not_counts(layout, texts, sentence=len(text.split()) > 3)
    return DataFormatError(f"{message}. {advice}")


def _not_counts(layout: Layout, columns: Sequence[int], *, sentence: bool) -> str:
    """What to do about columns of text, the first of which may hold sentences."""
    assert layout.names is not None
    names = [layout.names[j] for j in columns]
    if sentence or len(names) == len(layout.names):
        return f"To count its words, pass {parameter('text', names[0])}"
    drop, labels = parameter("drop", names), parameter("labels", names)
    if len(names) > 1:
        several = f"Exclude the {len(names)} columns that are not counts"
        return f"{several} with {drop}, or pass {labels}"
    values = layout.values(columns[0])
    unique = layout.index is None and 2 < len(values) == len(set(values))
    other = f"use it as row names with {parameter('index', names[0])}"
    if not unique:
        other = f"compare clusters with it by {labels}"
    return f"Exclude the column with {drop}, or {other}"


class Places(NamedTuple):
    """Where in a line row, column and count stand, of how many fields.

    Pairs have no count: each line counts one.
    """

    row: int
    column: int
    value: int | None
    width: int

    @classmethod
    def find(cls, header: list[str], options: ReadOptions) -> Places:
        """Find the columns that are named, or take all of two or three."""
        triples = options.triples
        for name in options.drop:
            place_of(header, name, "drop")
        if isinstance(triples, bool | None):
            left = [j for j, name in enumerate(header) if name not in options.drop]
            if len(left) not in (2, 3):
                refuse(
                    f"{parameter('triples')} needs three columns, but there are "
                    f"{len(left)}. Pass the names of the columns of rows, columns and "
                    "counts"
                )
        else:
            names = (triples,) if isinstance(triples, str) else tuple(triples)
            if len(names) not in (2, 3):
                refuse(
                    f"{parameter('triples', list(names))} must be three column names "
                    "(rows, columns, counts), or two if each line counts one"
                )
            left = [place_of(header, str(name), "triples") for name in names]
        row, column, *count = left
        return cls(row, column, count[0] if count else None, len(header))


def of_triples(
    header: list[str] | None, columns: Sequence[Sequence[str]], options: ReadOptions
) -> bool:
    """Whether a table is one of triples, as asked, or by names and first values."""
    wide = bool(options.labels) or options.index is not None
    if options.triples is not None:
        asked = options.triples is not False
        if asked and wide:
            others = f"{parameter('labels')} or {parameter('index')}"
            refuse(f"{parameter('triples')} cannot be combined with {others}")
        return asked
    if wide or options.drop or len(columns) != 3:
        return False
    rows, names, counts = columns
    if not (any(map(is_number, counts)) and _mostly(may_be_count, counts)):
        return False
    called = header[2].strip().lower() if header and len(header) == 3 else ""
    # A wide table may have a cell of text among its counts, but no column.
    named = _mostly(lambda text: not (may_be_count(text) or is_censored(text)), names)
    again = len(set(rows)) < len(rows) and called in CALLED_COUNTS
    return named or again or called in ("count", "counts")


def _mostly(holds: Callable[[str], bool], values: Sequence[str]) -> bool:
    return 2 * sum(map(holds, values)) > len(values)


def is_id(name: str) -> bool:
    """Whether a column is called an ID, such as ``id``, ``order_id`` or ``UserID``."""
    return bool(_ID.fullmatch(name.strip()))


def find_order_lines(
    header: Sequence[str] | None, columns: Sequence[Sequence[str]]
) -> list[str] | None:
    """Names of the columns of rows, columns and counts, by first values of columns.

    Without a quantity each line counts one. None if the table does not look like order
    lines.
    """
    if header is None or not 2 < len(header) <= _MOST_COLUMNS:
        return None
    if len(header) != len(columns) or len(columns[0]) < _FEWEST_RECORDS:
        return None
    values = dict(zip(header, columns, strict=True))
    numbers = [name for name, texts in values.items() if all(map(may_be_count, texts))]
    count = next((name for name in numbers if _COUNTED.fullmatch(name)), None)
    who = _who(values)
    if who is None or len(set(numbers) - {who}) > _MOST_NUMBERS:
        return None
    what = _what(values, {who, *numbers})
    if count is not None:
        return None if what is None else [who, what, count]
    # Else any table of people and their kinds would be one.
    again = len(set(values[who])) < len(values[who]) and _WHO.fullmatch(who)
    return [who, what] if again and what and _WHAT.fullmatch(what) else None


def _who(values: dict[str, Sequence[str]]) -> str | None:
    """The customer by name, else an ID that occurs again."""
    named = [name for name in values if _WHO.fullmatch(name)]
    ids = [name for name in values if is_id(name)]
    again = [name for name in ids if len(set(values[name])) < len(values[name])]
    best = [name for name in named if name in ids]
    return next(iter([*best, *named, *again]), None)


def _what(values: dict[str, Sequence[str]], others: set[str]) -> str | None:
    """The text that tells most of what there is, and occurs again."""
    texts = {
        name: len(set(column))
        for name, column in values.items()
        if name not in others
        and not any(_DATE.fullmatch(text.strip()) for text in column)
        and len(set(column)) < len(column)
    }
    named = {name: n for name, n in texts.items() if _WHAT.fullmatch(name)}
    found = named or {name: n for name, n in texts.items() if not _WHO.fullmatch(name)}
    return max(found, key=lambda name: found[name], default=None)
