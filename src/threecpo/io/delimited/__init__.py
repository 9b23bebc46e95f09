"""Delimited text, csv and tsv: one row a line, or one count a line."""

from .table_file import read, read_lines, read_table, write

__all__ = ["read", "read_lines", "read_table", "write"]
