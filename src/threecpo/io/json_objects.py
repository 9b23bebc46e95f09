"""Objects of JSON as the lines of a csv file, whose rules they are read by."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._errors import DataFormatError
from ._file_content import shown
from .byte_streams import stream_of
from .delimited import read_lines
from .delimited.lines import Lines, long_fields
from .delimited.number_style import NumberStyle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ._file_content import FileContent
    from .format_options import ReadOptions


def read_objects(entries: Mapping[int, Any], options: ReadOptions) -> FileContent:
    """Read objects by the numbers of their lines; a field that one lacks is empty."""
    for number, entry in entries.items():
        if not isinstance(entry, dict):
            message = f"line {number} holds {shown(str(entry))}, which is no object"
            raise DataFormatError(message)
    names = list(dict.fromkeys(name for entry in entries.values() for name in entry))
    pieces = _written(entries, names, NumberStyle.of(options))
    # Names of fields are before the first line.
    lines = Lines(stream_of(pieces), before=-1)
    written = replace(options, header=True, delimiter="\t")
    with long_fields():
        return read_lines(lines, written, usual="\t")


def as_field(value: Any, style: NumberStyle) -> str:
    """A value as a csv file in this style would have it."""
    if value is None:
        return ""
    if isinstance(value, bool | int):
        return str(int(value))
    if isinstance(value, float):
        return str(value).replace(".", style.decimal)
    return str(value)


def _written(
    entries: Mapping[int, Any], names: list[str], style: NumberStyle
) -> Iterator[bytes]:
    """Names of fields, and a line for each object where it stands in the file."""
    # Quoted, as a line that begins with # would be none of names.
    yield _line(names, csv.QUOTE_ALL)
    done = 0
    for number, entry in entries.items():
        yield b"\n" * (number - done - 1)
        yield _line([as_field(entry.get(name), style) for name in names])
        done = number


def _line(fields: list[str], quoting: Any = csv.QUOTE_MINIMAL) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, delimiter="\t", lineterminator="\n", quoting=quoting)
    writer.writerow([" ".join(field.splitlines()) for field in fields])
    return file.getvalue().encode()
