"""Wholesales: what customers of a wholesaler spend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._errors import DataFormatError
from ._load import load, member, whole_numbers
from ._registry import SOURCES

if TYPE_CHECKING:
    from pathlib import Path

    from ..table import CountTable
    from ._load import Home, Parsed

CHANNELS = ("Horeca", "Retail")


def fetch_wholesales(*, data_home: Home = None, progress: bool = False) -> CountTable:
    """Load Wholesales: 440 customers, 6 groups of products, 2 kinds of customers.

    Yearly spending in monetary units. The clusters are the column Channel (horeca or
    retail); the column Region is dropped.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder with the file, or to download it to. By default the one that the
        environment variable ``THREECPO_DATA`` names, or a folder of the user's cache.
    progress : bool, default=False
        Show a progress bar while downloading.

    Returns
    -------
    CountTable
        Counts, names, true labels and provenance.

    Examples
    --------
    >>> from threecpo.datasets import fetch_wholesales
    >>> fetch_wholesales()  # doctest: +SKIP
    CountTable('Wholesales': 440 rows x 6 columns, 2 clusters)
    """
    return load(SOURCES["wholesales"], _parse, data_home, progress=progress)


def _parse(paths: list[Path], limit: int) -> Parsed:
    content = member(paths, "Wholesale customers data.csv", limit)
    header, *lines = content.decode("utf-8-sig").splitlines()
    names = header.split(",")
    if names[:2] != ["Channel", "Region"]:
        message = f"its first line is {header[:60]!r}, not Channel, Region, ..."
        raise DataFormatError(message)
    values = whole_numbers(lines, len(names))
    return {
        "X": values[:, 2:],
        "column_names": names[2:],
        "labels": values[:, 0] - 1,
        "label_names": CHANNELS,
    }
