"""The paper's table of words: what tells the clusters apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._extras import frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._threecpo import ThreeCPO

# The size of a cluster's rows is then known to about 5 %.
ENOUGH_COUNTS = 400


def top_columns(model: ThreeCPO, n: int) -> Any:
    """List the best columns of each cluster, then of C0 and of C-."""
    names = getattr(model, "feature_names_in_", np.arange(model.n_features_in_))
    table: dict[str, list[Any]] = {
        key: [] for key in ("group", "cluster", "rank", "column", "value")
    }

    def add(group: int, cluster: int, values: NDArray[np.float64]) -> None:
        members = np.flatnonzero(model.column_groups_ == group)
        best = members[np.argsort(-values[members], kind="stable")[:n]]
        for rank, j in enumerate(best, start=1):
            row = (group, cluster, rank, names[j], float(values[j]))
            for key, value in zip(table, row, strict=True):
                table[key].append(value)

    for k, values in enumerate(_above_average(model)):
        add(1, k, values)
    add(0, -1, model.shared_rates_)
    add(-1, -1, model.noise_rates_)
    return frame(table)


def _above_average(model: ThreeCPO) -> NDArray[np.float64]:
    """How far each cluster's rates lie above the overall ones (K x m).

    Where the rates of different clusters have no common scale, shares of the cluster's
    counts are compared.
    """
    rates, overall = model.cluster_rates_, model.shared_rates_
    if have_common_scale(model):
        return rates - overall
    used = model.column_groups_ >= 0
    totals = rates[:, used].sum(axis=1, keepdims=True)
    return rates / np.where(totals > 0, totals, 1.0) - overall / max(
        overall[used].sum(), np.finfo(float).tiny
    )


def have_common_scale(model: ThreeCPO) -> bool:
    """Whether C0 tells how large the rows of every cluster are.

    A lone column in C0 is only a choice of scale, and a few counts tell too little.
    """
    shared = model.column_groups_ == 0
    sums = model.record_.sums.clusters[:, shared]
    enough = (sums.sum(axis=1) >= ENOUGH_COUNTS).all()
    return bool(np.count_nonzero(shared) > 1 and enough)
