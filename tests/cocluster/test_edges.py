"""Degenerate tables, bad parameters and large sparse tables."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from cocluster_models import MODELS, blocks, made
from hypothesis import given
from hypothesis import strategies as st

from containers import planted
from threecpo.cocluster._cluster_sums import Table

SMALL, _ = planted(n_rows=12)
SMALL[3] = 0


@pytest.fixture(params=list(MODELS))
def name(request):
    return request.param


def test_zero_rows_and_columns_have_label_0_and_change_nothing_else(name):
    X, _, _ = blocks()
    wide = np.zeros((X.shape[0] + 2, X.shape[1] + 3), dtype=int)
    rows = np.setdiff1d(np.arange(len(wide)), [0, 50])
    columns = np.setdiff1d(np.arange(wide.shape[1]), [0, 7, 62])
    wide[np.ix_(rows, columns)] = X
    model, reference = made(name).fit(wide), made(name).fit(X)
    np.testing.assert_array_equal(model.row_labels_[rows], reference.row_labels_)
    np.testing.assert_array_equal(
        model.column_labels_[columns], reference.column_labels_
    )
    assert model.criterion_ == reference.criterion_
    assert not model.row_labels_[[0, 50]].any()
    assert not model.column_labels_[[0, 7, 62]].any()


def test_a_table_of_zeros_is_one_cluster(name):
    model = made(name).fit(np.zeros((5, 4)))
    assert not model.labels_.any()
    assert not model.column_labels_.any()
    assert (model.n_clusters_, model.n_column_clusters_) == (1, 1)
    assert model.criterion_ == 0.0
    assert len(model.restart_criteria_) == (1 if "Tau" in name else 4)


def test_one_cluster_is_asked_for(name):
    if "Tau" in name:
        pytest.skip("finds its own number")
    model = made(name, n_clusters=1).fit(SMALL)
    assert not model.labels_.any()
    assert np.isfinite(model.criterion_)


@pytest.mark.parametrize("shape", [(3, 1), (3, 2), (4, 3), (1, 1), (30, 4), (4, 30)])
def test_few_rows_or_columns(name, shape):
    X = np.random.default_rng(0).poisson(3.0, size=shape) + 1
    model = made(name, n_clusters=min(3, shape[0])).fit(X)
    assert model.labels_.shape == shape[:1]
    assert model.column_labels_.shape == shape[1:]
    assert model.n_column_clusters_ <= shape[1]
    assert np.isfinite(model.criterion_)


@pytest.mark.parametrize("name", ["CoclustInfo", "ELBM", "ELBM code"])
def test_column_clusters_are_at_most_the_columns_that_are_not_zero(name):
    table = Table.of(sp.csr_array(np.ones((6, 4))))
    assert made(name)._sizes(table) == (3, 3)
    assert made(name, n_clusters=6)._sizes(table) == (6, 4)
    assert made(name, n_column_clusters=2)._sizes(table) == (3, 2)
    assert made(name, n_column_clusters=50)._sizes(table) == (3, 4)


@pytest.mark.parametrize("factor", [1e-3, 1e12])
def test_small_and_huge_values(name, factor):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = made(name).fit(factor * SMALL)
    assert np.isfinite(model.restart_criteria_).all()


@given(
    cells=st.lists(st.integers(0, 3), min_size=24, max_size=24),
    name=st.sampled_from(list(MODELS)),
)
def test_any_small_table_gives_defined_labels(cells, name):
    model = made(name).fit(np.reshape(cells, (6, 4)))
    np.testing.assert_array_equal(
        np.unique(model.labels_), np.arange(model.n_clusters_)
    )
    assert model.n_clusters_ <= (6 if "Tau" in name else 3)
    assert np.isfinite(model.criterion_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0 must be a whole number of 1 or more"),
        ({"n_clusters": 2.5}, "n_clusters=2.5 must be a whole number"),
        ({"n_init": 0}, "n_init=0 must be a whole number"),
        ({"max_iter": 0}, "max_iter=0 must be a whole number"),
        ({"tol": -1.0}, "tol=-1.0 must be a finite number of 0 or more"),
        ({"n_column_clusters": 0}, "n_column_clusters=0 must be a whole number"),
        ({"variant": "paper"}, "variant='paper' is not one of 'model', 'code'"),
        ({"n_start": 0}, "n_start=0 must be a whole number"),
        ({"init": "best"}, "init='best' is not one of 'prototypes', 'random'"),
    ],
)
def test_bad_parameters_are_named(name, parameters, message):
    if not parameters.keys() <= made(name).get_params().keys():
        pytest.skip("no such parameter")
    with pytest.raises(ValueError, match=message):
        made(name, **parameters).fit(SMALL)


@pytest.mark.parametrize("name", [name for name in MODELS if "Tau" not in name])
def test_more_clusters_than_rows_are_refused(name):
    with pytest.raises(ValueError, match="n_samples=4 should be >= n_clusters=5"):
        made(name, n_clusters=5).fit(SMALL[:4])


def test_negative_values_are_refused(name):
    with pytest.raises(ValueError, match="row 1, column 0 holds -2"):
        made(name).fit([[1, 2], [-2, 3], [1, 1]])


def test_max_iter_bounds_the_sweeps_without_a_warning(name):
    X = np.random.default_rng(3).poisson(0.5, size=(60, 40))
    assert made(name, max_iter=1).fit(X).n_iter_ == 1
    assert made(name).fit(X).n_iter_ > 1


def test_large_sparse_tables_are_never_dense(name):
    """40 000 x 40 000 would take 12.8 GB."""
    rng = np.random.default_rng(0)
    size, stored = 40_000, 120_000
    # Four blocks with one common column each, by which TauCC finds them.
    block = np.concatenate([rng.integers(4, size=stored), np.arange(size) % 4])
    rows = np.concatenate([rng.integers(size // 4, size=stored), np.arange(size) // 4])
    columns = np.append(rng.integers(size // 4, size=stored), np.zeros(size, dtype=int))
    values = np.repeat([1.0, 3.0], [stored, size])
    places = (4 * rows + block, 4 * columns + block)
    X = sp.coo_array((values, places), shape=(size, size))
    model = made(name, max_iter=2)
    model.set_params(n_init=1).fit(X)
    assert model.labels_.shape == (size,)
