"""Labels that are known beforehand: held fast, or only started from."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from fitting import TRUE, X
from paper.poisson import PoissonC, PoissonL
from threecpo import ThreeCPO, select_n_clusters

NAMES = ["moss", "fern", "alga"]


def known_rows(n=4, classes=(0, 1, 2)):
    """The first rows of some classes, numbered in another order than by size."""
    known = np.full(len(X), -1)
    for number, k in enumerate(reversed(classes)):
        known[np.flatnonzero(k == TRUE)[:n]] = number
    return known


KNOWN = known_rows()


def model(n_clusters=3, **options):
    return ThreeCPO(n_clusters, **{"random_state": 0, "n_init": 3} | options)


@pytest.mark.parametrize(
    ("init", "n_clusters", "classes"),
    [
        ("merge", 5, (0, 1, 2)),
        ("merge", 3, (0, 1)),
        ("poisson-k-means++", 5, (0, 1, 2)),
        ("random-centers", 3, (0, 1, 2)),
    ],
)
def test_held_rows_keep_their_numbers_and_the_rest_follows(init, n_clusters, classes):
    known = known_rows(classes=classes)
    found = model(n_clusters, init=init).fit(X, known_labels=known)
    np.testing.assert_array_equal(found.labels_[known >= 0], known[known >= 0])
    assert (np.diff(found.history_["loss"]) <= 1e-6).all()
    free = np.bincount(found.labels_)[len(classes) :]
    assert (np.diff(free) <= 0).all()
    assert found.record_.rows.known.tolist() == known.tolist()
    rest = (known < 0) & (TRUE >= 0)
    if n_clusters == 3:
        assert adjusted_rand_score(TRUE[rest], found.labels_[rest]) > 0.8
    if init == "random-centers":
        expected = np.array([2, 1, 0])[TRUE[rest]]
        assert (found.labels_[rest] == expected).mean() > 0.9


@pytest.mark.parametrize("outliers", ["iterative", "final"])
def test_a_held_row_is_no_outlier(outliers):
    strange = X.copy()
    strange[0] = [200, 0, 0, 0, 0, 200, 0, 0, 0, 0]
    known = KNOWN.copy()
    known[0] = 1
    free = model(outliers=outliers).fit(strange)
    held = model(outliers=outliers).fit(strange, known_labels=known)
    assert held.labels_[0] == held.nearest_labels_[0] == 1
    assert held.outlier_scores_[0] > 0 or free.labels_[0] != -1


def test_margins_say_where_the_counts_contradict_a_label():
    wrong = KNOWN.copy()
    row = np.flatnonzero(TRUE == 0)[10]
    wrong[row] = 0  # of class 2
    found = model().fit(X, known_labels=wrong)
    assert found.labels_[row] == 0
    scores = found.row_scores(X)[row]
    assert found.margins_[row] == pytest.approx(scores[0] - max(scores[1:]))
    assert found.margins_[row] < 0
    assert found.predict(X)[row] == 2


def test_only_started_from_is_an_ordinary_fixed_point():
    wrong = KNOWN.copy()
    row = np.flatnonzero(TRUE == 0)[10]
    wrong[row] = 0
    held = model().fit(X, known_labels=wrong)
    found = model().fit(X, known_labels=wrong, hold_labels=False)
    assert found.labels_[row] == 2
    assert found.loss_ < held.loss_
    again = ThreeCPO(3, init=found.labels_, column_init=found.column_groups_)
    assert again.fit(X).loss_ == pytest.approx(found.loss_, rel=1e-12)
    np.testing.assert_array_equal(found.predict(X), found.labels_)
    assert found.score(X) == pytest.approx(-found.loss_, rel=1e-12)
    numbers = np.array([2, 1, 0])[TRUE[TRUE >= 0]]
    assert (found.labels_[TRUE >= 0] == numbers).mean() > 0.9


def test_names_are_kept_and_numbered_in_their_order():
    named = np.where(KNOWN >= 0, np.array(NAMES, object)[KNOWN], None)
    numbered = np.where(KNOWN >= 0, np.array([2, 1, 0])[KNOWN], -1)
    expected = model(4).fit(X, known_labels=numbered)
    for given in (named, pd.Series(named), pd.Categorical(named)):
        found = model(4).fit(X, known_labels=given)
        assert found.cluster_names_[:3].tolist() == sorted(NAMES)
        assert found.cluster_names_[3] not in NAMES
        np.testing.assert_array_equal(found.labels_, expected.labels_)
    for hold in (True, False):
        found = model(3).fit(X, known_labels=named, hold_labels=hold)
        assert found.cluster_names_.tolist() == sorted(NAMES)


def test_numbers_of_any_kind():
    expected = model().fit(X, known_labels=KNOWN).labels_
    halves = np.where(KNOWN < 0, np.nan, KNOWN)
    missing = pd.array([None if k < 0 else k for k in KNOWN], dtype="Int64")
    for given in (KNOWN.tolist(), halves, missing, KNOWN.astype(np.int8)):
        found = model().fit(X, known_labels=given)
        np.testing.assert_array_equal(found.labels_, expected)
    nothing = model().fit(X, known_labels=np.full(len(X), -1))
    assert nothing.loss_ == model().fit(X).loss_


def put(row, value):
    known = KNOWN.astype(object)
    known[row] = value
    return known


CONTRADICTIONS = [
    (KNOWN[:-1], "one label for each of the"),
    (put(7, -2), "known_labels of row 7 is -2"),
    (put(7, 0.5), "known_labels of row 7 is 0.5"),
    (put(7, True), "known_labels of row 7 is True"),
    (put(7, "moss"), "has names, but that of row 20 is 2"),
    (put(7, 3), "4 clusters are known; for example, row 7 is in cluster 3"),
    (put(7, 5), "is 5, but no row has 3"),
]


def test_contradictions_name_the_row():
    for known, words in CONTRADICTIONS:
        with pytest.raises(ValueError, match=re.escape(words)):
            model().fit(X, known_labels=known)


def test_other_contradictions():
    weights = np.where(KNOWN == 1, 0.0, 1.0)
    with pytest.raises(ValueError, match="known rows of cluster 1 have weight 0"):
        model().fit(X, known_labels=KNOWN, sample_weight=weights)
    with pytest.raises(ValueError, match="are two starts"):
        model(init=TRUE.clip(0)).fit(X, known_labels=KNOWN)
    with pytest.raises(ValueError, match="does not support known_labels"):
        model(init="random-labels").fit(X, known_labels=KNOWN)
    with pytest.raises(ValueError, match="hold_labels='no' must be True or False"):
        model().fit(X, known_labels=KNOWN, hold_labels="no")
    with pytest.raises(ValueError, match="at least 1 unlabelled rows; there are 0"):
        model(4).fit(X, known_labels=np.arange(len(X)) % 3)


def test_rows_of_weight_0_get_their_label():
    weights = np.ones(len(X))
    row = np.flatnonzero(KNOWN == 1)[0]
    weights[row] = 0.0
    found = model().fit(X, known_labels=KNOWN, sample_weight=weights)
    assert found.labels_[row] == 1
    rest = np.arange(len(X)) != row
    without = model().fit(X[rest], known_labels=KNOWN[rest])
    assert found.loss_ == without.loss_
    np.testing.assert_array_equal(found.labels_[rest], without.labels_)


def test_all_rows_known_leaves_the_columns_alone_to_be_found():
    everything = np.maximum(TRUE, 0)
    found = model().fit(X, known_labels=everything)
    np.testing.assert_array_equal(found.labels_, everything)
    assert found.column_groups_[6:].tolist() == [0, 0, -1, -1]


@pytest.mark.parametrize("kind", [PoissonL, PoissonC])
def test_relatives(kind):
    found = kind(4, random_state=0, n_init=2).fit(X, known_labels=KNOWN)
    np.testing.assert_array_equal(found.labels_[KNOWN >= 0], KNOWN[KNOWN >= 0])
    free = kind(3, random_state=0).fit(X, known_labels=KNOWN, hold_labels=False)
    assert free.n_clusters_ == 3


def test_paths_begin_with_the_known_clusters():
    found = model("auto", max_clusters=5).fit(X, known_labels=KNOWN)
    assert found.k_path_.n_clusters.tolist() == [3, 4, 5]
    agreed = model(4, n_init="auto").fit(X, known_labels=KNOWN)
    for each in (found, agreed):
        np.testing.assert_array_equal(each.labels_[KNOWN >= 0], KNOWN[KNOWN >= 0])
    with pytest.raises(ValueError, match="but 3 clusters are known"):
        select_n_clusters(X, [2, 3], known_labels=KNOWN)
    with pytest.raises(ValueError, match="max_clusters=2, but 3 clusters are known"):
        model("auto", max_clusters=2).fit(X, known_labels=KNOWN)
