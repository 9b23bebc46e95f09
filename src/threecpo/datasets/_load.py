"""What loaders share: provenance, labels by name, members by name, texts to tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._errors import DataFormatError
from ..io.archives import members
from ..table import CountTable
from ._files import files
from ._parsed import remembered

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from ._registry import DatasetSource

    Parsed = dict[str, Any]
    Home = str | os.PathLike[str] | None


class Document(NamedTuple):
    """A text, its name and its class."""

    name: str
    label: str
    text: str


def load(
    source: DatasetSource,
    parse: Callable[[list[Path], int], Parsed],
    data_home: Home,
    *,
    progress: bool,
    **options: Any,
) -> CountTable:
    """Make a table of what ``parse`` finds in the files of a source."""
    with files(source, data_home, progress=progress) as paths:
        once = partial(parse, paths, source.limit)
        slow = source.slow
        parsed = remembered(source.name, paths, options, once) if slow else once()
        return CountTable(
            **parsed,
            name=source.paper_name,
            description=source.description,
            citation=source.citation,
            licence=source.licence,
            source=source.home,
        )


def load_texts(
    source: DatasetSource,
    parse: Callable[[list[Path], int], list[Document]],
    max_features: int | None,
    stem: str | None,
    data_home: Home,
    *,
    progress: bool,
) -> CountTable:
    """Make a table of the terms of the documents that ``parse`` finds."""
    from ..text import count_terms

    options: dict[str, Any] = {"max_features": max_features, "stem": stem}
    # Bad options fail here, before anything is downloaded.
    count_terms(["words"], **options)

    def counted(paths: list[Path], limit: int) -> Parsed:
        found = parse(paths, limit)
        if not found:
            message = "it holds none of the texts"
            raise DataFormatError(message)
        names, labels, texts = zip(*found, strict=True)
        table = count_terms(texts, **options)
        counts = {
            "X": table.counts,
            "row_names": names,
            "column_names": table.column_names,
            "row_titles": table.row_titles,
        }
        return counts | encoded(labels)

    return load(source, counted, data_home, progress=progress, **options)


def encoded(names: Iterable[str]) -> Parsed:
    """Labels of classes given by name, numbered in alphabetical order."""
    label_names, labels = np.unique(np.array(list(names)), return_inverse=True)
    return {"labels": labels, "label_names": label_names.tolist()}


def documents(
    path: Path, limit: int, label: Callable[[str], str | None]
) -> list[Document]:
    """Members of an archive that have a label, by name; latin-1 reads any bytes."""
    found = []
    with members(path, limit) as each:
        for name, file in each:
            given = label(name)
            if given is not None:
                text = file.read().decode("latin-1")
                found.append(Document(name, given, text))
    return sorted(found)


def member(paths: Iterable[Path], name: str, limit: int) -> bytes:
    """Content of the first member, in or beside an archive, of that file name."""
    for path in paths:
        with members(path, limit) as each:
            for full, file in each:
                if full.rpartition("/")[2] == name:
                    return file.read()
    message = f"it holds no {name}"
    raise DataFormatError(message)


def whole_numbers(lines: list[str], width: int) -> NDArray[np.int64]:
    """A comma-separated table of so many whole numbers a line."""
    rows = [line.split(",") for line in lines if line.strip()]
    for number, row in enumerate(rows, 1):
        if len(row) != width:
            message = f"row {number} has {len(row)} values, not {width}"
            raise DataFormatError(message)
    return np.array([[int(value) for value in row] for row in rows], dtype=np.int64)
