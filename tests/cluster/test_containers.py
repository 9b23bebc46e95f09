"""The same counts in any container give the same model, and stay as they are."""

import numpy as np
import pytest
import scipy.sparse as sp

from containers import (
    CONTAINERS,
    FRAMES,
    NARROW,
    SPARSE,
    names,
    planted,
    snapshot,
    with_spare_room,
)
from threecpo import ThreeCPO

SMALL, _ = planted(n_rows=15)
SMALL[3] = 0
SMALL[:, 8] = 0
LARGE = SMALL.copy()
LARGE[0, 0] = 300
CASES = [
    pytest.param(name, SMALL if name in NARROW else LARGE, id=name)
    for name in CONTAINERS
]


@pytest.fixture(scope="module")
def expected():
    """Models of the plain arrays, by their largest count."""
    return {int(X.max()): fit(X) for X in (SMALL, LARGE)}


def fit(X):
    return ThreeCPO(3, n_init=3, outliers="iterative", random_state=0).fit(X)


@pytest.mark.parametrize(("name", "array"), CASES)
def test_every_container_gives_the_same_model(name, array, expected):
    model, reference = fit(CONTAINERS[name](array)), expected[int(array.max())]
    np.testing.assert_array_equal(model.labels_, reference.labels_)
    np.testing.assert_array_equal(model.column_groups_, reference.column_groups_)
    np.testing.assert_array_equal(model.cluster_rates_, reference.cluster_rates_)
    np.testing.assert_array_equal(model.row_scales_, reference.row_scales_)
    assert model.loss_ == reference.loss_


@pytest.mark.parametrize(("name", "array"), CASES)
@pytest.mark.parametrize("method", ["predict", "row_scores", "score"])
def test_every_container_can_be_predicted(method, name, array, expected):
    model, X = expected[int(array.max())], CONTAINERS[name](array)
    plain = array
    if name in FRAMES:
        plain = FRAMES["pandas"](array)
        model = fit(plain)
    np.testing.assert_array_equal(
        getattr(model, method)(X), getattr(model, method)(plain)
    )


@pytest.mark.parametrize(("name", "array"), CASES)
def test_no_container_is_changed(name, array):
    X = CONTAINERS[name](array)
    before = snapshot(X)
    model = fit(X)
    model.predict(X)
    model.score(X)
    model.row_scores(X)
    assert snapshot(X) == before


def test_entries_beyond_the_last_row_pointer_are_not_read(expected):
    model = fit(with_spare_room(LARGE))
    assert model.loss_ == expected[int(LARGE.max())].loss_


@pytest.mark.parametrize("init", ["k-means", "rf-k-means++", "random-labels"])
@pytest.mark.parametrize("name", ["F order", "csr array", "csc uint8 duplicates"])
def test_no_start_changes_its_input(init, name):
    X = CONTAINERS[name](LARGE)
    before = snapshot(X)
    ThreeCPO(3, init=init, n_init=2, random_state=0).fit(X)
    assert snapshot(X) == before


@pytest.mark.parametrize("name", FRAMES)
def test_frames_keep_their_column_names(name):
    model = fit(FRAMES[name](LARGE))
    assert model.feature_names_in_.tolist() == names(LARGE)
    chosen = np.array(names(LARGE))[model.column_groups_ == 1]
    assert model.get_feature_names_out().tolist() == chosen.tolist()


@pytest.mark.parametrize("name", [n for n in CONTAINERS if n not in FRAMES])
def test_what_has_no_names_gets_none(name):
    assert not hasattr(fit(CONTAINERS[name](SMALL)), "feature_names_in_")


@pytest.mark.parametrize("name", ["pandas sparse", *SPARSE])
def test_sparse_input_is_never_made_dense(name, monkeypatch):
    X = CONTAINERS[name](SMALL)

    def refuse(*args, **kwargs):
        pytest.fail("sparse input was made dense")

    for kind in (sp.csr_array, sp.csc_array, sp.coo_array, sp.bsr_array, sp.dok_array):
        for parent in kind.__mro__[:-1]:
            for method in ("toarray", "todense"):
                if method in vars(parent):
                    monkeypatch.setattr(parent, method, refuse)
    model = fit(X)
    model.predict(X)
    model.score(X)
    model.row_scores(X)
    model.transform(X)


@pytest.mark.parametrize("name", SPARSE)
def test_transform_keeps_sparse_input_sparse(name):
    model = fit(SMALL)
    X = SPARSE[name](SMALL)
    chosen = model.transform(X)
    assert sp.issparse(chosen)
    np.testing.assert_array_equal(chosen.toarray(), SMALL[:, model.column_groups_ == 1])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint16, np.int32])
@pytest.mark.parametrize("make", [np.array, sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_sums_do_not_wrap_round_in_narrow_types(dtype, make):
    largest = np.iinfo(dtype).max
    array = np.full((6, 2), largest, dtype=dtype)
    model = ThreeCPO(1, groups=(1, -1), prior=0.0, n_init=1).fit(make(array))
    np.testing.assert_array_equal(model.shared_rates_, [6.0 * largest] * 2)


def test_float32_counts_are_added_in_double_precision():
    array = np.ones((40, 2), dtype=np.float32)
    array[0] = 2.0**24
    model = ThreeCPO(1, groups=(1, -1), prior=0.0, n_init=1).fit(sp.csr_array(array))
    np.testing.assert_array_equal(model.shared_rates_, [2.0**24 + 39] * 2)
