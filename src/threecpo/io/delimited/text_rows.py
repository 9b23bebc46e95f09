"""Tables with a column of text: a text a record."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from ..._errors import DataFormatError
from ..limits import check_unpacked
from ..text_columns import TextPlaces, counted_texts, joined_text

if TYPE_CHECKING:
    from .._file_content import FileContent
    from ..format_options import ReadOptions
    from .lines import Lines

_LOOKED_AT = 50
_OF_TEXT = 100


def first_columns(
    lines: Lines, delimiter: str, first: list[list[str]]
) -> list[tuple[str, ...]]:
    """First values of all columns; ``first`` are the records before the lines."""
    records = [*first, *lines.first_records(delimiter, _LOOKED_AT)]
    whole = [record for record in records if len(record) == len(first[0])]
    return list(zip(*whole, strict=True))


def read_texts(
    lines: Lines,
    delimiter: str,
    first: list[list[str]],
    places: TextPlaces,
    options: ReadOptions,
) -> FileContent:
    """Read a text a record; ``first`` are the records before the lines."""
    texts: list[str] = []
    names: list[str] = []
    titles: list[str] = []
    labels: dict[str, list[str]] = {kind: [] for kind in places.labels}
    taken, width = 0, len(first[0])
    for fields in chain(first, lines.records(delimiter)):
        if len(fields) != width:
            message = f"line {lines.number} has {len(fields)} fields, not {width}"
            raise DataFormatError(message)
        texts.append(joined_text(fields[place] for place in places.text))
        if places.title is not None:
            titles.append(fields[places.title])
        taken += _OF_TEXT + 4 * len(texts[-1])
        if options.max_unpacked is not None:
            check_unpacked(taken, options.max_unpacked)
        if places.index is not None:
            names.append(fields[places.index])
        for kind, place in places.labels.items():
            labels[kind].append(fields[place])
    return counted_texts(places, texts, names, labels, options, titles)
