"""Counts on disk as blocks of rows, each read when it is its turn."""

from ._open import open_blocks
from ._write import write_blocks

__all__ = ["open_blocks", "write_blocks"]
