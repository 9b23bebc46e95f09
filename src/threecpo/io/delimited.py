"""Delimited text, csv and tsv: one row a line, one count a line, or texts.

What is tidy is read as a block, some megabytes at a time; any other block is read
record by record, which finds the line and column of what is wrong.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._core.counts import RowStack
from .._core.matrices import from_sparse
from .._errors import parameter, refuse, shown
from .._labels import labels_of_kinds
from .._spreadsheets import guarded, unguarded
from .._writing import open_new
from .content import FileContent, written_labels, written_names
from .files import opened, recoded
from .limits import check_unpacked, limit_of
from .lines import Cut, Lines, Names, long_fields, quoted
from .numbers import NumberStyle, check_points, is_number, may_be_count
from .roles import Places, checked_count, checked_counts, find_layout, of_triples
from .texts import TextPlaces, check_text_options, counted_texts, find_text

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from ..table import CountTable
    from .content import Records
    from .formats import ReadOptions, WriteOptions
    from .roles import Layout

_LOOKED_AT = 50
_OF_TEXT = 100
# Bytes of a stored count, of a row with its name, of a count with its places, and of
# a name that has a number.
_OF_COUNT, _OF_ROW = 12, 64
_OF_TRIPLE, _OF_NAME = 16, 160
_SEPARATOR = re.compile(rb'(?i)"?sep=([\t,;|])"?')


@dataclass(frozen=True)
class _Start:
    """How a file begins: its delimiter, its names and its first records."""

    delimiter: str
    header: list[str] | None
    records: list[list[str]]
    # R leaves out the corner above the names of rows, which is put in.
    lacks_corner: bool = False


def read(path: Path, options: ReadOptions) -> FileContent:
    with open_lines(path, options) as (lines, bounded):
        return read_lines(lines, bounded, _usual(path))


@contextmanager
def open_lines(path: Path, options: ReadOptions) -> Iterator[tuple[Lines, ReadOptions]]:
    """Open a file as lines in UTF-8, and as many bytes as it may unpack to."""
    limit = limit_of(path, options.max_unpacked)
    with opened(path, limit) as file, long_fields():
        lines = Lines(recoded(file, options.encoding))
        yield lines, replace(options, max_unpacked=limit)


@contextmanager
def open_records(path: Path, options: ReadOptions) -> Iterator[Records]:
    """Open a file as the names of its columns, and its records as text."""
    with open_lines(path, options) as (lines, bounded):
        yield records_of(lines, bounded, _usual(path))


def records_of(lines: Lines, options: ReadOptions, usual: str = ",") -> Records:
    """Names of columns, and records as text, whatever they hold."""
    start = _begin(lines, replace(options, header=None, index=0), usual)
    header = [unguarded(name) for name in start.header or ()]

    def records() -> Iterator[list[str]]:
        for fields in chain(start.records, lines.records(start.delimiter)):
            lines.check_width(fields, len(header))
            yield [unguarded(field) for field in fields]

    return header, records()


def read_lines(lines: Lines, options: ReadOptions, usual: str = ",") -> FileContent:
    """Read a table in which a delimiter is the usual one.

    It takes ``options.max_unpacked`` bytes at most.
    """
    start = _begin(lines, options, usual)
    form = _form(lines, start, options)
    if isinstance(form, TextPlaces):
        return _read_texts(lines, start, form, options)
    form.add_records(start.records, lines)
    for block in iter(lines.block, b""):
        form.add_block(block, lines)
    return form.content()


def row_blocks(path: Path, options: ReadOptions, n_counts: int) -> Generator[Any]:
    """Rows of which none is read yet, then about so many counts at a time of them."""
    with open_lines(path, options) as (lines, bounded):
        start = _begin(lines, bounded, _usual(path))
        rows = _form(lines, start, bounded)
        if not isinstance(rows, WideRows):
            held = "texts" if isinstance(rows, TextPlaces) else "one count per line"
            refuse(f"it holds {held}; only one row per line is read in blocks")
        yield rows
        rows.add_records(start.records, lines)
        for block in iter(lines.block, b""):
            rows.add_block(block, lines)
            if rows.n_waiting >= n_counts:
                yield rows.take()
        yield rows.take()


def _form(
    lines: Lines, start: _Start, options: ReadOptions
) -> TextPlaces | Triples | WideRows:
    """What a table holds: texts, one count per line, or one row per line."""
    first = start.records[0]
    records = [*start.records, *lines.first_records(start.delimiter, _LOOKED_AT)]
    # First values of all columns.
    sample = list(zip(*(r for r in records if len(r) == len(first)), strict=True))
    found = find_text(start.header, sample, options)
    if found:
        return TextPlaces.find(start.header or [], found, options)
    check_text_options(options)
    if start.delimiter == ";":
        check_points(records, options)
    style = NumberStyle.of(options)
    few = sample if len(sample) == 3 else [each[:1] for each in sample]
    plain = [[style.plain(field) for field in values] for values in few]
    if of_triples(None if start.lacks_corner else start.header, plain, options):
        places = Places.find(start.header or first, options)
        return Triples(places, options, start.delimiter)
    plain_first = [style.plain(field) for field in first]
    layout = find_layout(start.header, plain_first, options, sample)
    return WideRows(layout, options, start.delimiter)


class Counted:
    """Counts of the lines that were read so far."""

    def __init__(self, options: ReadOptions, delimiter: str, width: int) -> None:
        self._style, self._limit = NumberStyle.of(options), options.max_unpacked
        self._delimiter, self._width = delimiter, width

    def content(self) -> FileContent:
        """Counts that were not taken, with the names and labels of all rows.

        Without what was put in front of names and labels for spreadsheets.
        """
        found = self._parts()
        kinds = found.other_labels.items()
        changed: dict[str, Any] = {
            "other_labels": {kind: list(map(unguarded, texts)) for kind, texts in kinds}
        }
        for name in ("row_names", "column_names", "label_names"):
            texts = getattr(found, name)
            changed[name] = None if texts is None else list(map(unguarded, texts))
        return replace(found, **changed)

    def add_block(self, block: bytes, lines: Lines) -> None:
        """Add the rows of whole lines; the last may lack its end."""
        if self._style.usual:
            cut = Cut.of(block, self._delimiter, self._width)
            if cut is not None and self._add_tidy(cut):
                lines.number += block.count(b"\n")
                return
        lines.give_back(block)
        self.add_records(lines.records(self._delimiter, block=True), lines)

    def add_records(self, records: Iterable[list[str]], lines: Lines) -> None:
        """Add lines one by one, of which every field is checked."""
        raise NotImplementedError

    def _add_tidy(self, cut: Cut) -> bool:
        """Add all lines of a block or, if something is odd, none."""
        raise NotImplementedError

    def _parts(self) -> FileContent:
        raise NotImplementedError


class WideRows(Counted):
    """One row per line."""

    def __init__(self, layout: Layout, options: ReadOptions, delimiter: str) -> None:
        super().__init__(options, delimiter, layout.width)
        self._layout = layout
        self._taken = self.n_waiting = 0
        self._stack: RowStack | None = None
        self._names: list[str] = []
        self._labels: dict[str, list[str]] = {kind: [] for kind in layout.labels}
        self._column = np.full(layout.width, -1, dtype=np.int32)
        self._column[layout.counted] = np.arange(len(layout.counted))

    def _parts(self) -> FileContent:
        rows = None if self._layout.index is None else self._names
        labels = labels_of_kinds(self._labels)
        return FileContent(self.take(), rows, self._layout.names, **labels)

    def take(self) -> Counts:
        """Return the counts of all rows since the last time."""
        stack, self._stack, self.n_waiting = self._stack, None, 0
        none = sp.csr_array((0, len(self._layout.counted)))
        return from_sparse(none) if stack is None else stack.counts()

    def add_records(self, records: Iterable[list[str]], lines: Lines) -> None:
        rows = [self._checked(fields, lines) for fields in records]
        self._add(sp.csr_array(np.reshape(rows, (-1, len(self._layout.counted)))))

    def _add(self, block: sp.csr_array) -> None:
        """Add a block, unless all together would take too much memory."""
        rows = RowStack(from_sparse(block))
        self._stack = rows if self._stack is None else self._stack.and_then(rows)
        # Number of counts that were not taken.
        self.n_waiting += block.nnz
        self._taken += _OF_COUNT * block.nnz + _OF_ROW * block.shape[0]
        check_unpacked(self._taken, self._limit)

    def _checked(self, fields: list[str], lines: Lines) -> NDArray[np.float64]:
        """Counts of a line, or the error that says what is wrong with it."""
        layout = self._layout
        lines.check_width(fields, self._width)
        for place in layout.blank:
            if fields[place].strip():
                refuse(
                    f"line {lines.number}, column {place + 1} has no name but holds "
                    f"{shown(fields[place])}; give it one, or clear the cell"
                )
        if layout.index is not None:
            self._names.append(fields[layout.index])
        for kind, place in layout.labels.items():
            self._labels[kind].append(fields[place])
        counted = [self._style.plain(fields[place]) for place in layout.counted]
        return checked_counts(counted, layout, f"line {lines.number}")

    def _add_tidy(self, cut: Cut) -> bool:
        layout = self._layout
        values = cut.counts(self._column) if cut.are_empty(layout.blank) else None
        if values is None:
            return False
        try:
            names = [] if layout.index is None else cut.texts(layout.index)
            labels = {kind: cut.texts(at) for kind, at in layout.labels.items()}
        except UnicodeDecodeError:
            return False
        self._names += names
        for kind, texts in labels.items():
            self._labels[kind] += texts
        self._add(values)
        return True


class Triples(Counted):
    """One count per line; names of rows and columns are numbered as they appear."""

    def __init__(self, places: Places, options: ReadOptions, delimiter: str) -> None:
        super().__init__(options, delimiter, places.width)
        self._places = places
        self._row_names, self._column_names = Names(), Names()
        self._rows, self._columns, self._counts = array("i"), array("i"), array("d")

    def _parts(self) -> FileContent:
        places = (np.asarray(self._rows), np.asarray(self._columns))
        shape = (len(self._row_names), len(self._column_names))
        # Counts of the same place are added.
        X = sp.coo_array((np.asarray(self._counts), places), shape=shape).tocsr()
        return FileContent(X, self._row_names.texts(), self._column_names.texts())

    def add_block(self, block: bytes, lines: Lines) -> None:
        super().add_block(block, lines)
        taken = _OF_TRIPLE * len(self._counts)
        for names in (self._row_names, self._column_names):
            taken += _OF_NAME * len(names) + names.n_bytes
        check_unpacked(taken, self._limit)

    def add_records(self, records: Iterable[list[str]], lines: Lines) -> None:
        places = self._places
        for fields in records:
            lines.check_width(fields, self._width)
            count = 1.0
            if places.value is not None:
                where = f"line {lines.number}, column {places.value + 1}"
                count = checked_count(self._style.plain(fields[places.value]), where)
            self._rows.append(self._row_names.number(fields[places.row]))
            self._columns.append(self._column_names.number(fields[places.column]))
            self._counts.append(count)

    def _add_tidy(self, cut: Cut) -> bool:
        row, column, value, _ = self._places
        counts = np.ones(cut.n_lines) if value is None else cut.numbers(value)
        if counts is None or not cut.is_text:
            return False
        self._rows.frombytes(self._row_names.numbers(cut, row).tobytes())
        self._columns.frombytes(self._column_names.numbers(cut, column).tobytes())
        self._counts.frombytes(counts.tobytes())
        return True


def _begin(lines: Lines, options: ReadOptions, usual: str) -> _Start:
    line = lines.line()
    named = _SEPARATOR.fullmatch(line.rstrip(b"\r\n"))
    if named and options.delimiter is None:
        # Excel's own line.
        options = replace(options, delimiter=named[1].decode("latin-1"))
        line = lines.line()
    # biom-format begins its tables with a line that says so.
    while line.startswith(b"# ") or line.isspace():
        line = lines.line()
    second = lines.line()
    lines.number -= bool(line) + bool(second)
    lines.give_back(line + second)
    delimiter = options.delimiter or _delimiter(line, second, usual)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        wrong = parameter("delimiter", delimiter)
        refuse(f"{wrong} must be one character other than a quote or line end")
    records = lines.records(delimiter)
    header = next(records, None)
    while options.header is None and header is not None and _is_title(header):
        header = next(records, None)
    if header is None:
        refuse("it has no lines")
    if options.header is False:
        return _Start(delimiter, None, [header])
    first = next(records, None)
    if options.header is None and not _names_columns(header, first, options):
        return _Start(delimiter, None, [header] if first is None else [header, first])
    if first is None:
        refuse("it has no lines below the names of its columns")
    if len(first) == len(header) + 1:
        return _Start(delimiter, ["", *header], [first], lacks_corner=True)
    return _Start(delimiter, header, [first])


def _is_title(record: list[str]) -> bool:
    """Whether a line is a title above a table: one field alone, none beside it.

    It cannot name the columns, as several would have no name.
    """
    return len(record) > 2 and bool(record[0].strip()) and not any(record[1:])


def _delimiter(first: bytes, second: bytes, usual: str) -> str:
    """The one that the first two lines have equally often, and most often.

    The usual one goes first, as names may hold any of the others.
    """
    above, below = (
        "".join(line.decode("latin-1").split('"')[::2]) for line in (first, second)
    )

    def score(delimiter: str) -> tuple[bool, bool, int]:
        often = above.count(delimiter)
        # R leaves out the corner above the names of rows.
        fits = often > 0 and below.count(delimiter) - often in (0, 1)
        return fits, fits and delimiter == usual, often

    most = max("\t,;|", key=score)
    return most if most in above else ","


def _usual(path: Path) -> str:
    endings = {suffix.lower() for suffix in path.suffixes[-2:]}
    return "\t" if endings & {".tsv", ".tab", ".txt"} else ","


def _names_columns(
    header: list[str], first: list[str] | None, options: ReadOptions
) -> bool:
    """Whether the first record is a header, which a record of numbers is not."""
    if all(is_number(field) for field in header):
        refuse(
            "line 1 holds numbers only; pass "
            f"{parameter('header', value=False)} if it is a row, "
            f"{parameter('header', value=True)} if it names the columns"
        )
    asked = options.index is not None or options.text
    alike = (_is_triple(record) for record in (header, first))
    return (
        bool(asked)
        or bool(options.drop or options.labels)
        or isinstance(options.triples, Sequence)
        or not all(alike)
    )


def _is_triple(record: list[str] | None) -> bool:
    """Whether a record can be a row, a column and a count, and nothing else."""
    if record is None or len(record) != 3 or not (record[0] and record[1].strip()):
        return False
    return is_number(record[2]) and not may_be_count(record[1])


def write(table: CountTable, path: Path, options: WriteOptions) -> None:
    delimiter = _usual(path)
    rows = _triples(table) if options.triples else _wide(table, options)
    with open_new(path) as file:
        for row in rows:
            file.write(f"{delimiter.join(row)}\n".encode())


def _quoted(name: str) -> str:
    """A name as a field, in quotes if it has a letter that means something."""
    name = guarded(name)
    if not any(letter in name for letter in '",;|\t\r\n'):
        return name
    return quoted(name)


def written_triples(
    table: CountTable,
) -> tuple[NDArray[np.object_], NDArray[np.object_], NDArray[Any]]:
    """Names of rows, of columns, and counts; what has no count has one of 0."""
    rows = np.array(written_names(table.row_names, table.shape[0]), dtype=object)
    columns = np.array(written_names(table.column_names, table.shape[1]), dtype=object)
    stored, values = table.counts, table.counts.values()
    lengths = np.diff(stored.indptr)
    empty_rows = np.flatnonzero(lengths == 0)
    empty_columns = np.setdiff1d(np.arange(table.shape[1]), stored.indices)
    at_row = np.repeat(np.arange(table.shape[0]), lengths)
    at_row = np.concatenate([at_row, empty_rows, np.zeros_like(empty_columns)])
    at_column = np.concatenate(
        [stored.indices, np.zeros_like(empty_rows), empty_columns]
    )
    zeros = np.zeros(len(at_row) - len(values), dtype=values.dtype)
    counts = np.concatenate([values, zeros])
    order = np.argsort(at_row, kind="stable")
    return rows[at_row[order]], columns[at_column[order]], counts[order]


def _triples(table: CountTable) -> Iterator[Sequence[str]]:
    rows, columns, counts = written_triples(table)
    yield ("row", "column", "count")
    for row, column, count in zip(rows, columns, counts.tolist(), strict=True):
        yield _quoted(row), _quoted(column), repr(count)


def _wide(table: CountTable, options: WriteOptions) -> Iterator[Sequence[str]]:
    """Header and rows, of which one at a time is dense."""
    columns = written_names(table.column_names, table.shape[1])
    labels = written_labels(table, options, columns)
    yield ["", *map(_quoted, labels), *map(_quoted, columns)]
    zeros = ["0"] * table.shape[1]
    counts = table.counts
    for i, name in enumerate(written_names(table.row_names, table.shape[0])):
        row = zeros.copy()
        start, stop = counts.indptr[i : i + 2]
        values = counts.values(start, stop)
        columns_and_counts = (counts.indices[start:stop].tolist(), values.tolist())
        for column, count in zip(*columns_and_counts, strict=True):
            row[column] = repr(count)
        yield [_quoted(name), *(_quoted(texts[i]) for texts in labels.values()), *row]


def _read_texts(
    lines: Lines, start: _Start, places: TextPlaces, options: ReadOptions
) -> FileContent:
    """Read a text a record."""
    columns: dict[int, list[Any]] = {place: [] for place in places.wanted}
    taken, width = 0, len(start.records[0])
    for fields in chain(start.records, lines.records(start.delimiter)):
        lines.check_width(fields, width)
        for place, values in columns.items():
            values.append(fields[place])
        taken += _OF_TEXT + 4 * sum(len(fields[place]) for place in places.text)
        check_unpacked(taken, options.max_unpacked)
    return counted_texts(places, columns, options)
