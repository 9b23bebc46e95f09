"""How much more the counts of a column vary than Poisson counts would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .codes import NOISE, inner_labels
from .loops import columns as column_loops
from .loops import rows as row_loops
from .loops.records import RatioSums, rows_of
from .model import expected_shares, ratio, weight_of

if TYPE_CHECKING:
    from .codes import Floats, Groups, Ints
    from .counts import Counts
    from .model import SmoothedSums

DIGITS = 2.0**12
# No dispersion can be estimated for a column that holds nearly all counts in use.
LEAST_FREE = 1e-6


def dispersions(
    counts: Counts, labels: Ints, sums: SmoothedSums, groups: Groups
) -> Floats:
    """φ_j of each column: Pearson's statistic over its degrees of freedom.

    Divided by 1 plus the mean of (X - μ)/μ, which takes most of the noise out where
    expected counts are small (Fletcher, 2012). A column is itself a share p of the row
    sizes that it is expected from: of each row it has 1 - p degrees, and none of a row
    without counts in use. Labels number the clusters of the sums, -1 or the number
    after the last are the outliers. Only stored counts are visited.
    """
    terms = RatioTerms.of(sums, groups)
    return terms.dispersions(terms.ratio_sums(counts, labels))


@dataclass(frozen=True, eq=False)
class RatioTerms:
    """Expected counts of a fit, and what of them does not hang on single rows.

    ``shares`` has a line for each cluster, and last for the outliers (with batches: one
    for each of these in every batch): μ_ij over the row's size, in C- μ_ij itself.
    ``totals`` and ``expected`` are the sums of X and of μ, ``inverses_of_noise`` those
    of 1 / μ in C-. ``used_weight`` is that of all columns outside of C-; ``n_lost``
    degrees of freedom went into the rates of a column.
    """

    shares: Floats
    groups: Groups
    totals: Floats
    expected: Floats
    inverses_of_noise: Floats
    prior: float
    used_weight: float
    column_weights: Floats | float
    n_rows: float
    n_lost: float
    n_batches: int

    @classmethod
    def of(cls, sums: SmoothedSums, groups: Groups) -> RatioTerms:
        weights, noise = sums.column_weights, groups == NOISE
        n_batches = len(sums.batch_weights)
        by_batch = expected_shares(sums, groups)[:, :n_batches]
        lines = sums.batch_weights[:, None] * ratio(1.0, by_batch[0])
        shares, of_noise = by_batch.reshape(-1, len(groups)), lines.sum(axis=0)
        sizes = sums.cells[:, :, ~noise].sum(axis=2).ravel()
        totals = sums.totals
        if weights is not None:  # row sizes keep them, counts of a column do not
            shares, totals = shares / weights, totals / weights
            of_noise = of_noise * weights
        return cls(
            shares=np.ascontiguousarray(shares),
            groups=groups,
            totals=totals,
            expected=np.where(noise, totals, sizes @ shares),
            inverses_of_noise=of_noise,
            prior=sums.prior,
            used_weight=weight_of(weights, ~noise),
            column_weights=1.0 if weights is None else weights,
            n_rows=sums.n_rows,
            n_lost=sums.n_clusters + n_batches - 1,
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
        found = RatioSums(*map(np.zeros, (n_columns, n_columns, *[n_lines] * 3)))
        prior_size = self.prior * self.used_weight
        options = (slots, self.prior, prior_size, ratio(1.0, self.shares))
        rows = rows_of(counts)
        for block in counts.blocks:
            row_loops.add_ratios(rows, block, labels, *options, found)
        return found

    def dispersions(self, found: RatioSums) -> Floats:
        """φ_j from the sums over all rows."""
        prior, noise = self.prior, self.groups == NOISE
        inverses = np.where(
            noise, self.inverses_of_noise, found.inverse_sizes @ ratio(1.0, self.shares)
        )
        n_empty, n_rows = found.empty_rows.sum(), found.rows.sum()
        empty_sizes = prior * self.used_weight * found.empty_rows
        totals = self.totals - np.where(noise, 0.0, prior * n_empty)
        expected = self.expected - np.where(noise, 0.0, empty_sizes @ self.shares)
        # A product: a power too large for a number would be an error.
        pearson = found.squares + prior * prior * inverses - 2 * totals + expected
        rows = np.where(noise, self.n_rows, n_rows)
        own = np.where(noise, 0.0, found.rows @ self.shares * self.column_weights)
        free = np.maximum(1.0, rows - self.n_lost) * (1 - own / np.maximum(rows, 1.0))
        excess = (found.ratios + prior * inverses) * free / np.maximum(rows, 1.0)
        known = (excess > 0) & (free > LEAST_FREE * np.maximum(rows, 1.0))
        return np.divide(pearson, excess, out=np.zeros(len(known)), where=known)


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
