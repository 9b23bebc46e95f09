"""Description lengths along a path: the paper's, and one for overdispersed counts.

Derivation and evidence: docs/number-of-clusters.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ._poisson import PoissonFit


def label_cost(n_clusters: int, n_rows: float) -> float:
    """v(K) = L0(K) + n log K, with Rissanen's universal prior for whole numbers."""
    cost, term = np.log(2.865064), np.log(n_clusters)
    while term > 0:
        cost, term = cost + term, np.log(term)
    return float(cost + n_rows * np.log(n_clusters))


def mdl(fits: Sequence[PoissonFit]) -> NDArray[np.float64]:
    """Loss plus v(K) of every fit (the paper's criterion)."""
    return np.array([fit.loss + fit.label_cost for fit in fits])


def mdl_dispersion(fits: Sequence[PoissonFit]) -> NDArray[np.float64]:
    """The same for counts in units of their dispersion, column by column.

    The dispersions are those of one fit, the reference, which must choose itself: from
    the smallest K with several clusters, the choice becomes the reference until it
    repeats (or until choices take turns: then the smallest of them is chosen).
    """
    reference = next((i for i, fit in enumerate(fits) if fit.n_found > 1), 0)
    seen: list[int] = []
    while reference not in seen:
        seen.append(reference)
        reference = int(np.argmin(_scaled(fits, fits[reference].dispersions)))
    turns = seen[seen.index(reference) :]
    before_smallest = turns[turns.index(min(turns)) - 1]
    return _scaled(fits, fits[before_smallest].dispersions)


def _scaled(
    fits: Sequence[PoissonFit], dispersions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Totals of counts over their dispersions, groups chosen again.

    What holds a column back already, its weight, is a part of that.
    """
    totals = []
    for fit in fits:
        unit = np.maximum(fit.least_dispersion, dispersions) * fit.column_weights
        scores = fit.likelihoods / unit[:, None]
        scores[:, 2] -= fit.prices_in(unit)
        totals.append(fit.label_cost - scores.max(axis=1).sum())
    return np.array(totals)


# The default first.
CRITERIA = {"mdl-dispersion": mdl_dispersion, "mdl": mdl}
