"""Columns of one cluster: the lowest loss of all choices, and what holds them."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from threecpo import ThreeCPO
from threecpo._core.codes import all_relevant
from threecpo._core.matrices import from_dense
from threecpo._core.one_cluster import columns_of_one_cluster
from threecpo._core.sums import sum_by_labels


def table(seed):
    """Independent Poisson columns: no column follows the row sizes but its own."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = rng.integers(8, 60), rng.integers(3, 8)
    return rng.poisson(rng.gamma(1, 2, n_columns), (n_rows, n_columns)).astype(float)


def lowest_loss(Y, settings, fixed=None, **rows):
    """Lowest loss over all choices of columns that are in use."""
    counts = from_dense(Y)
    counts = counts.with_rows(replace(counts.row_info, **rows))
    labels, losses = np.zeros(len(Y), np.int32), []
    for each in product([-1, 0], repeat=Y.shape[1]):
        groups = np.array(each, dtype=np.int8)
        if any(groups[j] != group for j, group in (fixed or {}).items()):
            continue
        sums = sum_by_labels(counts, labels, 1, groups, settings.prior)
        scores = settings.column_step(sums.smoothed(settings.prior), groups).scores
        losses.append(-scores[np.arange(len(groups)), groups + 1].sum())
    return min(losses)


@pytest.mark.parametrize("seed", range(12))
def test_no_choice_of_columns_has_a_lower_loss(seed):
    """Without a prior; rows count several times in some tables, columns are held."""
    Y, options, given, rows = table(seed), {"prior": 0.0}, {}, {}
    if seed % 3 == 1:
        given["sample_weight"] = np.random.default_rng(seed).integers(1, 5, len(Y))
        rows["weights"] = given["sample_weight"].astype(float)
    if seed % 3 == 2:
        options["fixed_groups"] = {0: 0, 2: -1}
    fit = ThreeCPO(1, random_state=0, **options).fit(Y, **given)
    best = lowest_loss(Y, fit.record_.settings, options.get("fixed_groups"), **rows)
    assert fit.loss_ == pytest.approx(best, abs=1e-6)
    assert fit.refine(Y, **given).loss_ <= fit.loss_ + 1e-9


def test_batches_have_sizes_of_their_own():
    """Rows that are larger in one batch do not make columns follow them."""
    Y = table(3)
    batches = (np.arange(len(Y)) % 2).astype(np.int32)
    Y[batches == 1] *= 7
    counts, every = from_dense(Y), all_relevant(Y.shape[1])
    info = replace(counts.row_info, batches=batches, batch_names=("a", "b"))
    assert (columns_of_one_cluster(counts, every, []) == 1).all()
    assert (columns_of_one_cluster(counts.with_rows(info), every, []) == -1).any()
