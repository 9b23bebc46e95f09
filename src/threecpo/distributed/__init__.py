"""Fits of rows that come in blocks: from disk, from Dask, with a memory budget."""

from ._fit import fit
from ._rows import read_rows

__all__ = ["fit", "read_rows"]
