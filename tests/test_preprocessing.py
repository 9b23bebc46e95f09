"""Square roots and logarithms of counts, and clusters of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from containers import CONTAINERS, names, planted, snapshot
from threecpo import CountTable, ThreeCPO, select_n_clusters
from threecpo.datasets import make_synth
from threecpo.preprocessing import SublinearCounts


@pytest.mark.parametrize("function", ["log1p", "sqrt"])
@pytest.mark.parametrize("table", [False, True])
def test_values_keep_their_places(function, table):
    X = sp.csr_array(np.array([[0, 3, 8], [1, 0, 0]]))
    out = SublinearCounts(function, table=table).fit_transform(X)
    assert isinstance(out, CountTable) is table
    out = out.X if table else out
    assert sp.issparse(out)
    assert out.nnz == X.nnz
    assert np.array_equal(out.toarray(), getattr(np, function)(X.toarray()))


@pytest.mark.parametrize("function", ["log1p", "sqrt"])
def test_every_kind_of_container_gives_the_same_values(function):
    X, _ = planted(n_rows=5)
    expected = getattr(np, function)(X)
    for container in ("C order", "pandas", "csr matrix", "csr 64-bit"):
        given = CONTAINERS[container](X)
        before = snapshot(given)
        out = SublinearCounts(function).fit_transform(given)
        assert snapshot(given) == before
        assert sp.issparse(out) == sp.issparse(given)
        assert isinstance(out, sp.csr_matrix) == isinstance(given, sp.spmatrix)
        out = out.toarray() if sp.issparse(out) else out
        np.testing.assert_array_equal(out, expected)
    transformer = SublinearCounts(function).fit(CONTAINERS["pandas"](X))
    assert list(transformer.get_feature_names_out()) == names(X)


def test_scikit_learns_checks():
    check_estimator(SublinearCounts(), on_skip=None)


def test_bad_values_are_named():
    with pytest.raises(ValueError, match="row 0, column 1 holds -2"):
        SublinearCounts().transform([[1, -2]])


def test_a_table_keeps_its_names():
    table = CountTable([[4, 9]], column_names=["ants", "bees"], row_names=["plot"])
    out = SublinearCounts("sqrt", table=True).fit_transform(table)
    assert out.X.toarray().tolist() == [[2, 3]]
    assert out.column_names.tolist() == ["ants", "bees"]
    assert out.row_names.tolist() == ["plot"]


def test_an_unknown_function_is_refused():
    with pytest.raises(ValueError, match="function='exp' is not one of"):
        SublinearCounts("exp").fit([[1, 2]])


@pytest.mark.parametrize("function", ["log1p", "sqrt"])
def test_the_pipeline_does_not_warn_of_fractions(function):
    X, _ = make_synth(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = SublinearCounts(function, table=True)
        pipeline = make_pipeline(first, ThreeCPO(3, random_state=0)).fit(X)
        assert np.array_equal(pipeline.predict(X), pipeline[-1].labels_)
    values = getattr(np, function)(X)
    with pytest.warns(UserWarning, match="not integers"):
        plain = ThreeCPO(3, random_state=0).fit(values)
    assert plain.loss_ == pipeline[-1].loss_


def test_auto_finds_clusters_of_logarithms():
    """With a dispersion of at least 1 there would be one cluster."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=300)
    rates = 60 * np.exp(0.7 * rng.normal(size=(3, 20)))
    X = rng.poisson(rates[labels])
    table = SublinearCounts("log1p", table=True).transform(X)
    path = select_n_clusters(table, range(1, 6), random_state=0)
    assert path.best_k == 3
