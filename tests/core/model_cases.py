"""Counts with labels and groups at the edges, and what the model makes of them."""

import numpy as np

from strategies import Labelled
from threecpo._core import model
from threecpo._core.codes import inner_labels
from threecpo._core.matrices import from_dense
from threecpo._core.rules import EXACT, PAPER, describe
from threecpo._core.sums import sum_by_labels
from threecpo._core.workers import SERIAL
from threecpo._options import resolve_penalty

ALL_GROUPS = (1, 0, -1)


def sums_of(case, prior):
    labels = inner_labels(case.labels, case.n_clusters)
    sums = sum_by_labels(
        from_dense(case.Y), labels, case.n_clusters, case.groups, prior
    )
    return sums.smoothed(prior)


def column_step(case, prior, penalty, allowed=ALL_GROUPS):
    return model.column_step(
        sums_of(case, prior), case.groups, resolve_penalty(penalty), allowed
    )


def row_scales(case, prior):
    factors = model.Scales.of(sums_of(case, prior), case.groups).row_factors
    sizes = (case.Y + prior)[:, case.groups >= 0].sum(axis=1)
    return (sizes if sizes.sum() > 0 else 1.0) * factors[case.labels]


def scores_of_profile(case, prior, *, exact, background):
    """Score of every row in every cluster, the background last."""
    counts = from_dense(case.Y)
    rule = EXACT if exact else PAPER
    profile = rule.profile(sums_of(case, prior), case.groups, background=background)
    out = np.empty((counts.n_rows, case.n_clusters + background))
    describe(counts, profile, SERIAL, row_scores=out)
    return out


def small_case(groups, labels=(0, 0, 1, 1, 2, 1), seed=0):
    Y = np.random.default_rng(seed).integers(0, 9, size=(6, 4)).astype(float)
    labels = np.array(labels)
    return Labelled(Y, labels, np.array(groups, dtype=np.int8), labels.max() + 1)


def case_without_counts_in(*empty):
    """A cluster that has no counts in the columns of these groups."""
    case = small_case([1, 0, 1, -1])
    Y = case.Y.copy()
    Y[np.ix_(case.labels == 1, np.isin(case.groups, empty))] = 0
    return Labelled(Y, case.labels, case.groups, case.n_clusters)


EDGES = {
    "all groups": small_case([1, 0, 1, -1]),
    "C0 empty": small_case([1, -1, 1, -1]),
    "C1 empty": small_case([0, -1, 0, -1]),
    "C0 and C1 empty": small_case([-1, -1, -1, -1]),
    "C- empty": small_case([1, 0, 1, 0]),
    "one cluster": small_case([1, 0, 1, -1], [0] * 6),
    "one cluster, C0 empty": small_case([1, 1, 1, -1], [0] * 6),
    "a cluster without C0": case_without_counts_in(0),
    "a cluster without C1": case_without_counts_in(1),
    "a cluster in C- only": case_without_counts_in(0, 1),
    "outliers": small_case([1, 0, 1, -1], [0, -1, 1, 1, -1, 0]),
    "outliers, C0 empty": small_case([1, -1, 1, -1], [0, -1, 1, 1, -1, 0]),
    "outliers, C1 empty": small_case([0, -1, 0, -1], [0, -1, 1, 1, -1, 0]),
    "outliers, C0 and C1 empty": small_case([-1] * 4, [0, -1, 1, 1, -1, 0]),
}
