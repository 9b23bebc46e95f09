"""What was known before a fit, and held in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import GROUP_NAMES
from ..cluster.naming import cluster_names_of
from .fitted import column_names_of

if TYPE_CHECKING:
    from .._fit.record import FitRecord


def known_facts(record: FitRecord) -> dict[str, Any]:
    """Rows held in clusters, clusters that are the user's, and groups that were fixed.

    ``against`` is how many of the held rows fit another cluster better.
    """
    known = None if record.rows is None else record.rows.known
    held = np.zeros(record.n_rows, bool) if known is None else known >= 0
    margins = np.empty(0) if record.rows is None else record.rows.margins[held]
    columns = column_names_of(record, None)
    n_known = min(record.settings.n_known, record.n_clusters)
    return {
        "rows": int(held.sum()),
        "against": int((margins < 0).sum()),
        "clusters": cluster_names_of(record)[:n_known].tolist(),
        "fixed_groups": {
            str(columns[column]): GROUP_NAMES[group]
            for column, group in record.settings.fixed_groups
        },
    }
