"""Tables and facts of counts and fits, and the CSV files that hold the tables."""

from typing import TYPE_CHECKING

from ._agreement import SCORE_NAMES, agreement
from ._cluster_tables import cluster_table
from ._column_matching import match_columns
from ._count_facts import describe_counts
from ._csv_tables import read_table, write_table
from ._fit_facts import fit_facts
from ._fit_tables import (
    column_table,
    path_table,
    predicted_rows,
    row_table,
    top_table,
)
from ._row_coordinates import row_map
from .cluster_path import cluster_path

if TYPE_CHECKING:
    from ._csv_tables import Table as Table

__all__ = [
    "SCORE_NAMES",
    "agreement",
    "cluster_path",
    "cluster_table",
    "column_table",
    "describe_counts",
    "fit_facts",
    "match_columns",
    "path_table",
    "predicted_rows",
    "read_table",
    "row_map",
    "row_table",
    "top_table",
    "write_table",
]
