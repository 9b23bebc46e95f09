"""The table of top columns of a model as a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._extras import frame
from .top_columns import top_columns_table

if TYPE_CHECKING:
    from ._threecpo import ThreeCPO


def top_columns(model: ThreeCPO, n: int) -> Any:
    """List the best columns of each cluster and group by their names, if they have."""
    record = model.record_
    table = top_columns_table(record, n)
    if record.column_names is not None:
        table["column"] = [record.column_names[j] for j in table["column"]]
    return frame(table)
