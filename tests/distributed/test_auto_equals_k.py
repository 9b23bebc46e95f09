"""What "auto" returns is the fit of that number of clusters, to the bit."""

import numpy as np
import pytest
from block_fits import counts_of, evenly
from sklearn.base import clone

from threecpo import ThreeCPO, distributed
from threecpo._fit.record_files import record_to_arrays

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
N_ROWS = 160
X, TRUE = counts_of(n_rows=N_ROWS)
EVERY_THIRD = np.arange(N_ROWS) % 3
KNOWN = np.where(EVERY_THIRD > 0, -1, TRUE)
# Options of the model, and what is given of its rows.
KINDS = {
    "plain": ({}, {}),
    "auto-runs": ({"n_init": "auto"}, {}),
    "few-runs": ({"n_init": 2}, {}),
    "restarts": ({"init": "poisson-k-means++"}, {}),
    "random-labels": ({"init": "random-labels"}, {}),
    "mdl": ({"criterion": "mdl"}, {}),
    "bic": ({"column_penalty": "bic"}, {}),
    "groups": ({"groups": (1, -1), "fixed_groups": {0: -1}}, {}),
    "paper": ({"assignment": "paper"}, {}),
    "outliers": ({"outliers": "iterative"}, {}),
    "final-outliers": ({"outliers": "final"}, {}),
    "robust": ({"robust": {"columns": 1.2, "rows": 1.5}}, {}),
    "seeds": ({"seed_columns": {"a": [0], "b": [3]}}, {}),
    "weights": ({}, {"sample_weight": EVERY_THIRD}),
    "batches": ({"robust": {"columns": 1.2}}, {"batch": EVERY_THIRD}),
    "known": ({}, {"known_labels": KNOWN}),
    "released": ({}, {"known_labels": KNOWN, "hold_labels": False}),
}


def in_memory(model, rows):
    return model.fit(X, **rows)


def over_all_blocks(model, rows):
    return distributed.fit(model, evenly(X, 3), **rows)


def beyond_the_sample(model, rows):
    options = {"sample_rows": 80, "rare_clusters": True}
    return distributed.fit(model, evenly(X, 3), **options, **rows)


def on_dask(model, rows):
    array = pytest.importorskip("dask.array").from_array(X, chunks=(60, -1))
    return distributed.fit(model, array, sample_rows=80, **rows)


def content(model):
    """All that a record holds, but for the number of clusters that was asked for."""
    arrays, facts = record_to_arrays(model.record_)
    asked = facts["parameters"].pop("n_clusters")
    return {name: array.tobytes() for name, array in arrays.items()}, facts, asked


PLACES = (in_memory, over_all_blocks, beyond_the_sample)
CASES = [(fit, kind) for fit in PLACES for kind in KINDS]


@pytest.mark.parametrize(
    ("fit", "kind"), [*CASES, (on_dask, "plain"), (on_dask, "released")]
)
def test_auto_is_the_fit_of_its_number(fit, kind):
    options, rows = KINDS[kind]
    auto = ThreeCPO(max_clusters=7, **{"n_init": 4, "random_state": 3} | options)
    found = fit(auto, rows)
    path = found.k_path_
    best = path._best()
    n_clusters = best.n_clusters
    expected = fit(clone(auto).set_params(n_clusters=n_clusters), rows)
    *same, asked = content(found)
    assert asked == "auto"
    assert same == list(content(expected)[:2])
    np.testing.assert_array_equal(best.labels, expected.labels_)
    of_path = path.estimator(n_clusters)
    assert of_path.restart_losses_.tolist() == expected.restart_losses_.tolist()
    assert path.to_table()["loss"].min() <= of_path.loss_ == expected.loss_
