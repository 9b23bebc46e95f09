"""Tables and facts of counts and fits, and the CSV files that hold the tables."""

from typing import TYPE_CHECKING

from ._agreement import agreement
from ._block_rows import block_row_table, predicted_block_rows
from ._choice_facts import choice_facts
from ._cluster_tables import cluster_table
from ._column_matching import match_columns
from ._count_facts import describe_counts
from ._csv_tables import read_table, rounded_table, write_table
from ._fit_facts import fit_facts
from ._fit_tables import (
    column_table,
    path_table,
    predicted_rows,
    row_table,
    top_table,
)
from ._indicators import indicator_table
from ._row_coordinates import row_map
from ._share_table import share_table
from ._typical_rows import typical_rows
from .cluster_path import cluster_path
from .cluster_tree import scanpy_dendrogram, tree_figure, tree_nodes
from .label_comparison import LabelComparison, label_tables
from .trap_lines import traps
from .workbook import write_workbook

if TYPE_CHECKING:
    from ._csv_tables import Table as Table

__all__ = [
    "LabelComparison",
    "agreement",
    "block_row_table",
    "choice_facts",
    "cluster_path",
    "cluster_table",
    "column_table",
    "describe_counts",
    "fit_facts",
    "indicator_table",
    "label_tables",
    "match_columns",
    "path_table",
    "predicted_block_rows",
    "predicted_rows",
    "read_table",
    "rounded_table",
    "row_map",
    "row_table",
    "scanpy_dendrogram",
    "share_table",
    "top_table",
    "traps",
    "tree_figure",
    "tree_nodes",
    "typical_rows",
    "write_table",
    "write_workbook",
]
