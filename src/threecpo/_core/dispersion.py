"""How much more the counts of a column vary than Poisson counts would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .codes import NOISE, inner_labels
from .loops import columns as column_loops
from .loops import rows as row_loops
from .loops.records import RatioSums, rows_of
from .model import expected_shares, weight_of

if TYPE_CHECKING:
    from .codes import Floats, Groups, Ints
    from .counts import Counts
    from .model import SmoothedSums

DIGITS = 2.0**12


def dispersions(
    counts: Counts, labels: Ints, sums: SmoothedSums, groups: Groups
) -> Floats:
    """φ_j of each column: Pearson's statistic over its degrees of freedom.

    Divided by 1 plus the mean of (X - μ)/μ, which takes most of the noise out where
    expected counts are small (Fletcher, 2012). Labels number the clusters of the sums,
    -1 or the number after the last are the outliers. Only stored counts are visited.
    """
    terms = RatioTerms.of(sums, groups)
    return terms.dispersions(terms.ratio_sums(counts, labels))


@dataclass(frozen=True, eq=False)
class RatioTerms:
    """Expected counts of a fit, and what of them does not hang on single rows.

    ``shares`` has a line for each cluster, and last for the outliers (with batches: one
    for each of these in every batch): μ_ij over the row's size, in C- μ_ij itself.
    ``totals`` and ``expected`` are the sums of X and of μ, ``inverses_of_noise`` those
    of 1 / μ in C-. ``used_weight`` is that of all columns outside of C-.
    """

    shares: Floats
    groups: Groups
    totals: Floats
    expected: Floats
    inverses_of_noise: Floats
    prior: float
    used_weight: float
    n_rows: float
    n_free: float
    n_batches: int

    @classmethod
    def of(cls, sums: SmoothedSums, groups: Groups) -> RatioTerms:
        weights, noise = sums.column_weights, groups == NOISE
        n_batches = len(sums.batch_weights)
        by_batch = expected_shares(sums, groups)[:, :n_batches]
        lines = sums.batch_weights[:, None] * _inverse(by_batch[0])
        shares, of_noise = by_batch.reshape(-1, len(groups)), lines.sum(axis=0)
        sizes = sums.cells[:, :, ~noise].sum(axis=2).ravel()
        totals = sums.totals
        if weights is not None:  # row sizes keep them, counts of a column do not
            shares, totals, of_noise = (
                shares / weights,
                totals / weights,
                of_noise * weights,
            )
        return cls(
            shares=np.ascontiguousarray(shares),
            groups=groups,
            totals=totals,
            expected=np.where(noise, totals, sizes @ shares),
            inverses_of_noise=of_noise,
            prior=sums.prior,
            used_weight=weight_of(weights, ~noise),
            n_rows=sums.n_rows,
            n_free=max(1, sums.n_rows - sums.n_clusters - n_batches + 1),
            n_batches=n_batches,
        )

    def ratio_sums(self, counts: Counts, labels: Ints) -> RatioSums:
        """Sums over the stored counts of rows with these labels; blocks add up."""
        n_lines, n_columns = self.shares.shape
        labels = inner_labels(labels, n_lines // self.n_batches - 1)
        if self.n_batches > 1:
            assert counts.batches is not None
            labels = labels * np.int32(self.n_batches) + counts.batches
        slots = np.empty(n_columns, dtype=np.int32)
        column_loops.fill_slots(self.groups, slots)
        found = RatioSums(np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_lines))
        prior_size = self.prior * self.used_weight
        options = (slots, self.prior, prior_size, _inverse(self.shares))
        rows = rows_of(counts)
        for block in counts.blocks:
            row_loops.add_ratios(rows, block, labels, *options, found)
        return found

    def dispersions(self, found: RatioSums) -> Floats:
        """φ_j from the sums over all rows."""
        prior, inverse_shares = self.prior, _inverse(self.shares)
        inverses = np.where(
            self.groups == NOISE,
            self.inverses_of_noise,
            found.inverse_sizes @ inverse_shares,
        )
        # A product: a power too large for a number would be an error.
        pearson = found.squares + prior * prior * inverses - 2 * self.totals
        pearson += self.expected
        excess = (found.ratios + prior * inverses) / self.n_rows
        out = np.zeros(len(self.totals))
        return np.divide(pearson / self.n_free, excess, out=out, where=excess > 0)


def added(a: RatioSums, b: RatioSums) -> RatioSums:
    """Sums over the rows of both."""
    return RatioSums(*map(np.add, a, b))


def column_weights(dispersions: Floats, most: float) -> Floats | None:
    """min(1, c / φ_j) in twelve binary digits, or None where no column is above c.

    So few digits that the order in which φ was added up does not show.
    """
    above = dispersions > most
    if not above.any():
        return None
    weights = np.ones(len(dispersions))
    weights[above] = few_digits(most / dispersions[above])
    return weights


def few_digits(values: Floats) -> Floats:
    """Round to twelve binary digits."""
    fraction, exponent = np.frexp(values)
    return np.ldexp(np.round(fraction * DIGITS) / DIGITS, exponent)


def typical(dispersions: Floats, totals: Floats) -> float | None:
    """Median φ of the columns that have counts, None if it is not a number."""
    known = dispersions[totals > 0]
    middle = np.median(known) if len(known) else np.nan
    # Rounding can make a dispersion of nothing negative.
    return float(max(middle, 0.0)) if np.isfinite(middle) else None


def _inverse(shares: Floats) -> Floats:
    """1 / x, which is 0 at 0."""
    return np.divide(1.0, shares, out=np.zeros_like(shares), where=shares > 0)
