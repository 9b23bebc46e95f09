"""Options of a table of metadata, and the labels that it has of rows."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

METADATA_OPTIONS = {
    "metadata": click.option(
        "--metadata",
        type=click.Path(),
        metavar="FILE",
        help="Table with --labels and --batch of the rows, found by the names in its "
        "first column: csv, tsv, xlsx, ods or parquet.",
    ),
    "metadata_index": click.option(
        "--metadata-index",
        metavar="COLUMN",
        help="Column of row names in --metadata. [default: the first]",
    ),
}


def labels_of_rows(
    rows: Iterable[str], labels: Sequence[str], options: Mapping[str, Any]
) -> dict[str, list[str | None]]:
    """Those of the labels that the table of these options has of rows."""
    from ..io.format_options import ReadOptions
    from ..io.metadata import read_metadata

    given: dict[str, Any] = {name: options.get(name) for name in METADATA_OPTIONS}
    beside = read_metadata(str(given["metadata"]), labels, ReadOptions(**given))
    found, unmatched = beside.of_rows(rows)
    if unmatched:
        warnings.warn(unmatched, UserWarning, stacklevel=2)
    return found
