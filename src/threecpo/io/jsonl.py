"""jsonl: a text a line, or an object, which is read as a line of a csv file is."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._errors import DataFormatError, refuse, shown
from .delimited import open_lines, read_lines
from .files import stream_of
from .lines import Lines, field_of, quoted
from .numbers import NumberStyle, may_be_count

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .content import FileContent
    from .formats import ReadOptions

    # Objects by the numbers of their lines.
    Entries = dict[int, dict[str, Any]]

_TEXT = "text"


def read(path: Path, options: ReadOptions) -> FileContent:
    with open_lines(path, options) as (lines, bounded):
        entries: Entries = {}
        for line in lines.text():
            if line.strip():
                entries[lines.number] = _parsed(line, lines.number)
        names = list(
            dict.fromkeys(name for entry in entries.values() for name in entry)
        )
        if not names:
            refuse("it has no lines" if not entries else "its objects are empty")
        text = options.text or _text_field(entries, names, options)
        asked = replace(bounded, header=True, delimiter="\t", text=text)
        pieces = _written(entries, names, NumberStyle.of(options))
        # Names of fields are before the first line.
        return read_lines(Lines(stream_of(pieces), before=-1), asked)


def _parsed(line: str, number: int) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        message = f"line {number} is not valid JSON: {error}"
        raise DataFormatError(message) from error
    if isinstance(entry, dict | str):
        return entry if isinstance(entry, dict) else {_TEXT: entry}
    what = f"holds {shown(str(entry))}, which is neither a text nor an object"
    refuse(f"line {number} {what}")


def _text_field(
    entries: Entries, names: list[str], options: ReadOptions
) -> tuple[str, ...]:
    """The field called text, or the only one, if it holds texts."""
    others = {options.index, *options.labels, *options.drop}
    left = [name for name in names if name not in others]
    name = _TEXT if _TEXT in left else left[0] if len(left) == 1 else None
    values = [entry.get(name) for entry in entries.values()] if name else []
    texts = (isinstance(v, str) and not may_be_count(v) for v in values)
    return (name,) if name and options.triples is None and any(texts) else ()


def _written(entries: Entries, names: list[str], style: NumberStyle) -> Iterator[bytes]:
    """Names of fields, and a line for each object where it stands in the file."""
    # Quoted, as a line that begins with # would be none of names.
    header = [quoted(" ".join(name.splitlines())) for name in names]
    yield "\t".join(header).encode() + b"\n"
    done = 0
    for number, entry in entries.items():
        fields = [_field(entry.get(name), number, style) for name in names]
        yield b"\n" * (number - done - 1) + "\t".join(fields).encode() + b"\n"
        done = number


def _field(value: Any, number: int, style: NumberStyle) -> str:
    if isinstance(value, dict | list):
        refuse(f"line {number} holds {shown(str(value))}, not a text or a number")
    return field_of(value, style.decimal)
