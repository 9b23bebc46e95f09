"""Counts from files and to files."""

from .._errors import DataFormatError
from .read import read_counts
from .write import write_counts

__all__ = ["DataFormatError", "read_counts", "write_counts"]
