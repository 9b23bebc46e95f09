"""How much more the counts of a column vary than Poisson counts would."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .codes import NOISE, RELEVANT
from .loops import columns as column_loops
from .loops import rows as row_loops
from .loops.records import RatioSums, rows_of
from .model import Scales

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .counts import Counts
    from .model import SmoothedSums


def dispersions(
    counts: Counts,
    labels: NDArray[np.int32],
    sums: SmoothedSums,
    groups: NDArray[np.int8],
) -> NDArray[np.float64]:
    """φ_j of each column: Pearson's statistic over its degrees of freedom.

    Divided by 1 plus the mean of (X - μ)/μ, which takes most of the noise out where
    expected counts are small (Fletcher, 2012). Labels number the clusters of the sums;
    the number after the last is the outliers'. Only stored counts are visited.
    """
    n_columns, n_rows, prior = len(groups), sums.n_rows, sums.prior
    shares, size_sums = _shares(sums, groups)
    with np.errstate(divide="ignore"):
        inverse_shares = np.where(shares > 0, 1.0 / shares, 0.0)
    slots = np.empty(n_columns, dtype=np.int32)
    prior_size = prior * sum(column_loops.fill_slots(groups, slots))
    found = RatioSums(
        squares=np.zeros(n_columns),
        ratios=np.zeros(n_columns),
        inverse_sizes=np.zeros(len(shares)),
    )
    rows, options = rows_of(counts), (slots, prior, prior_size, inverse_shares)
    for block in counts.blocks:
        row_loops.add_ratios(rows, block, labels, *options, found)
    noise = groups == NOISE
    inverses = found.inverse_sizes @ inverse_shares
    inverses[noise] = n_rows * inverse_shares[0, noise]
    expected = np.where(noise, sums.totals, size_sums @ shares)
    pearson = found.squares + prior**2 * inverses - 2 * sums.totals + expected
    excess = (found.ratios + prior * inverses) / n_rows
    free = max(1, n_rows - sums.n_clusters)
    return np.divide(pearson / free, excess, out=np.zeros(n_columns), where=excess > 0)


def _shares(
    sums: SmoothedSums, groups: NDArray[np.int8]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """μ_ij / r_i in each cluster and among outliers (in C-: μ_ij); sums of r_i."""
    scales = Scales.of(sums, groups)
    shares = scales.row_factors[:, None] * sums.totals
    totals = np.maximum(scales.cluster_totals, np.finfo(float).tiny)[:, None]
    relevant, noise = groups == RELEVANT, groups == NOISE
    shares[:-1, relevant] = sums.clusters[:, relevant] / totals
    shares[:, noise] = sums.totals[noise] / sums.n_rows
    size_sums = np.append(scales.cluster_totals, sums.outliers[~noise].sum())
    return shares, size_sums
