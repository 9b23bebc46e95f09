"""Model files of earlier formats, as the present one has them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

# Arrays of version 1 and their names now.
_RENAMED = {
    "sums": "table",
    "sizes": "members",
    "profile_sums": "profile_table",
    "profile_sizes": "profile_members",
    "totals": "totals",
    "ranks": "ranks",
    "column_groups_": "groups",
    "column_scores_": "column_scores",
    "restart_losses_": "restart_losses",
    "labels_": "labels",
    "nearest_labels_": "nearest_labels",
    "outlier_scores_": "outlier_scores",
    "margins_": "margins",
    "row_scales_": "row_scales",
}


def from_version_1(
    arrays: dict[str, Any], header: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and header of version 2; u, which version 1 left out, is not known."""
    from ._fit.stored_names import names_to_arrays

    numbers, parameters = header["numbers"], header["parameters"]
    new = {_RENAMED[name]: arrays[name] for name in _RENAMED if name in arrays}
    new |= {
        name: array
        for name, array in arrays.items()
        if name.startswith(("history_", "parameter_"))
    }
    n_columns = int(numbers["n_features_in_"])
    new["log_sizes"] = np.full((n_columns, 2), np.nan)
    new["log_size_total"] = np.full(2, np.nan)
    if "feature_names_in_" in arrays:
        names = arrays["feature_names_in_"]
        if names.dtype.kind == "U" and (names.view(np.uint32) > sys.maxunicode).any():
            message = "feature_names_in_ is no text"
            raise ValueError(message)
        names = names.astype(str).astype(object)
        new |= names_to_arrays("column_names", names)
    price = parameters["column_penalty"]
    record = {
        "numerics": 1,
        "settings": {
            "n_clusters": _asked(parameters["n_clusters"], numbers["n_clusters_"]),
            "max_iter": parameters["max_iter"],
            "price": "none" if price is None else price,
            "groups": parameters["groups"],
            "rule": "exact" if header["exact"] else "printed",
            "outliers": header["outliers"],
            "threshold": header["threshold"],
            "prior": header["prior"],
        },
        "n_rows": header["n_rows"],
        "loss": numbers["loss_"],
        "price": numbers["_price"],
        "converged": True,
        "history": header["history"],
        "parameters": parameters,
    }
    return new, {"parameters": parameters, "record": record}


def _asked(n_clusters: Any, found: int) -> int:
    """Number of clusters that was asked for; of "auto" the number found."""
    return found if isinstance(n_clusters, str) else n_clusters
