"""Optdigits: handwritten digits as counts of pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._load import load, member, whole_numbers
from ._registry import SOURCES

if TYPE_CHECKING:
    from pathlib import Path

    from ..table import CountTable
    from ._load import Home, Parsed


def fetch_optdigits(*, data_home: Home = None, progress: bool = False) -> CountTable:
    """Load Optdigits: 5620 digits, 64 blocks of pixels, 10 clusters.

    Each count is the number of pixels set in a block of 4 x 4 of a bitmap of 32 x 32.
    The digits for training come first, then those for testing.

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
    >>> from threecpo.datasets import fetch_optdigits
    >>> fetch_optdigits()  # doctest: +SKIP
    CountTable('Optdigits': 5620 rows x 64 columns, 10 clusters)
    """
    return load(SOURCES["optdigits"], _parse, data_home, progress=progress)


def _parse(paths: list[Path], limit: int) -> Parsed:
    values = np.concatenate(
        [
            whole_numbers(member(paths, name, limit).decode().splitlines(), 65)
            for name in ("optdigits.tra", "optdigits.tes")
        ]
    )
    return {
        "X": values[:, :64],
        "column_names": [
            f"px_{row}_{column}" for row in range(8) for column in range(8)
        ],
        "labels": values[:, 64],
        "label_names": [str(digit) for digit in range(10)],
    }
