"""Tables and facts of counts and fits, and the CSV files that hold the tables."""

from typing import TYPE_CHECKING

from ._fit_tables import (
    cluster_table,
    column_table,
    indicator_table,
    path_table,
    typical_rows,
)
from ._fit_tables import top_table as top_table
from ._fit_tables import workbook as workbook
from ._row_tables import block_row_table as block_row_table
from ._row_tables import match_columns as match_columns
from ._row_tables import predicted_block_rows as predicted_block_rows
from ._row_tables import predicted_rows, row_table
from ._row_tables import row_map as row_map
from ._trust_tables import batch_table as batch_table
from ._trust_tables import cluster_verdicts as cluster_verdicts
from ._trust_tables import downweighted_columns as downweighted_columns
from ._trust_tables import downweighted_rows as downweighted_rows
from ._trust_tables import stability_table as stability_table
from .cluster_tree import tree_figure as tree_figure
from .cluster_tree import tree_nodes as tree_nodes
from .cluster_tree import tree_table as tree_table
from .facts import choice_facts as choice_facts
from .facts import describe_counts as describe_counts
from .facts import fit_facts as fit_facts
from .figure_data import cluster_path as cluster_path
from .input_checks import check_input
from .label_comparison import LabelComparison as LabelComparison
from .label_comparison import agreement, label_tables
from .shares import share_table
from .significance import LabelSignificance as LabelSignificance
from .significance import label_significance
from .table_files import read_table as read_table
from .table_files import rounded_table as rounded_table
from .table_files import write_table as write_table
from .table_files import write_workbook as write_workbook

if TYPE_CHECKING:
    from .table_files import Table as Table

__all__ = [
    "agreement",
    "check_input",
    "cluster_table",
    "column_table",
    "indicator_table",
    "label_significance",
    "label_tables",
    "path_table",
    "predicted_rows",
    "row_table",
    "share_table",
    "typical_rows",
]
