"""Rules that put rows in clusters: profiles that score rows, and rows described."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .batch_model import batch_profile, rates_of
from .batch_rates import first_rates
from .codes import NOISE, RELEVANT, SHARED
from .loops import columns as column_loops
from .loops import rows as row_loops
from .loops.records import Profile, Workspace, frozen, loadable, padded_rates, rows_of
from .model import Scales, log

if TYPE_CHECKING:
    from .batch_rates import BatchRates
    from .codes import Floats, Groups, Ints
    from .counts import Counts
    from .model import SmoothedSums
    from .workers import Workers


class Rule(Protocol):
    """How a row is scored in the clusters of smoothed sums."""

    @property
    def name(self) -> str: ...

    @property
    def first(self) -> Rule:
        """The rule by which rows that are nowhere yet join seeds."""
        ...

    def profile(
        self,
        sums: SmoothedSums,
        groups: Groups,
        *,
        background: bool = False,
        threshold: float = 0.0,
        ranks: Ints | None = None,
    ) -> Profile:
        """Profile of these sums; ``background`` adds one more for the outliers.

        ``ranks`` breaks ties: the cluster of the lowest rank wins.
        """
        ...


@dataclass(frozen=True)
class _ShareRule:
    """What the exact and the paper's rule have in common: log(c_kj / c_k(U)) in C1."""

    name: str

    @property
    def first(self) -> Rule:
        return self

    def profile(
        self,
        sums: SmoothedSums,
        groups: Groups,
        *,
        background: bool = False,
        threshold: float = 0.0,
        ranks: Ints | None = None,
    ) -> Profile:
        if sums.batches is not None:
            rates = self._batch_rates(sums, groups)
            return batch_profile(
                rates,
                sums,
                background=background,
                threshold=threshold,
                ranks=_ranks(sums.n_clusters, ranks),
            )
        scales = Scales.of(sums, groups)
        width = sums.n_clusters + background
        slots = np.empty(len(groups), dtype=np.int32)
        n_shared, n_relevant = column_loops.fill_slots(groups, slots)
        n_used = n_shared + n_relevant
        log_rates, log_rate_sums = _log_shares(
            sums, groups, scales, slots, n_relevant, width
        )
        # Without C1 every cluster is C0 alone, one without any counts (prior 0) too.
        portions = scales.portions[:width] if n_relevant else np.ones(width)
        shared_weights, size_weights = self._weights(portions, n_shared)
        prior_shared, prior_size = sums.prior * n_shared, sums.prior * n_used
        if sums.column_weights is not None:
            prior_shared = sums.prior_in(groups == SHARED)
            prior_size = sums.prior_in(groups != NOISE)
        profile = Profile(
            slots=slots,
            log_rates=log_rates,
            offsets=sums.prior * log_rate_sums,
            shared_weights=shared_weights,
            size_weights=size_weights.reshape(1, -1),
            ranks=_ranks(sums.n_clusters, ranks),
            background=background,
            prior_shared=prior_shared,
            prior_size=prior_size,
            threshold=threshold,
        )
        return frozen(profile)

    def _weights(self, portions: Floats, n_shared: int) -> tuple[Floats, Floats]:
        """Weights of a row's sum over C0 and of its size, from q, the share of C0."""
        raise NotImplementedError

    def _batch_rates(self, sums: SmoothedSums, groups: Groups) -> BatchRates:
        """Rates of clusters and batches, where there are several."""
        raise NotImplementedError


@dataclass(frozen=True)
class Exact(_ShareRule):
    """Likelihood of the row with its size re-fitted, in C1 and in C0."""

    name: str = "exact"

    @property
    def first(self) -> Rule:
        return SEEDS

    def _batch_rates(self, sums: SmoothedSums, groups: Groups) -> BatchRates:
        return rates_of(sums, groups)

    def _weights(self, portions: Floats, n_shared: int) -> tuple[Floats, Floats]:
        zeros = np.zeros(len(portions))
        if not n_shared:
            return zeros, zeros
        with np.errstate(divide="ignore"):
            return np.log(portions), zeros


@dataclass(frozen=True)
class Seeds(Exact):
    """The exact rule for clusters of one row each: β are the batches' margins."""

    def _batch_rates(self, sums: SmoothedSums, groups: Groups) -> BatchRates:
        return first_rates(sums, groups)


@dataclass(frozen=True)
class Paper(_ShareRule):
    """The score that the paper prints: what changes in C0 is left out."""

    name: str = "paper"

    def _weights(
        self,
        portions: Floats,
        n_shared: int,  # noqa: ARG002
    ) -> tuple[Floats, Floats]:
        return np.zeros(len(portions)), portions - 1.0


@dataclass(frozen=True)
class ChiSquared:
    """Minus r_i times chi-squared, every column in C1 (PoissonC).

    With μ_ij = r_i p_kj and p_k summing to 1, the sum of (X - μ)² / μ over columns is
    that of X² / p_kj over r_i, less r_i; and X² = Y (2 prior + Y) + prior².
    """

    name: str = "chi-squared"

    @property
    def first(self) -> Rule:
        return EXACT

    def profile(
        self,
        sums: SmoothedSums,
        groups: Groups,  # noqa: ARG002 - all columns are in C1
        *,
        background: bool = False,
        threshold: float = 0.0,
        ranks: Ints | None = None,
    ) -> Profile:
        clusters = sums.clusters
        if background:
            clusters = np.vstack([clusters, sums.totals])
        with np.errstate(divide="ignore"):
            weights = clusters.sum(axis=1) / clusters.T
        n_columns, width = weights.shape
        log_rates, rates = padded_rates(n_columns, width)
        rates[:] = -weights
        zeros = np.zeros(width)
        profile = Profile(
            slots=np.arange(n_columns, dtype=np.int32),
            log_rates=log_rates,
            offsets=-(sums.prior * sums.prior) * weights.sum(axis=0)
            if sums.prior
            else zeros,
            shared_weights=zeros,
            size_weights=zeros.reshape(1, -1),
            ranks=_ranks(sums.n_clusters, ranks),
            background=background,
            prior_shared=0.0,
            prior_size=sums.prior * n_columns,
            threshold=threshold,
            linear=2 * sums.prior,
            square=1.0,
        )
        return frozen(profile)


EXACT = Exact()
SEEDS = Seeds()
PAPER = Paper()
CHI_SQUARED = ChiSquared()
NAMED: dict[str, Rule] = {rule.name: rule for rule in (EXACT, PAPER, CHI_SQUARED)}


def _log_shares(
    sums: SmoothedSums,
    groups: Groups,
    scales: Scales,
    slots: Ints,
    n_relevant: int,
    width: int,
) -> tuple[Floats, Floats]:
    """Log rates of a profile, c_kj / c_k(U) and last that of all rows; their sums.

    Each column counts in the sums as much as its weight.
    """
    log_rates, rates = padded_rates(n_relevant, width)
    log_rate_sums = np.zeros(width)
    out = (slots, log_rates, log_rate_sums)
    column_loops.fill_profile(sums.logs, log(scales.cluster_totals), *out, 0)
    if width > sums.n_clusters:
        overall = log(sums.totals)[None], log(np.array([scales.total]))
        column_loops.fill_profile(*overall, *out, sums.n_clusters)
    if sums.column_weights is not None:
        weights = sums.column_weights[groups == RELEVANT]
        log_rate_sums = (rates * weights[:, None]).sum(axis=0)
    if not sums.prior:
        cells = np.vstack([sums.clusters, sums.totals])[:width, groups == RELEVANT]
        rates[cells.T == 0] = -np.inf
    return log_rates, log_rate_sums


def _ranks(n_clusters: int, ranks: Ints | None) -> Ints:
    """Own ranks; without any, the first cluster wins a tie."""
    if ranks is None:
        return np.arange(n_clusters, dtype=np.int32)
    return np.array(ranks, dtype=np.int32)


@dataclass(frozen=True)
class RowDescription:
    """Per row: nearest cluster, size r_i, margin, and excess of the background."""

    nearest: Ints
    row_sizes: Floats
    margins: Floats
    outlier_scores: Floats


def describe(
    counts: Counts,
    profile: Profile,
    workers: Workers,
    clusters: Ints | None = None,
    row_scores: Floats | None = None,
) -> RowDescription:
    """Describe every row by a profile, which has a background for outlier scores.

    ``clusters`` is what each cluster of the profile is called; several may share one.
    ``row_scores`` takes the score of every row in every cluster, if it is given.
    """
    n_rows = counts.n_rows
    out = RowDescription(
        np.empty(n_rows, np.int32), *(np.empty(n_rows) for _ in range(3))
    )

    columns = out.nearest, out.row_sizes, out.margins, out.outlier_scores
    rows, profile = rows_of(counts), loadable(profile)
    names = np.arange(profile.n_clusters, dtype=np.int32)
    if clusters is not None:
        names = clusters.astype(np.int32)
    out_scores = np.empty((n_rows, 0)) if row_scores is None else row_scores

    def one(block: tuple[int, int]) -> None:
        how = profile, Workspace.of(counts.longest, profile), names
        row_loops.describe_rows(rows, block, *how, *columns, out_scores)

    for _ in workers.map(one, counts.blocks):
        pass
    return out


def scores(counts: Counts, profile: Profile, workers: Workers) -> Floats:
    """Score of every row in every cluster."""
    out = np.empty((counts.n_rows, profile.n_clusters))
    describe(counts, profile, workers, row_scores=out)
    return out
