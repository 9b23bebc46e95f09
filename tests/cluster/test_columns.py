"""Columns of a fitted ThreeCPO: relevant ones, markers, groups that are held."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from containers import names
from fitting import GROUPS, X, fit
from threecpo import CountTable, ThreeCPO


def test_support_and_transform_select_the_relevant_columns(model):
    chosen = model.column_groups_ == 1
    np.testing.assert_array_equal(model.get_support(), chosen)
    np.testing.assert_array_equal(
        model.get_support(indices=True), np.flatnonzero(chosen)
    )
    np.testing.assert_array_equal(
        model.inverse_transform(model.transform(X)), X * chosen
    )
    found = ThreeCPO(3, n_init=3, random_state=0).fit_transform(X)
    np.testing.assert_array_equal(found, X[:, chosen])
    assert model.get_feature_names_out().tolist() == [f"x{j}" for j in range(6)]


def test_set_output_gives_frames_with_names():
    frame = pd.DataFrame(X, columns=names(X))
    model = ThreeCPO(3, n_init=3, random_state=0).set_output(transform="pandas")
    out = model.fit_transform(frame)
    assert isinstance(out, pd.DataFrame)
    assert out.columns.tolist() == names(X)[:6]
    assert model.get_feature_names_out().tolist() == names(X)[:6]


def test_a_refit_without_names_forgets_them():
    model = fit(pd.DataFrame(X, columns=names(X)))
    assert model.feature_names_in_.tolist() == names(X)
    assert not hasattr(model.fit(X), "feature_names_in_")


def test_an_unfitted_model_says_so():
    model = ThreeCPO()
    for call in (model.predict, model.row_scores, model.score, model.transform):
        with pytest.raises(NotFittedError):
            call(X)
    for call in (model.get_support, model.top_columns):
        with pytest.raises(NotFittedError):
            call()
    for call in (model.name_clusters, model.save):
        with pytest.raises(NotFittedError):
            call("never written")
    with pytest.raises(NotFittedError):
        _ = model.cluster_names_


COLUMNS = [
    *("group", "cluster", "name", "rank", "column"),
    *("here", "overall", "ratio", "evidence"),
]


def of_cluster(table, k):
    return table[(table["group"] == 1) & (table["cluster"] == k)]


@pytest.mark.parametrize("order", ["marker", "excess"])
def test_the_table_has_the_markers_of_each_cluster(model, order):
    table, markers = model.top_columns(4, order=order), model.record_.markers
    assert isinstance(table, pd.DataFrame)
    assert table.columns.tolist() == COLUMNS
    for k in range(3):
        part = of_cluster(table, k)
        j = part["column"].to_numpy()
        assert j.tolist() == markers.best(k, 4, order).tolist()
        assert part["rank"].tolist() == list(range(1, len(j) + 1))
        np.testing.assert_array_equal(part["here"], markers.expected.clusters[k, j])
        np.testing.assert_array_equal(part["overall"], markers.expected.overall[j])
        np.testing.assert_allclose(part["ratio"], part["here"] / part["overall"])
        np.testing.assert_array_equal(part["evidence"], markers.evidence[k, j])


@pytest.mark.parametrize("group", [0, -1])
def test_the_other_groups_list_their_largest_columns(model, group):
    table = model.top_columns()
    part = table[table["group"] == group]
    members = np.flatnonzero(model.column_groups_ == group)
    overall = X.mean(axis=0)
    assert part["column"].tolist() == members[np.argsort(-overall[members])].tolist()
    assert (part["cluster"] == -1).all()
    assert (part["name"] == {0: "shared", -1: "noise"}[group]).all()
    np.testing.assert_allclose(part["here"], overall[part["column"]])
    np.testing.assert_allclose(part["overall"], overall[part["column"]])
    assert (part["ratio"] == 1).all()
    assert (part["evidence"] == 0).all()


@pytest.mark.parametrize(
    "options",
    [
        {"outliers": "iterative", "prior": 0.0},
        {"outliers": "final", "groups": (1,)},
        {"n_clusters": 1},
        {"column_penalty": lambda totals, *_: np.full(len(totals), 1e9)},
    ],
)
@pytest.mark.filterwarnings("ignore:Only 1 of")
def test_markers_of_every_kind_of_fit_are_above_average(options):
    model = fit(**options)
    table = model.top_columns(50)
    marking = table[table["group"] == 1]
    assert (marking["ratio"] > 1).all()
    assert (marking["here"] > marking["overall"]).all()
    assert np.isfinite(table[["here", "overall", "ratio", "evidence"]]).all(axis=None)
    assert marking.empty == (model.n_clusters_ == 1 or 1 not in model.column_groups_)


def test_columns_have_the_names_of_a_frame_or_given_ones():
    model = fit(pd.DataFrame(X, columns=names(X)))
    table = model.top_columns(2)
    found = {frozenset(part["column"]) for _, part in table.groupby("cluster")}
    assert frozenset({"column 0", "column 1"}) in found
    given = model.top_columns(2, feature_names=list("abcdefghij"))
    assert given["column"].tolist() == [
        "abcdefghij"[int(name.split()[1])] for name in table["column"]
    ]
    assert set("abcdef") == set("".join(given["name"].iloc[:6])) & set("abcdefghij")
    with pytest.raises(ValueError, match="feature_names has 2 names"):
        model.top_columns(feature_names=["a", "b"])


def test_without_pandas_the_table_is_a_dict_of_columns(model, hide_pandas):
    frame = model.top_columns(2)
    hide_pandas()
    table = model.top_columns(2)
    assert isinstance(table, dict)
    assert {name: table[name].tolist() for name in table} == {
        name: frame[name].tolist() for name in frame.columns
    }


def test_bad_arguments_are_refused(model):
    for n in (0, -1, 1.5, "many"):
        with pytest.raises(ValueError, match="n="):
            model.top_columns(n)
    with pytest.raises(ValueError, match="order='best' is not one of 'marker'"):
        model.top_columns(order="best")


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
    assert model.record_.settings.fixed_groups == ((0, -1), (6, 1), (8, 0))
    names = [f"c{j}" for j in range(10)]
    by_name = {f"c{j}": group for j, group in FIXED.items()}
    for table in (pd.DataFrame(X, columns=names), CountTable(X, column_names=names)):
        assert fit(table, fixed_groups=by_name).loss_ == model.loss_


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
