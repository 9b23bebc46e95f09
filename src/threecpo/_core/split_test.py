"""What two clusters gain over one, and whether that is more than drawn tables give.

The gain is that of a mixture of two clusters, with counts in units of their dispersion,
which a division of the rows is the start of. Rows that fit both clusters gain nothing,
so that it hardly depends on how hard a division was looked for: even short rows of one
cluster can be divided with a large gain of each row's own likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr

from .codes import all_relevant
from .dispersion import RatioTerms
from .sums import sum_by_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .codes import Floats
    from .counts import Counts

# Tables of few cells, not many of them zero, are dense.
MOST_DENSE_CELLS = 1 << 22
DENSE_SHARE = 0.15
MOST_STEPS = 30
# Steps end that gain less than this part.
LEAST_GAIN = 1e-3
# The null model is measured on the table that is tested, and its tables vary less than
# such tables do.
MEASURED_SPREAD = 1.4
# Gains of chance vary by about a nat at least, even if a few tables do not show it.
LEAST_SPREAD = 1.0


@dataclass(frozen=True)
class SplitResult:
    """Gain of a division and of those of drawn tables, all in nats.

    ``z`` is how far it lies above them in standard deviations, ``p_value`` that of a
    t-test for one more value, NaN if there are too few counts.
    """

    gain: float
    null_mean: float
    z: float
    p_value: float

    @classmethod
    def of(cls, gain: float, nulls: Sequence[float]) -> SplitResult:
        """Compare a gain with those of drawn tables."""
        n, mean, sd = len(nulls), float(np.mean(nulls)), float(np.std(nulls, ddof=1))
        spread = MEASURED_SPREAD * max(sd, LEAST_SPREAD) * np.sqrt(1 + 1 / n)
        z = float((gain - mean) / spread)
        return cls(gain, mean, z, float(stdtr(n - 1, -z)) if gain > 0 else 1.0)


NOTHING_TO_TEST = SplitResult(0.0, 0.0, 0.0, 1.0)
TOO_FEW_COUNTS = SplitResult(np.nan, np.nan, np.nan, np.nan)
NO_COMMON_BATCH = SplitResult(np.nan, np.nan, np.nan, np.nan)


def mixture_gain(counts: Counts, inside: NDArray[np.bool_]) -> float:
    """Log-likelihood of a mixture of two clusters over that of one, 0 at least.

    It starts from the rows inside and the others.
    """
    counts = counts.with_column_weights(None)
    filled = counts.row_lengths(1) > 0
    if counts.weights is not None:
        filled &= counts.weights > 0
    counts, part = counts.rows(np.flatnonzero(filled)), inside[filled].astype(float)
    if not 0 < part.sum() < len(part) or counts.n_columns < 2:
        return 0.0
    columns, labels = all_relevant(counts.n_columns), np.zeros(len(part), np.int32)
    sums = sum_by_labels(counts, labels, 1, columns, 0.0).smoothed(0.0)
    terms = RatioTerms.of(sums, columns)
    spread = np.maximum(1.0, terms.dispersions(terms.ratio_sums(counts, labels)))
    profiles = terms.shares[: terms.n_batches]
    table: Any = counts.matrix()
    n_cells, weights = counts.n_rows * counts.n_columns, counts.weights
    if table.nnz > DENSE_SHARE * n_cells and n_cells <= MOST_DENSE_CELLS:
        table = table.toarray()
    weights = np.ones(len(part)) if weights is None else weights
    batches = labels if counts.batches is None else counts.batches
    sizes = np.asarray(table.sum(axis=1))

    def scores(of_rows: Floats) -> Floats:
        """What rows gain in a cluster of such shares of them."""
        found = table.T @ (weights * of_rows)
        by_batch = np.bincount(batches, weights * of_rows * sizes, len(profiles))
        # One more count, in units of the dispersion, as one cluster has it.
        ratios = (found + spread) / (by_batch @ profiles + spread)
        expected = profiles @ ((ratios - 1) / spread)
        return np.asarray(table @ (np.log(ratios) / spread) - sizes * expected[batches])

    before, best, least = -np.inf, 0.0, 1 / len(part)
    for _ in range(MOST_STEPS):
        share = np.clip(np.average(part, weights=weights), least, 1 - least)
        first = np.log(share) + scores(part)
        either = np.logaddexp(first, np.log1p(-share) + scores(1 - part))
        gain = float(weights @ either)
        best = max(best, gain)
        if gain - before < LEAST_GAIN * abs(gain):
            break
        before, part = gain, np.exp(first - either)
    return best
