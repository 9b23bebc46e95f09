"""Columns whose groups are known: held from the start to the end."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from containers import planted
from fitting import GROUPS, X, fit
from threecpo import CountTable, ThreeCPO, distributed, load, select_n_clusters

FIXED = {0: -1, 6: 1, 8: 0}


def test_groups_loss_and_scores_follow():
    model = fit(fixed_groups=FIXED)
    assert model.column_groups_[[0, 6, 8]].tolist() == [-1, 1, 0]
    for column, group in FIXED.items():
        finite = np.isfinite(model.column_scores_[column])
        assert np.flatnonzero(finite).tolist() == [group + 1]
    own = model.column_scores_[np.arange(10), model.column_groups_ + 1]
    assert model.loss_ == -own.sum()
    assert model.loss_ > fit().loss_


def test_groups_that_a_fit_finds_anyhow_change_nothing():
    free = fit(init="poisson-k-means++")
    held = fit(init="poisson-k-means++", fixed_groups={6: 0, 7: 0})
    assert free.column_groups_.tolist() == GROUPS
    np.testing.assert_array_equal(held.labels_, free.labels_)
    assert held.loss_ == pytest.approx(free.loss_, rel=1e-12)


def test_a_column_held_as_noise_is_no_part_of_the_start():
    """A column of totals would drown the others in every distance."""
    totals = np.column_stack([X, 50 * X.sum(axis=1)])
    model = ThreeCPO(3, fixed_groups={10: -1}, random_state=0, n_init=3).fit(totals)
    np.testing.assert_array_equal(model.labels_, fit().labels_)
    assert model.column_groups_[:10].tolist() == GROUPS


@pytest.mark.parametrize(
    ("init", "column_init", "n_clusters"),
    [
        ("merge", "random", 3),
        ("random-labels", "information", 3),
        ("merge", "random", 1),
    ],
)
def test_every_start_holds_them(init, column_init, n_clusters):
    options = {"init": init, "column_init": column_init, "max_iter": 1}
    with warnings.catch_warnings(action="ignore"):  # of no fixed point
        model = fit(n_clusters=n_clusters, fixed_groups=FIXED, **options)
    assert model.column_groups_[[0, 6, 8]].tolist() == [-1, 1, 0]


def test_by_name_in_frames_and_tables():
    names = [f"c{j}" for j in range(10)]
    by_number = fit(fixed_groups=FIXED)
    fixed = {f"c{j}": group for j, group in FIXED.items()}
    for table in (pd.DataFrame(X, columns=names), CountTable(X, column_names=names)):
        model = fit(table, fixed_groups=fixed)
        assert model.loss_ == by_number.loss_


REFUSED = [
    ({"reads": -1}, "'reads' is not a column of X; its columns are 'c0', 'c1'"),
    ({10: 1}, "10 is not a column; they are numbered from 0 to 9"),
    ({-1: 1}, "-1 is not a column"),
    ({1.5: 1}, "1.5 is neither the name nor the number of a column"),
    ({"c1": 1, 1: 0}, "column 1 is in 1 and, as 1, in 0"),
    (dict.fromkeys(range(10), -1), "no column is left that may be relevant"),
    ({"c1": 2}, "'c1' is in 2, not in 1, 0 or -1"),
    ([1, 0], "must be a dict from columns"),
]


def test_bad_fixed_groups_are_refused():
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(10)])
    for fixed, words in REFUSED:
        with pytest.raises(ValueError, match=re.escape(words)):
            fit(frame, fixed_groups=fixed)


def test_contradictions():
    with pytest.raises(ValueError, match=r"groups=\(1, -1\) does not allow"):
        fit(fixed_groups={3: 0}, groups=(1, -1))
    with pytest.raises(ValueError, match="puts column 0 in 1, fixed_groups in -1"):
        fit(fixed_groups={0: -1}, column_init=GROUPS)
    with pytest.raises(ValueError, match="is a name, but the columns of X have none"):
        fit(fixed_groups={"a": -1})
    twice = pd.DataFrame(X, columns=["a", "a", *"bcdefghi"])
    with pytest.raises(ValueError, match="the name of 2 columns"):
        fit(CountTable(X, column_names=list(twice)), fixed_groups={"a": -1})


def test_blocks_give_the_same():
    model = fit(fixed_groups=FIXED)
    readers = [lambda i=i: X[i : i + 50] for i in range(0, len(X), 50)]
    for init in ("merge", model.labels_):
        other = ThreeCPO(3, fixed_groups=FIXED, init=init, random_state=0, n_init=3)
        expected = ThreeCPO(**other.get_params()).fit(X)
        found = distributed.fit(other, readers)
        np.testing.assert_array_equal(found.column_groups_, expected.column_groups_)
        np.testing.assert_array_equal(found.labels_, expected.labels_)
        assert found.loss_ == pytest.approx(expected.loss_, rel=1e-12)


def test_a_sample_of_the_rows_holds_them():
    many, _ = planted(n_rows=600, n_background=20)
    asked = ThreeCPO(3, fixed_groups=FIXED, random_state=0, n_init=2)
    found = distributed.fit(
        asked, [lambda: many[:200], lambda: many[200:]], sample_rows=100
    )
    assert found.column_groups_[[0, 6, 8]].tolist() == [-1, 1, 0]


def test_saved_loaded_cut_and_refitted(tmp_path):
    model = fit(fixed_groups=FIXED)
    model.save(tmp_path / "model.npz")
    loaded = load(tmp_path / "model.npz")
    assert loaded.record_.settings.fixed_groups == ((0, -1), (6, 1), (8, 0))
    assert loaded.fit(X).loss_ == model.loss_
    for smaller in (loaded.cut(2), loaded.cut(2, X=X), loaded.split(X, 0)):
        assert smaller.column_groups_[[0, 6, 8]].tolist() == [-1, 1, 0]


def test_every_number_of_clusters():
    asked = ThreeCPO(fixed_groups=FIXED)
    path = select_n_clusters(X, range(1, 5), estimator=asked, n_init=2, random_state=0)
    for k in range(1, 5):
        groups = path.estimator(k).column_groups_
        assert groups[[0, 6, 8]].tolist() == [-1, 1, 0]
