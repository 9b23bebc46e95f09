"""Counts from files and to files."""

from .._errors import DataFormatError
from ._read import read_counts
from ._write import write_counts

__all__ = ["DataFormatError", "read_counts", "write_counts"]
