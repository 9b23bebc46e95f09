"""jsonl: a text a line, as a string or as a field of an object."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .._errors import DataFormatError
from ._file_content import encoded, label_text, shown
from ._texts import counted
from .archives import opened
from .delimited.lines import Lines
from .limits import limit_of

if TYPE_CHECKING:
    from pathlib import Path

    from ._file_content import FileContent
    from .format_options import ReadOptions


def read(path: Path, options: ReadOptions) -> FileContent:
    if not isinstance(options.index, str | None):
        message = f"index={options.index} must be the name of a field"
        raise DataFormatError(message)
    texts: list[str] = []
    names: list[str] = []
    labels: list[str | None] = []
    with opened(path, limit_of(path, options.max_unpacked)) as file:
        lines = Lines(file)
        for line in lines.text():
            if not line.strip():
                continue
            where = f"line {lines.number}"
            entry = _parsed(line, where)
            if options.index is not None:
                names.append(str(_field(entry, options.index, where)))
            if options.labels is not None:
                labels.append(label_text(_field(entry, options.labels, where)))
            texts.append(_text(entry, options, where))
    found = {} if options.labels is None else encoded(labels)
    return counted(texts, names or None, options, found)


def _parsed(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        message = f"{where} is no JSON: {error}"
        raise DataFormatError(message) from error


def _text(entry: Any, options: ReadOptions, where: str) -> str:
    """The string itself, the field "text", or the only field that is left."""
    if isinstance(entry, dict):
        others = {options.index, options.labels, *options.drop}
        left = [name for name in entry if name not in others]
        if "text" not in left and len(left) != 1:
            some = ", ".join(shown(name) for name in left[:8]) or "nothing"
            message = (
                f'{where} has no field "text", but {some}; leave out by drop=, index= '
                "or labels= what is no text"
            )
            raise DataFormatError(message)
        entry = entry["text" if "text" in left else left[0]]
    if not isinstance(entry, str):
        message = f"{where} holds {shown(str(entry))}, which is no text"
        raise DataFormatError(message)
    return entry


def _field(entry: Any, name: str, where: str) -> Any:
    if not isinstance(entry, dict) or name not in entry:
        message = f"{where} has no field {shown(name)}"
        raise DataFormatError(message)
    return entry[name]
