"""Delimited text, csv and tsv: one row a line, or one count a line."""

from .table_file import (
    open_records,
    read,
    read_lines,
    read_table,
    records_of,
    write,
)

__all__ = [
    "open_records",
    "read",
    "read_lines",
    "read_table",
    "records_of",
    "write",
]
