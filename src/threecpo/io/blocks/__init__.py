"""Counts on disk as blocks of rows, each read when it is its turn."""

from ._chunks import is_dask_array
from ._hierarchy import read_row_labels, read_row_names
from ._npz_blocks import write_blocks
from ._open import BLOCK_COUNTS, are_blocks, open_blocks
from .block_source import BlockSource

__all__ = [
    "BLOCK_COUNTS",
    "BlockSource",
    "are_blocks",
    "is_dask_array",
    "open_blocks",
    "read_row_labels",
    "read_row_names",
    "write_blocks",
]
