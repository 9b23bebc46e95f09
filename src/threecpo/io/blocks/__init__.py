"""Counts on disk as blocks of rows, each read when it is its turn."""

from ._chunks import is_dask_array as is_dask_array
from ._npz_blocks import write_blocks
from ._open import BLOCK_COUNTS as BLOCK_COUNTS
from ._open import are_blocks as are_blocks
from ._open import open_blocks
from ._streams import read_row_labels as read_row_labels
from ._streams import read_row_names as read_row_names
from .block_source import BlockSource as BlockSource

__all__ = [
    "open_blocks",
    "write_blocks",
]
