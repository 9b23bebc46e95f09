"""Texts, whose words are counted: of a folder, a file a row, or of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import DataFormatError, ParameterError, parameter, refuse
from .._labels import encoded, labels_of_kinds
from ..text import count_terms, first_line
from .content import FileContent
from .files import recoded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from .formats import ReadOptions
    from .text_columns import TextPlaces


def read(path: Path, options: ReadOptions) -> FileContent:
    names = sorted(text_files(path))
    if not names:
        refuse("it does not contain .txt files")
    labels = [name.parts[0] if len(name.parts) > 1 else None for name in names]
    found = encoded(labels) if any(labels) else {}
    rows = [name.as_posix() for name in names]
    return counted(
        [_text(path / name, options.encoding) for name in names], rows, options, found
    )


def text_files(folder: Path) -> Iterator[Path]:
    """Names of the .txt files in a folder and its folders, but for hidden ones."""
    for file in folder.rglob("*.txt"):
        name = file.relative_to(folder)
        if file.is_file() and not any(part.startswith(".") for part in name.parts):
            yield name


def _text(path: Path, encoding: str | None) -> str:
    with path.open("rb") as file:
        content = recoded(file, encoding).read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = (
            f"line {line} of {path.name} is not in UTF-8 "
            f"(byte {content[error.start]:#x}); save the file as UTF-8, or pass "
            f"{parameter('encoding')}, such as 'cp1252'"
        )
        raise DataFormatError(message) from error


def counted(
    texts: Sequence[str],
    rows: Sequence[str] | None,
    options: ReadOptions,
    labels: dict[str, Any],
    description: str = "",
    titles: Sequence[str] = (),
) -> FileContent:
    """Count the terms of texts as the options say.

    A text without a title is shown by its first line.
    """
    try:
        table = count_terms(texts, **dict(options.text_options or {}))
    except ParameterError as error:
        message = error.spelled(lambda given: parameter(*given)).removesuffix(".")
        raise DataFormatError(message) from error
    except (TypeError, ValueError) as error:
        message = str(error).removesuffix(".")
        raise DataFormatError(message) from error
    shown = table.row_titles
    if titles:
        assert shown is not None
        pairs = zip(titles, shown.tolist(), strict=True)
        shown = np.array([first_line(t) or line for t, line in pairs], dtype=object)
    names: dict[str, Any] = {
        "column_names": table.column_names,
        "row_titles": shown,
        "description": description,
    }
    return FileContent(table.counts, rows, **names, **labels)


def counted_texts(
    places: TextPlaces,
    texts: list[str],
    names: list[str],
    labels: Mapping[str, Sequence[Any]],
    options: ReadOptions,
    titles: Sequence[str] = (),
) -> FileContent:
    """Count the words of some columns."""
    rows = None if places.index is None else names
    kinds = labels_of_kinds(labels)
    return counted(texts, rows, options, kinds, places.called, titles)
