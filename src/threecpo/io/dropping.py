"""Columns to leave out: of a file, or of the counts that are made of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import DataFormatError
from .delimited.column_roles import UnknownColumnError, place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ..table import CountTable
    from ._file_content import FileContent
    from .format_options import ReadOptions
    from .formats import Format


def read_without(
    kind: Format,
    path: Path,
    options: ReadOptions,
    made_of: Callable[[FileContent], CountTable],
) -> CountTable:
    """Read a table without the columns of ``options.drop``.

    Of triples, texts and tables that are turned round these are columns of counts,
    which no line of the file names.
    """
    reader, drop = kind.load(), list(options.drop)
    # Columns that are not in the file, with what it says of each.
    unknown: dict[str, UnknownColumnError | None] = {}
    if kind.is_matrix:
        unknown = dict.fromkeys(drop)
    while True:
        try:
            table = made_of(reader.read(path, options))
            return _without(table, list(unknown)) if unknown else table
        except UnknownColumnError as error:
            if error.option != "drop" or error.name in unknown:
                raise unknown.get(error.name) or error from None
            unknown[error.name] = error
            options = replace(options, drop=[n for n in drop if n not in unknown])


def _without(table: CountTable, drop: Sequence[str]) -> CountTable:
    """The table without these columns; those without names are numbered from 1."""
    names, n_columns = table.column_names, table.shape[1]
    called = list(names if names is not None else map(str, range(1, n_columns + 1)))
    kept = np.ones(n_columns, dtype=bool)
    kept[[place_of(called, name, "drop") for name in drop]] = False
    if not kept.any():
        message = "drop= leaves no column"
        raise DataFormatError(message)
    left: dict[str, Any] = {"X": table.counts.columns(kept)}
    if names is not None:
        left["column_names"] = names[kept]
    return replace(table, **left)
