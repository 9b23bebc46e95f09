"""How much more the counts of a column vary than Poisson counts would."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .batch_model import cell_shares
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
    found = ratio_sums(counts, labels, ratio_terms(sums, groups))
    return of_ratio_sums(found, sums, groups)


class RatioTerms(NamedTuple):
    """What ratios of counts to their expectation are made of: r_i / μ_ij.

    ``inverse_shares`` has a line for each cluster and, last, for the outliers, in each
    batch.
    """

    inverse_shares: NDArray[np.float64]
    slots: NDArray[np.int32]
    prior: float
    prior_size: float
    n_batches: int


def ratio_terms(sums: SmoothedSums, groups: NDArray[np.int8]) -> RatioTerms:
    """Terms of fitted sums."""
    slots = np.empty(len(groups), dtype=np.int32)
    prior_size = sums.prior * sum(column_loops.fill_slots(groups, slots))
    n_batches = 1 if sums.batches is None else len(sums.batches.totals)
    if sums.batches is None:
        shares, _ = _shares(sums, groups)
    else:
        shares = _cell_shares(sums, groups).reshape(-1, len(groups))
    return RatioTerms(_inverse(shares), slots, sums.prior, prior_size, n_batches)


def ratio_sums(
    counts: Counts, labels: NDArray[np.int32], terms: RatioTerms
) -> RatioSums:
    """What dispersions need of rows; those of several blocks are added up."""
    lines = labels
    if terms.n_batches > 1:
        assert counts.batches is not None
        lines = labels * np.int32(terms.n_batches) + counts.batches
    n_lines, n_columns = terms.inverse_shares.shape
    found = RatioSums(np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_lines))
    options = (terms.slots, terms.prior, terms.prior_size, terms.inverse_shares)
    for block in counts.blocks:
        row_loops.add_ratios(rows_of(counts), block, lines, *options, found)
    return found


def of_ratio_sums(
    found: RatioSums, sums: SmoothedSums, groups: NDArray[np.int8]
) -> NDArray[np.float64]:
    """φ_j from the sums of all rows."""
    if sums.batches is not None:
        return _of_batches(found, sums, groups)
    n_rows, prior = sums.n_rows, sums.prior
    shares, size_sums = _shares(sums, groups)
    inverse_shares, noise = _inverse(shares), groups == NOISE
    inverses = found.inverse_sizes @ inverse_shares
    inverses[noise] = n_rows * inverse_shares[0, noise]
    expected = np.where(noise, sums.totals, size_sums @ shares)
    pearson = found.squares + _squared(prior) * inverses - 2 * sums.totals + expected
    excess = (found.ratios + prior * inverses) / n_rows
    free = max(1, n_rows - sums.n_clusters)
    return np.divide(
        pearson / free, excess, out=np.zeros(len(groups)), where=excess > 0
    )


def typical(
    dispersions: NDArray[np.float64], totals: NDArray[np.float64]
) -> float | None:
    """Median φ of the columns that have counts, None if there is no such number."""
    known = dispersions[totals > 0]
    middle = np.median(known) if len(known) else np.nan
    # Rounding can make a dispersion of nothing negative.
    return float(max(middle, 0.0)) if np.isfinite(middle) else None


def _squared(prior: float) -> float:
    """Square, infinite where it is too large for a number."""
    return prior * prior


def _inverse(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / x, which is 0 at 0."""
    return np.divide(1.0, shares, out=np.zeros_like(shares), where=shares > 0)


def _of_batches(
    found: RatioSums, sums: SmoothedSums, groups: NDArray[np.int8]
) -> NDArray[np.float64]:
    """φ_j with the expected counts of each cluster and batch."""
    cells, prior = sums.batches, sums.prior
    assert cells is not None
    n_batches, n_columns = cells.totals.shape
    shares = _cell_shares(sums, groups)
    flat = shares.reshape(-1, n_columns)
    inverse_shares = _inverse(flat)
    noise = groups == NOISE
    inverses = found.inverse_sizes @ inverse_shares
    of_batches = cells.row_masses[:, None] * _inverse(shares[0])
    inverses[noise] = of_batches[:, noise].sum(axis=0)
    sizes = np.concatenate([cells.clusters, cells.outliers[None]])[:, :, ~noise]
    expected = sizes.sum(axis=2).ravel() @ flat
    expected = np.where(noise, sums.totals, expected)
    pearson = found.squares + _squared(prior) * inverses - 2 * sums.totals + expected
    excess = (found.ratios + prior * inverses) / sums.n_rows
    free = max(1, sums.n_rows - sums.n_clusters - n_batches + 1)
    return np.divide(pearson / free, excess, out=np.zeros(n_columns), where=excess > 0)


def _cell_shares(sums: SmoothedSums, groups: NDArray[np.int8]) -> NDArray[np.float64]:
    """The same as ``_shares`` by cluster, batch and column."""
    assert sums.batches is not None
    n_batches = len(sums.batches.totals)
    return np.ascontiguousarray(cell_shares(sums, groups)[:, :n_batches])


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
