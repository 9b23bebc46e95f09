"""Columns that mark clusters, as a fitted ThreeCPO lists them."""

import numpy as np
import pandas as pd
import pytest

import threecpo
from containers import names
from fitting import X, fit

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


def test_a_loaded_model_needs_no_counts(model, tmp_path):
    model.save(tmp_path / "model.npz")
    again = threecpo.load(tmp_path / "model.npz")
    pd.testing.assert_frame_equal(again.top_columns(), model.top_columns())


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
