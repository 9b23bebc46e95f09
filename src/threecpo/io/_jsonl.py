"""jsonl: a text a line, as a string or as a field of an object."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .._errors import DataFormatError
from .._labels import labels_of_kinds
from ._file_content import shown
from ._texts import counted
from .archives import opened
from .delimited.lines import Lines
from .encodings import recoded
from .limits import limit_of
from .text_columns import is_text

if TYPE_CHECKING:
    from pathlib import Path

    from ._file_content import FileContent
    from .format_options import ReadOptions

_LOOKED_AT = 50


def read(path: Path, options: ReadOptions) -> FileContent:
    if not isinstance(options.index, str | None):
        message = f"index={options.index} must be the name of a field"
        raise DataFormatError(message)
    with opened(path, limit_of(path, options.max_unpacked)) as file:
        lines = Lines(recoded(file, options.encoding))
        entries = [
            (f"line {lines.number}", _parsed(line, f"line {lines.number}"))
            for line in lines.text()
            if line.strip()
        ]
    first = {
        where: entry for where, entry in entries[:_LOOKED_AT] if isinstance(entry, dict)
    }
    name = _text_field(first, options) if first else None
    texts = [_text(entry, name, where) for where, entry in entries]
    names = None
    if options.index is not None:
        names = [str(_field(entry, options.index, where)) for where, entry in entries]
    labels = {
        kind: [_field(entry, kind, where) for where, entry in entries]
        for kind in options.labels
    }
    called = "" if name is None else f"words of field {shown(name)}"
    return counted(texts, names, options, labels_of_kinds(labels), called)


def _parsed(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        message = f"{where} is no JSON: {error}"
        raise DataFormatError(message) from error


def _text_field(first: dict[str, dict[str, Any]], options: ReadOptions) -> str:
    """The field that is named, "text", the only one left or the only one of text."""
    if options.text is not None:
        return options.text
    others = {options.index, *options.labels, *options.drop}
    where, entry = next(iter(first.items()))
    left = [name for name in entry if name not in others]
    if "text" in left:
        return "text"
    plain = [
        name for name in left if is_text([each.get(name) for each in first.values()])
    ]
    for found in (left, plain):
        if len(found) == 1:
            return found[0]
    some = ", ".join(shown(name) for name in left[:8]) or "nothing"
    message = f'{where} has no field "text", but {some}; pass text= with one of them'
    raise DataFormatError(message)


def _text(entry: Any, name: str | None, where: str) -> str:
    """The string itself, or that of a field."""
    if isinstance(entry, dict):
        entry = _field(entry, name or "text", where)
    if not isinstance(entry, str):
        message = f"{where} holds {shown(str(entry))}, which is no text"
        raise DataFormatError(message)
    return entry


def _field(entry: Any, name: str, where: str) -> Any:
    if not isinstance(entry, dict) or name not in entry:
        message = f"{where} has no field {shown(name)}"
        raise DataFormatError(message)
    return entry[name]
