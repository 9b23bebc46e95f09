"""Tables of a fitted model, and the CSV files that hold them."""

from ._csv import read_table, write_table
from ._map import row_map
from ._tables import column_table, path_table, row_table, top_table

__all__ = [
    "column_table",
    "path_table",
    "read_table",
    "row_map",
    "row_table",
    "top_table",
    "write_table",
]
