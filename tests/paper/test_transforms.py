"""The paper's transformations beside their formulas, and k-means behind them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator

from containers import CONTAINERS, names, planted, snapshot
from paper.kmeans import SphericalKMeans
from paper.transforms import (
    BM25Transformer,
    CanonicalCounts,
    PoissonStandardizer,
    RelativeFrequency,
    RevealedComparativeAdvantage,
    RowMinMaxScaler,
    RowStandardizer,
    k_means_pipeline,
)
from strategies import count_matrices

TRANSFORMERS = {
    "canonical": CanonicalCounts(),
    "std": RowStandardizer(),
    "mm": RowMinMaxScaler(),
    "rf": RelativeFrequency(),
    "rca": RevealedComparativeAdvantage(),
    "p-std": PoissonStandardizer(),
    "p-std 0": PoissonStandardizer(alpha=0),
    "p-std 0.8": PoissonStandardizer(alpha=0.8),
    "p-std 1": PoissonStandardizer(alpha=1),
    "bm25": BM25Transformer(),
    "bm25 other": BM25Transformer(k=0.4, b=1.0),
    "bm25 presence": BM25Transformer(k=0, b=0),
}
MAIN = [name for name in TRANSFORMERS if " " not in name]
SPARSE = [name for name in TRANSFORMERS if "std" not in name]
BY_ROW = ["canonical", "std", "mm", "rf"]

X, _ = planted(n_rows=15)
X[3] = 0
X[5] = 7
X[:, 8] = 0
X[9] += 2


def fresh(name):
    return clone(TRANSFORMERS[name])


def dense(values):
    return values.toarray() if sp.issparse(values) else np.asarray(values)


def divided(numerator, denominator):
    """0 where the denominator is 0."""
    with np.errstate(all="ignore"):
        quotient = np.asarray(numerator / denominator)
    return np.where(np.broadcast_to(denominator, quotient.shape) == 0, 0.0, quotient)


def standardised(rows, _):
    out = np.zeros(rows.shape)
    for new, row in zip(out, rows, strict=True):
        if len(set(row)) > 1:
            new[:] = (row - np.mean(row)) / np.std(row)
    return out


def min_max(rows, _):
    low, high = (f(axis=1, keepdims=True) for f in (rows.min, rows.max))
    return divided(rows - low, high - low)


def frequencies(rows, _):
    return divided(rows, rows.sum(axis=1, keepdims=True))


def advantage(rows, seen):
    r, c = rows.sum(axis=1, keepdims=True), seen.sum(axis=0, keepdims=True)
    return divided(rows * seen.sum(), r * c)


def poisson_scores(alpha):
    def scores(rows, seen):
        r, c = rows.sum(axis=1, keepdims=True), seen.sum(axis=0, keepdims=True)
        expected = divided(r * c, seen.sum())
        empty = -1.0 if alpha == 1 else 0.0
        return np.where(expected == 0, empty, divided(rows - expected, expected**alpha))

    return scores


def bm25(k, b):
    def weights(rows, seen):
        holding = (seen > 0).sum(axis=0)
        idf = np.log(1 + (len(seen) - holding + 0.5) / (holding + 0.5))
        average = seen.sum(axis=1).mean()
        lengths = rows.sum(axis=1, keepdims=True)
        relative = lengths / average if average else np.ones_like(lengths)
        return idf * divided(rows * (k + 1), rows + k * (1 - b + b * relative))

    return weights


FORMULAS = {
    "canonical": lambda rows, _: rows,
    "std": standardised,
    "mm": min_max,
    "rf": frequencies,
    "rca": advantage,
    "p-std": poisson_scores(0.5),
    "p-std 0": poisson_scores(0.0),
    "p-std 0.8": poisson_scores(0.8),
    "p-std 1": poisson_scores(1.0),
    "bm25": bm25(1.5, 0.75),
    "bm25 other": bm25(0.4, 1.0),
    "bm25 presence": bm25(0.0, 0.0),
}


@pytest.mark.parametrize("name", TRANSFORMERS)
@given(Y=count_matrices(), fraction=st.sampled_from([1.0, 0.37]))
def test_values_are_those_of_the_formula(name, Y, fraction):
    Y = Y * fraction
    expected = FORMULAS[name](Y, Y)
    # x - μ of huge counts keeps the rounding of x, however small it is.
    rounding = 1e-14 * Y.max() if name.startswith("p-std") else 0.0
    tolerance = rounding + 1e-9 * max(1.0, abs(expected).max())
    for make in (np.array, sp.csr_array):
        actual = dense(fresh(name).fit_transform(make(Y)))
        assert np.isfinite(actual).all()
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=tolerance)


@pytest.mark.parametrize("name", TRANSFORMERS)
@given(data=st.data(), seen=count_matrices(huge=False))
def test_new_rows_are_compared_with_the_rows_of_fit(name, data, seen):
    rows = data.draw(count_matrices(huge=False))
    n_columns = min(seen.shape[1], rows.shape[1])
    seen, rows = seen[:, :n_columns], rows[:, :n_columns]
    expected = FORMULAS[name](rows, seen)
    transformer = fresh(name).fit(seen)
    for make in (np.array, sp.csr_array):
        actual = dense(transformer.transform(make(rows)))
        assert np.isfinite(actual).all()
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


DEGENERATE = {
    "zeros": np.zeros((3, 2)),
    "ones": np.ones((2, 3)),
    "identity": np.eye(3),
    "one column": np.array([[4], [0], [2]]),
    "one constant row": np.array([[0.1, 0.1, 0.1]]),
}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_degenerate_and_extreme_tables_give_finite_values(name):
    for table in DEGENERATE.values():
        for make in (np.array, sp.csr_array):
            actual = dense(fresh(name).fit_transform(make(table)))
            np.testing.assert_allclose(actual, FORMULAS[name](table, table), atol=1e-12)
    table = np.array([[1.0, 2.0, 0.0], [3.0, 3.0, 3.0], [0.0, 0.0, 0.0]])
    for size in (1e-200, 1e-300, 1e200):
        assert np.isfinite(fresh(name).fit_transform(table * size)).all()


@pytest.mark.parametrize("name", ["std", "mm", "rf", "rca", "p-std 1"])
def test_these_do_not_depend_on_the_size_of_the_values(name):
    expected = fresh(name).fit_transform(X)
    for size in (1e-200, 1e200):
        values = fresh(name).fit_transform(X * size)
        np.testing.assert_allclose(values, expected, atol=1e-12)


def test_neighbours_among_large_values_are_no_constant_row():
    row = [[np.nextafter(1.9e15, 0), 1.9e15]]
    values = RowStandardizer().fit_transform(row)
    assert np.isfinite(values).all()
    assert values[0, 0] < values[0, 1]


def test_constant_rows_are_exactly_zero():
    for name in ("std", "mm"):
        rows = np.full((1, 7), 0.1)
        np.testing.assert_array_equal(fresh(name).fit_transform(rows), 0.0)


def test_poisson_scores_of_many_rows_are_right_in_every_block(monkeypatch):
    whole = PoissonStandardizer().fit_transform(X)
    monkeypatch.setattr("paper.transforms.BLOCK_VALUES", 4 * X.shape[1])
    np.testing.assert_array_equal(PoissonStandardizer().fit_transform(X), whole)
    monkeypatch.setattr("paper.transforms.BLOCK_VALUES", 1)
    np.testing.assert_array_equal(PoissonStandardizer().fit_transform(X), whole)


def test_learnt_attributes():
    for name in ("rca", "p-std"):
        totals = fresh(name).fit(X).column_totals_
        np.testing.assert_array_equal(totals, X.sum(axis=0))
    transformer = BM25Transformer().fit(X)
    assert transformer.average_length_ == X.sum(axis=1).mean()
    assert transformer.idf_.shape == (X.shape[1],)
    assert (transformer.idf_ > 0).all()
    assert transformer.idf_[8] == transformer.idf_.max()


def assert_canonical(matrix):
    assert matrix.format == "csr"
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    assert matrix.dtype == np.float64
    assert matrix.has_canonical_format
    assert np.all(matrix.data != 0)


@pytest.mark.parametrize("name", MAIN)
def test_every_kind_of_container_gives_the_same_values(name):
    expected = fresh(name).fit_transform(X)
    for container in ("C order", "pandas", "csr matrix", "csr 64-bit"):
        given = CONTAINERS[container](X)
        before = snapshot(given)
        out = fresh(name).fit_transform(given)
        assert snapshot(given) == before
        if sp.issparse(given) and name in SPARSE:
            assert_canonical(out)
            assert isinstance(out, sp.csr_matrix) == isinstance(given, sp.spmatrix)
            assert np.all(X[out.toarray() != 0] > 0)
            assert not np.shares_memory(out.indices, given.indices)
        else:
            assert isinstance(out, np.ndarray)
        np.testing.assert_array_equal(dense(out), expected)
    transformer = fresh(name).fit(CONTAINERS["pandas"](X))
    assert list(transformer.get_feature_names_out()) == names(X)


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


@pytest.mark.parametrize("name", [name for name in SPARSE if name in MAIN])
def test_a_huge_sparse_table_is_never_dense(name):
    n = 1_000_000
    places = (np.arange(0, n, 1000), np.arange(0, n, 1000)[::-1])
    given = sp.coo_array((np.ones(1000), places), shape=(n, n))
    out = fresh(name).fit_transform(given)
    assert out.shape == (n, n)
    assert out.nnz == 1000


def test_bad_input_is_named_in_fit_and_transform():
    bad = X.astype(np.float64)
    bad[1, 2] = -2
    for name in MAIN:
        transformer = fresh(name).fit(X)
        for method in (fresh(name).fit, transformer.transform):
            with pytest.raises(ValueError, match="row 1, column 2 holds -2"):
                method(bad)
        with pytest.raises(ValueError, match="features"):
            transformer.transform(X[:, :-1])


def test_only_those_that_learn_must_be_fitted():
    for name in MAIN:
        assert fresh(name).__sklearn_tags__().requires_fit == (name not in BY_ROW)
        if name not in BY_ROW:
            with pytest.raises(NotFittedError):
                fresh(name).transform(X)
            continue
        values = fresh(name).transform(X)
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


@pytest.mark.parametrize("name", MAIN)
def test_scikit_learns_checks(name):
    check_estimator(fresh(name), on_skip=None)


FIRST = {
    None: CanonicalCounts,
    "none": CanonicalCounts,
    "std": RowStandardizer,
    "mm": RowMinMaxScaler,
    "rf": RelativeFrequency,
    "rca": RevealedComparativeAdvantage,
    "p-std": PoissonStandardizer,
    "tf-idf": CanonicalCounts,
    "bm25": BM25Transformer,
}
KINDS = [(name, False) for name in FIRST]
KINDS += [(name, True) for name in FIRST if name not in ("std", "p-std")]


@pytest.mark.parametrize("transformation", FIRST)
def test_a_pipeline_is_the_transformation_and_k_means(transformation):
    pipeline = k_means_pipeline(transformation, 5, n_init=3, random_state=7)
    assert type(pipeline[0]) is FIRST[transformation]
    middle = [TfidfTransformer] if transformation == "tf-idf" else []
    assert [type(step) for step in pipeline[1:-1]] == middle
    assert type(pipeline[-1]) is KMeans
    parameters = pipeline.named_steps["k_means"].get_params()
    assert parameters["n_clusters"] == 5
    assert parameters["n_init"] == 3
    assert parameters["random_state"] == 7


@pytest.mark.parametrize(("transformation", "spherical"), KINDS)
def test_a_pipeline_finds_planted_clusters(transformation, spherical):
    counts, labels = planted(n_rows=30, seed=2)
    sizes = counts[:, :6].sum(axis=1, keepdims=True)
    counts = np.rint(np.maximum(counts[:, :6] * 200 / sizes - 20, 0)).astype(int)
    counts = np.vstack([counts, np.zeros((1, 6), dtype=int)])
    counts = np.hstack([counts, np.zeros((len(counts), 1), dtype=int)])
    given = sp.csr_array(counts)
    pipeline = k_means_pipeline(
        transformation, 3, spherical=spherical, n_init=3, random_state=0
    )
    found = pipeline.fit_predict(given)
    assert adjusted_rand_score(found[:-1], labels) > 0.9
    np.testing.assert_array_equal(found, pipeline.labels_)
    np.testing.assert_array_equal(found, pipeline[-1].labels_)
    np.testing.assert_array_equal(pipeline.predict(given), found)
    np.testing.assert_array_equal(clone(pipeline).fit(given).labels_, found)
    assert pipeline.n_iter_ >= 1
    assert pipeline.inertia_ == pipeline[-1].inertia_
    assert type(pipeline[-1]) is (SphericalKMeans if spherical else KMeans)


@pytest.mark.parametrize("transformation", ["std", "p-std"])
def test_spherical_k_means_takes_no_values_below_zero(transformation):
    with pytest.raises(ValueError, match=f"{transformation}' makes values below 0"):
        k_means_pipeline(transformation, spherical=True)


def test_a_pipeline_has_no_labels_before_fit():
    pipeline = k_means_pipeline("rca")
    for name in ("labels_", "n_iter_", "inertia_"):
        assert not hasattr(pipeline, name)


def test_a_generator_seeds_a_pipeline():
    seeds = [
        k_means_pipeline("rf", random_state=np.random.default_rng(s))[-1].random_state
        for s in (1, 1, 2)
    ]
    assert seeds[0] == seeds[1] != seeds[2]


@pytest.mark.parametrize("transformation", ["RCA", ["rf"]])
def test_an_unknown_transformation_is_an_error(transformation):
    with pytest.raises(ValueError, match=r"transformation=.* is not one of None, "):
        k_means_pipeline(transformation)
