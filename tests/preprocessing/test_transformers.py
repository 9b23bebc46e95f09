"""Transformers of scikit-learn's kind: any container, sparse output, clear errors."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from each_transformer import (
    BY_ROW,
    LARGE,
    LEARNING,
    MAIN,
    SPARSE,
    TRANSFORMERS,
    X,
    dense,
    fresh,
)
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from containers import CONTAINERS, DENSE, FRAMES, NARROW, names, snapshot
from threecpo import preprocessing
from threecpo.preprocessing import (
    BM25Transformer,
    PoissonStandardizer,
    RevealedComparativeAdvantage,
    RowMinMaxScaler,
)


def assert_canonical(matrix):
    assert matrix.format == "csr"
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    assert matrix.dtype == np.float64
    assert matrix.has_canonical_format
    assert np.all(matrix.data != 0)


@pytest.mark.parametrize("name", MAIN)
@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_gives_the_same_values(name, container):
    array = X if container in NARROW else LARGE
    expected = fresh(name).fit_transform(array)
    given = CONTAINERS[container](array)
    before = snapshot(given)
    out = fresh(name).fit_transform(given)
    assert snapshot(given) == before
    sparse = container == "pandas sparse" or container not in DENSE | FRAMES
    if sparse and name in SPARSE:
        assert_canonical(out)
        assert isinstance(out, sp.csr_matrix) == isinstance(given, sp.spmatrix)
    else:
        assert isinstance(out, np.ndarray)
        assert out.dtype == np.float64
    np.testing.assert_array_equal(dense(out), expected)


@pytest.mark.parametrize("name", SPARSE)
def test_zeros_stay_zeros(name):
    out = fresh(name).fit_transform(sp.csr_array(X))
    assert np.all(X[out.toarray() != 0] > 0)
    assert out.nnz <= np.count_nonzero(X)


def test_a_row_without_zeros_loses_its_minimum():
    out = RowMinMaxScaler().fit_transform(sp.csr_array([[3, 5, 3], [0, 2, 1]]))
    assert_canonical(out)
    np.testing.assert_array_equal(out.toarray(), [[0, 1, 0], [0, 1, 0.5]])
    assert out.nnz == 3


def test_a_column_that_fit_has_not_seen_is_no_advantage():
    seen = X.copy()
    seen[:, 8] = 0
    out = RevealedComparativeAdvantage().fit(seen).transform(sp.csr_array(X + 1))
    assert_canonical(out)
    np.testing.assert_array_equal(out.toarray()[:, 8], 0.0)


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_the_output_has_memory_of_its_own(name, make):
    given = make(X.astype(np.float64))
    out = fresh(name).fit_transform(given)
    pairs = [(out, given)] if make is np.array else []
    if make is sp.csr_array:
        parts = ("data", "indices", "indptr")
        pairs = [(getattr(out, part), getattr(given, part)) for part in parts]
    assert not any(np.shares_memory(*pair) for pair in pairs)


@pytest.mark.parametrize("name", SPARSE)
def test_a_huge_sparse_table_is_never_dense(name):
    n = 1_000_000
    places = (np.arange(0, n, 1000), np.arange(0, n, 1000)[::-1])
    given = sp.coo_array((np.ones(1000), places), shape=(n, n))
    out = fresh(name).fit_transform(given)
    assert out.shape == (n, n)
    assert out.nnz == 1000


@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.parametrize("make", [np.array, sp.csr_array])
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (-2, "Negative values in data passed to {}: row 1, column 2 holds -2"),
        (np.nan, "Input X contains NaN: row 1, column 2 holds NaN"),
        (np.inf, "Input X contains infinity: row 1, column 2"),
    ],
)
def test_bad_values_are_named_in_fit_and_transform(name, make, value, words):
    bad = X.astype(np.float64)
    bad[1, 2] = value
    transformer = fresh(name).fit(X)
    words = words.format(type(transformer).__name__)
    for method in (fresh(name).fit, transformer.transform):
        with pytest.raises(ValueError, match=words):
            method(make(bad))


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_other_columns_are_an_error(name):
    transformer = fresh(name).fit(X)
    with pytest.raises(ValueError, match="features"):
        transformer.transform(X[:, :-1])


@pytest.mark.parametrize("name", LEARNING)
def test_those_that_learn_must_be_fitted(name):
    with pytest.raises(NotFittedError):
        fresh(name).transform(X)


@pytest.mark.parametrize("name", BY_ROW)
def test_those_by_row_need_no_fit_and_see_one_row_at_a_time(name):
    values = fresh(name).transform(X)
    np.testing.assert_array_equal(values, fresh(name).fit_transform(X))
    one_by_one = np.vstack([fresh(name).transform(row[None]) for row in X])
    np.testing.assert_allclose(one_by_one, values, atol=1e-12)


@pytest.mark.parametrize(
    "transformer",
    [
        PoissonStandardizer(alpha=-0.1),
        PoissonStandardizer(alpha=1.1),
        PoissonStandardizer(alpha=float("nan")),
        PoissonStandardizer(alpha="0.5"),
        BM25Transformer(k=-1),
        BM25Transformer(k=float("inf")),
        BM25Transformer(b=1.5),
        BM25Transformer(b=None),
    ],
    ids=str,
)
def test_parameters_are_checked_by_fit_and_transform(transformer):
    with pytest.raises(ValueError, match=r"(alpha|k|b)=.* must be"):
        transformer.fit(X)
    later = type(transformer)().fit(X).set_params(**transformer.get_params())
    with pytest.raises(ValueError, match=r"(alpha|k|b)=.* must be"):
        later.transform(X)


@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_come_out_where_asked(name, library):
    kind = {"pandas": pd.DataFrame, "polars": pl.DataFrame}[library]
    given = FRAMES["pandas"](X).set_index(pd.Index(range(100, 100 + len(X))))
    out = fresh(name).set_output(transform=library).fit_transform(given)
    assert isinstance(out, kind)
    assert list(out.columns) == names(X)
    np.testing.assert_array_equal(out.to_numpy(), fresh(name).fit_transform(X))
    if library == "pandas":
        assert out.index.equals(given.index)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_columns_keep_their_names(name):
    transformer = fresh(name).fit(FRAMES["polars"](X))
    assert list(transformer.get_feature_names_out()) == names(X)
    transformer = fresh(name).fit(X)
    assert transformer.get_feature_names_out()[0] == "x0"


@parametrize_with_checks(list(TRANSFORMERS.values()))
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_tags(name):
    tags = TRANSFORMERS[name].__sklearn_tags__()
    assert tags.input_tags.sparse
    assert tags.input_tags.positive_only
    assert tags.requires_fit == (name in LEARNING)


def test_all_that_is_public_has_a_formula_or_a_pipeline():
    kinds = {type(transformer).__name__ for transformer in TRANSFORMERS.values()}
    others = {"ClusteringPipeline", "k_means_pipeline", "sublinear_pipeline"}
    assert set(preprocessing.__all__) == kinds | others
