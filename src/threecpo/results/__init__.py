"""Tables and facts of counts and fits, and the CSV files that hold the tables."""

from typing import TYPE_CHECKING

from ._fit_tables import (
    cluster_table,
    column_table,
    indicator_table,
    path_table,
    top_table,
    typical_rows,
)
from ._row_tables import (
    block_row_table,
    match_columns,
    predicted_block_rows,
    predicted_rows,
    row_map,
    row_table,
)
from .cluster_tree import scanpy_dendrogram, tree_figure, tree_nodes
from .facts import choice_facts, describe_counts, fit_facts
from .figure_data import cluster_path
from .input_checks import check_input
from .label_comparison import LabelComparison, agreement, label_tables
from .shares import share_table
from .table_files import read_table, rounded_table, write_table, write_workbook

if TYPE_CHECKING:
    from .table_files import Table as Table

__all__ = [
    "LabelComparison",
    "agreement",
    "block_row_table",
    "check_input",
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
    "tree_figure",
    "tree_nodes",
    "typical_rows",
    "write_table",
    "write_workbook",
]
