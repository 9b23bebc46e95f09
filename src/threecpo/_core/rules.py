"""Rules that put rows in clusters: profiles that score rows, and rows described."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .batch_model import first_rates, profile_terms, rates_of
from .codes import NOISE, RELEVANT, SHARED
from .loops import columns as column_loops
from .loops import rows as row_loops
from .loops.records import Profile, Workspace, frozen, loadable, padded_rates, rows_of
from .model import Scales, log, weight_of

if TYPE_CHECKING:
    from .batch_model import BatchRates
    from .codes import Floats, Groups, Ints
    from .counts import Counts
    from .model import SmoothedSums
    from .workers import Workers


@dataclass(frozen=True)
class Rule:
    """How a row is scored in the clusters of smoothed sums."""

    name: str

    @property
    def first(self) -> Rule:
        """The rule by which rows that are nowhere yet join seeds."""
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
        """Profile of these sums; ``background`` adds one more for the outliers.

        ``ranks`` breaks ties: the cluster of the lowest rank wins.
        """
        if ranks is None:
            ranks = np.arange(sums.n_clusters, dtype=np.int32)
        given = sums, groups, np.array(ranks, dtype=np.int32), threshold
        return frozen(self._profile(*given, background=background))

    def _profile(
        self,
        sums: SmoothedSums,
        groups: Groups,
        ranks: Ints,
        threshold: float,
        *,
        background: bool,
    ) -> Profile:
        """Profile with log(c_kj / c_k(U)) in C1."""
        slots = np.empty(len(groups), dtype=np.int32)
        n_shared, n_relevant = column_loops.fill_slots(groups, slots)
        n_used = n_shared + n_relevant
        if sums.batches is None:
            given = sums, groups, slots, n_shared, n_relevant
            terms = self._terms(*given, background=background)
        else:
            rates = self._batch_rates(sums, groups)
            terms = profile_terms(rates, background=background)
        log_rates, rate_sums, shared_weights, size_weights = terms
        weights = sums.column_weights
        if weights is not None:
            used = log_rates[:n_relevant, : len(rate_sums)]
            rate_sums = (used * weights[groups == RELEVANT, None]).sum(axis=0)
            n_shared = weight_of(weights, groups == SHARED)
            n_used = weight_of(weights, groups != NOISE)
        return Profile(
            slots=slots,
            log_rates=log_rates,
            offsets=sums.prior * rate_sums if sums.prior else np.zeros(len(rate_sums)),
            shared_weights=shared_weights,
            size_weights=size_weights,
            ranks=ranks,
            background=background,
            prior_shared=sums.prior * n_shared,
            prior_size=sums.prior * n_used,
            threshold=threshold,
        )

    def _terms(
        self,
        sums: SmoothedSums,
        groups: Groups,
        slots: Ints,
        n_shared: int,
        n_relevant: int,
        *,
        background: bool,
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Log rates and their sums, and weights of C0 and of row sizes."""
        scales, width = Scales.of(sums, groups), sums.n_clusters + background
        log_rates, rates = padded_rates(n_relevant, width)
        rate_sums = np.zeros(width)
        out = slots, log_rates, rate_sums
        column_loops.fill_profile(sums.logs, log(scales.cluster_totals), *out, 0)
        if background:
            overall = log(sums.totals)[None], log(np.array([scales.total]))
            column_loops.fill_profile(*overall, *out, sums.n_clusters)
        if not sums.prior:
            cells = np.vstack([sums.clusters, sums.totals])[:width, groups == RELEVANT]
            rates[cells.T == 0] = -np.inf
        # Without C1 every cluster is C0 alone, one without any counts (prior 0) too.
        portions = scales.portions[:width] if n_relevant else np.ones(width)
        shared_weights, size_weights = self._weights(portions, n_shared)
        return log_rates, rate_sums, shared_weights, size_weights[None]

    def _weights(self, portions: Floats, n_shared: int) -> tuple[Floats, Floats]:
        """Weights of a row's sum over C0 and of its size, from q, the share of C0."""
        zeros = np.zeros(len(portions))
        with np.errstate(divide="ignore"):
            return np.log(portions) if n_shared else zeros, zeros

    def _batch_rates(self, sums: SmoothedSums, groups: Groups) -> BatchRates:
        """Rates of clusters and batches, where there are several."""
        return rates_of(sums, groups)


class Exact(Rule):
    """Likelihood of the row with its size re-fitted, in C1 and in C0."""

    @property
    def first(self) -> Rule:
        return SEEDS


class Seeds(Rule):
    """The exact rule for clusters of one row each: β are the batches' margins."""

    def _batch_rates(self, sums: SmoothedSums, groups: Groups) -> BatchRates:
        return first_rates(sums, groups)


class Paper(Rule):
    """The score that the paper prints: what changes in C0 is left out."""

    def _weights(
        self,
        portions: Floats,
        n_shared: int,  # noqa: ARG002
    ) -> tuple[Floats, Floats]:
        return np.zeros(len(portions)), portions - 1.0


class ChiSquared(Rule):
    """Minus r_i times chi-squared, every column in C1 (PoissonC).

    With μ_ij = r_i p_kj and p_k summing to 1, the sum of (X - μ)² / μ over columns is
    that of X² / p_kj over r_i, less r_i; and X² = Y (2 prior + Y) + prior².
    """

    @property
    def first(self) -> Rule:
        return EXACT

    def _profile(
        self,
        sums: SmoothedSums,
        groups: Groups,
        ranks: Ints,
        threshold: float,
        *,
        background: bool,
    ) -> Profile:
        clusters, prior = sums.clusters, sums.prior
        if background:
            clusters = np.vstack([clusters, sums.totals])
        with np.errstate(divide="ignore"):
            weights = clusters.sum(axis=1, keepdims=True) / clusters
        offsets = np.zeros(len(weights))
        if prior:
            offsets = -(prior * prior) * weights.sum(axis=1)
        return linear_profile(-weights, offsets)._replace(
            ranks=ranks,
            background=background,
            prior_size=prior * len(groups),
            threshold=threshold,
            linear=2 * prior,
            square=1.0,
        )


EXACT = Exact("exact")
SEEDS = Seeds("exact")
PAPER = Paper("paper")
CHI_SQUARED = ChiSquared("chi-squared")
NAMED: dict[str, Rule] = {rule.name: rule for rule in (EXACT, PAPER, CHI_SQUARED)}


def linear_profile(weights: Floats, offsets: Floats) -> Profile:
    """Profile that scores a row by its products with weights (K x m), and offsets."""
    n_clusters, n_columns = weights.shape
    log_rates, rates = padded_rates(n_columns, n_clusters)
    rates[:] = weights.T
    zeros = np.zeros(n_clusters)
    return frozen(
        Profile(
            np.arange(n_columns, dtype=np.int32),
            *(log_rates, offsets, zeros, zeros[None]),
            ranks=np.arange(n_clusters, dtype=np.int32),
        )
    )


class RowDescription(NamedTuple):
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

    rows, profile = rows_of(counts), loadable(profile)
    names = np.arange(profile.n_clusters, dtype=np.int32)
    if clusters is not None:
        names = clusters.astype(np.int32)
    out_scores = np.empty((n_rows, 0)) if row_scores is None else row_scores

    def one(block: tuple[int, int]) -> None:
        how = profile, Workspace.of(counts.longest, profile), names
        row_loops.describe_rows(rows, block, *how, *out, out_scores)

    for _ in workers.map(one, counts.blocks):
        pass
    return out


def scores(counts: Counts, profile: Profile, workers: Workers) -> Floats:
    """Score of every row in every cluster."""
    out = np.empty((counts.n_rows, profile.n_clusters))
    describe(counts, profile, workers, row_scores=out)
    return out
