"""jsonl: a text a line, or an object of counts, which is read as a line of csv is."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from .._errors import DataFormatError
from .._labels import labels_of_kinds
from ._file_content import shown
from ._texts import counted
from .archives import opened
from .delimited import read_lines
from .delimited.column_roles import place_of
from .delimited.lines import Lines, long_fields
from .delimited.number_style import NumberStyle, may_be_count
from .encodings import recoded, stream_of
from .limits import limit_of
from .text_columns import is_text, is_title, joined_text, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ._file_content import FileContent
    from .format_options import ReadOptions

_LOOKED_AT = 50


def read(path: Path, options: ReadOptions) -> FileContent:
    limit = limit_of(path, options.max_unpacked)
    with opened(path, limit) as file:
        lines = Lines(recoded(file, options.encoding))
        entries = {
            number: _parsed(line, f"line {number}")
            for line, number in ((line, lines.number) for line in lines.text())
            if line.strip()
        }
    first = {
        f"line {number}": entry
        for number, entry in islice(entries.items(), _LOOKED_AT)
        if isinstance(entry, dict)
    }
    if first and _are_counts(first, options):
        return read_objects(entries, replace(options, max_unpacked=limit))
    return _read_texts(entries, first, options)


def _read_texts(
    entries: dict[int, Any], first: dict[str, dict[str, Any]], options: ReadOptions
) -> FileContent:
    if not isinstance(options.index, str | None):
        message = f"index={options.index} must be the name of a field"
        raise DataFormatError(message)
    fields = [name for entry in first.values() for name in entry]
    for name_of_field in options.drop:
        place_of(fields, name_of_field, "drop")
    fields_of_text = _text_fields(first, options) if first else ()
    placed = [(entry, f"line {number}") for number, entry in entries.items()]
    texts = [_text(entry, fields_of_text, where) for entry, where in placed]
    names = None
    if options.index is not None:
        names = [str(_field(entry, options.index, where)) for entry, where in placed]
    labels = {
        kind: [_field(entry, kind, where) for entry, where in placed]
        for kind in options.labels
    }
    called = words_of("field", fields_of_text) if fields_of_text else ""
    kinds = labels_of_kinds(labels)
    return counted(texts, names, options, kinds, called, _titles(entries, fields))


def _titles(entries: dict[int, Any], fields: list[str]) -> list[str]:
    """Titles beside the text, empty where there is none; nothing without the field."""
    name = next(filter(is_title, fields), None)
    if name is None:
        return []
    found = [e.get(name) if isinstance(e, dict) else None for e in entries.values()]
    return ["" if title is None else str(title) for title in found]


def _are_counts(first: dict[str, dict[str, Any]], options: ReadOptions) -> bool:
    """Whether objects hold counts: no text is named or found, but some numbers."""
    if options.text or options.text_options:
        return False
    if options.triples is not None:
        return options.triples is not False
    left = _left(first, options)
    if "text" in left or any(is_text(_values(first, name)) for name in left):
        return False
    style = NumberStyle.of(options)
    fields = (as_field(value, style) for name in left for value in _values(first, name))
    return any(text and may_be_count(style.plain(text)) for text in fields)


def _left(first: dict[str, dict[str, Any]], options: ReadOptions) -> list[str]:
    """Fields of the first object that have no other part."""
    others = {options.index, *options.labels, *options.drop}
    return [name for name in next(iter(first.values())) if name not in others]


def _values(first: dict[str, dict[str, Any]], name: str) -> list[Any]:
    return [entry.get(name) for entry in first.values()]


def _parsed(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        message = f"{where} is not valid JSON: {error}"
        raise DataFormatError(message) from error


def _text_fields(
    first: dict[str, dict[str, Any]], options: ReadOptions
) -> Sequence[str]:
    """The fields that are named, "text", the only one left or the only one of text."""
    if options.text:
        return options.text
    where, left = next(iter(first)), _left(first, options)
    if "text" in left:
        return ("text",)
    plain = [name for name in left if is_text(_values(first, name))]
    if len(plain) > 1:
        plain = [name for name in plain if not is_title(name)]
    for found in (left, plain):
        if len(found) == 1:
            return found
    some = ", ".join(shown(name) for name in left[:8]) or "nothing"
    message = f"{where} has several fields ({some}). Pass text= with the one to count"
    raise DataFormatError(message)


def _text(entry: Any, names: Sequence[str], where: str) -> str:
    """The string itself, or those of fields."""
    parts = [entry]
    if isinstance(entry, dict):
        parts = [_field(entry, name, where) for name in names or ("text",)]
    if any(parts):
        parts = ["" if part is None else part for part in parts]
    for part in parts:
        if not isinstance(part, str):
            message = f"{where} holds {shown(str(part))}, which is not text"
            raise DataFormatError(message)
    return joined_text(parts)


def _field(entry: Any, name: str, where: str) -> Any:
    if not isinstance(entry, dict) or name not in entry:
        message = f"{where} has no field {shown(name)}"
        raise DataFormatError(message)
    return entry[name]


def read_objects(entries: Mapping[int, Any], options: ReadOptions) -> FileContent:
    """Read objects by the numbers of their lines; a field that one lacks is empty."""
    for number, entry in entries.items():
        if not isinstance(entry, dict):
            message = f"line {number} holds {shown(str(entry))}, which is not an object"
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
