"""Counts on disk as blocks of rows, each read when it is its turn."""

from .open import BLOCK_COUNTS as BLOCK_COUNTS
from .open import are_blocks as are_blocks
from .open import is_dask_array as is_dask_array
from .open import open_blocks, write_blocks
from .store import BlockSource as BlockSource
from .streams import read_row_labels as read_row_labels
from .streams import read_row_names as read_row_names

__all__ = [
    "open_blocks",
    "write_blocks",
]
