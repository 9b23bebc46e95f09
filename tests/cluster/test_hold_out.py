"""Fits that leave out the deepest rows, and put them in clusters afterwards."""

import numpy as np
import pytest

from containers import planted
from threecpo import ThreeCPO, distributed, load, select_n_clusters
from threecpo._core.row_checks import without_deepest

X = np.array(planted(n_background=20)[0])
DEEP = np.argsort(-X.sum(axis=1), kind="stable")[: len(X) // 10]
REST = np.setdiff1d(np.arange(len(X)), DEEP)


def model(**options):
    options = {"hold_out_deepest": 0.1, "random_state": 0} | options
    return ThreeCPO(3, **options)


@pytest.fixture(scope="module")
def fitted():
    return model().fit(X)


def test_the_fit_is_that_of_the_other_rows(fitted):
    alone = model(hold_out_deepest=0.0).fit(X[REST])
    assert fitted.loss_ == alone.loss_
    np.testing.assert_array_equal(fitted.cluster_rates_, alone.cluster_rates_)
    np.testing.assert_array_equal(fitted.column_groups_, alone.column_groups_)
    np.testing.assert_array_equal(fitted.labels_[REST], alone.labels_)


def test_the_deepest_rows_are_predicted(fitted):
    alone = model(hold_out_deepest=0.0).fit(X[REST])
    np.testing.assert_array_equal(fitted.labels_[DEEP], alone.predict(X[DEEP]))
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)


def test_weight_0_is_the_same(fitted):
    weights = np.ones(len(X))
    weights[DEEP] = 0
    given = model(hold_out_deepest=0.0).fit(X, sample_weight=weights)
    assert given.loss_ == fitted.loss_
    np.testing.assert_array_equal(given.labels_, fitted.labels_)


@pytest.mark.parametrize("step", [17, 60, len(X)])
def test_blocks_give_the_same(fitted, step):
    readers = [lambda i=i: X[i : i + step] for i in range(0, len(X), step)]
    found = distributed.fit(model(), readers)
    assert found.loss_ == fitted.loss_
    np.testing.assert_array_equal(found.labels_, fitted.labels_)
    np.testing.assert_array_equal(found.column_groups_, fitted.column_groups_)


def test_a_path_and_auto_leave_them_out_once(fitted):
    path = select_n_clusters(X, [2, 3], estimator=model(), random_state=0, n_init=6)
    record = path.estimator(3).record_
    assert record.sums.mass == len(REST)
    auto = model().set_params(n_clusters="auto", max_clusters=3).fit(X)
    assert auto.record_.sums.mass == len(REST)
    assert len(auto.labels_) == len(X)


def test_a_saved_model_remembers(fitted, tmp_path):
    fitted.save(tmp_path / "m.npz")
    again = load(tmp_path / "m.npz")
    assert again.get_params()["hold_out_deepest"] == 0.1
    np.testing.assert_array_equal(again.labels_, fitted.labels_)


def test_which_rows():
    sums = np.array([5.0, 9.0, 9.0, 1.0, 9.0])
    assert without_deepest(sums, None, 0.1) is None
    assert without_deepest(sums, None, 0.2).tolist() == [1, 0, 1, 1, 1]
    assert without_deepest(sums, None, 0.5).tolist() == [1, 0, 0, 1, 1]
    weights = np.array([2.0, 0.0, 3.0, 1.0, 1.0])
    assert without_deepest(sums, weights, 0.3).tolist() == [2, 0, 0, 1, 1]
    assert weights[2] == 3.0


@pytest.mark.parametrize("share", [-0.1, 1, 1.5, "5%", None, True, float("nan")])
def test_what_is_no_share(share):
    with pytest.raises(ValueError, match=r"hold_out_deepest=.*0\.05 is 5 %"):
        model(hold_out_deepest=share).fit(X)
