"""xlsx and ods: one sheet of a workbook, read as the lines of a csv file are."""

from __future__ import annotations

import zipfile
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from .._errors import DataFormatError
from ._file_content import shown
from .archives import check_members
from .delimited import read_lines, records_of
from .delimited.lines import Lines, long_fields
from .delimited.number_style import NumberStyle
from .encodings import stream_of
from .isolated import isolated, sheets
from .regular_files import limits_of, open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ._file_content import FileContent, Records
    from .format_options import ReadOptions

_MOST_PARTS = 10_000


def read(path: Path, options: ReadOptions) -> FileContent:
    with _opened(path, options) as (lines, bounded, name, others):
        try:
            content = read_lines(lines, bounded, usual="\t")
        except DataFormatError as error:
            if options.sheet is not None or not others:
                raise
            message = f"{error} (sheet {shown(name)}; sheet= takes another: {others})"
            raise DataFormatError(message) from error
    taken = f"sheet {shown(name)}" if others else ""
    described = "; ".join(filter(None, (taken, content.description)))
    return replace(content, description=described)


@contextmanager
def open_records(path: Path, options: ReadOptions) -> Iterator[Records]:
    """Open a sheet as the names of its columns, and its rows as text."""
    with _opened(path, options) as (lines, bounded, *_):
        yield records_of(lines, bounded, usual="\t")


@contextmanager
def _opened(
    path: Path, options: ReadOptions
) -> Iterator[tuple[Lines, ReadOptions, str, str]]:
    """Lines of a sheet, the options to read them by, its name and those of others."""
    limits = limits_of(path, options.max_unpacked)
    _check_archive(path, limits.unpacked)
    given = {"sheet": options.sheet, "decimal": NumberStyle.of(options).decimal}
    items = isolated(sheets.read, path, limits, "python_calamine", **given)
    with closing(items), long_fields():
        (_, name), (_, others) = next(items), next(items)
        lines = Lines(stream_of(bytes(piece) for _, piece in items))
        bounded = replace(options, max_unpacked=limits.unpacked, delimiter="\t")
        yield lines, bounded, name, ", ".join(map(shown, others))


def _check_archive(path: Path, limit: int) -> None:
    """Refuse archives with more in them than any workbook has."""
    with open_regular(path) as file:
        if not zipfile.is_zipfile(file):
            message = (
                "it is not an xlsx or ods file, or is protected by a password; save it "
                "again as xlsx without one"
            )
            raise DataFormatError(message)
        with zipfile.ZipFile(file) as archive:
            parts = archive.infolist()
    if len(parts) > _MOST_PARTS:
        message = f"it is an archive of {len(parts)} files, which no workbook has"
        raise DataFormatError(message)
    check_members(parts, limit)
