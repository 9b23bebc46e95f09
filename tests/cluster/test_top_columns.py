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


def expected_counts(model, data):
    """Counts in a row of mean size, by the shared columns."""
    shared = model.column_groups_ == 0
    sizes = data[:, shared].sum(axis=1) / data[:, shared].sum() * len(data)
    return np.stack(
        [
            data[model.labels_ == k].sum(axis=0) / sizes[model.labels_ == k].sum()
            for k in range(model.n_clusters_)
        ]
    )


def equal_totals(model, data):
    """The same where rows with equal totals are compared."""
    used = model.column_groups_ >= 0
    mean = data[:, used].sum() / len(data)
    parts = [data[model.labels_ == k] for k in range(model.n_clusters_)]
    return np.stack([part.sum(axis=0) / part[:, used].sum() * mean for part in parts])


def check(model, data, here):
    """All numbers of the table, and that only columns above average are in it."""
    table, overall = model.top_columns(len(data.T)), data.mean(axis=0)
    for k in range(model.n_clusters_):
        part = of_cluster(table, k)
        j = part["column"].to_numpy()
        above = (model.column_groups_ == 1) & (here[k] > overall * (1 + 1e-9))
        assert sorted(j) == np.flatnonzero(above).tolist()
        assert part["rank"].tolist() == list(range(1, len(j) + 1))
        np.testing.assert_allclose(part["here"], here[k, j])
        np.testing.assert_allclose(part["overall"], overall[j])
        np.testing.assert_allclose(part["ratio"], here[k, j] / overall[j])
        counts = data[model.labels_ == k].sum(axis=0)[j]
        gain = counts * np.log(part["ratio"]) - counts * (1 - 1 / part["ratio"])
        np.testing.assert_allclose(part["evidence"], gain)
        excess = model.top_columns(3, order="excess")
        best = np.argsort(np.where(above, overall - here[k], np.inf), kind="stable")
        assert (
            of_cluster(excess, k)["column"].tolist() == best[: above.sum()][:3].tolist()
        )


def test_the_table_has_counts_in_a_row_of_mean_size(model):
    table = model.top_columns(4)
    assert isinstance(table, pd.DataFrame)
    assert table.columns.tolist() == COLUMNS
    check(model, X, expected_counts(model, X))


def test_planted_columns_mark_their_clusters(model):
    pairs = {frozenset(of_cluster(model.top_columns(2), k)["column"]) for k in range(3)}
    assert pairs == {frozenset({0, 1}), frozenset({2, 3}), frozenset({4, 5})}


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


@pytest.mark.parametrize("n_shared", [0, 1])
def test_rows_of_equal_totals_are_compared_with_at_most_one_shared_column(n_shared):
    data = X[:, : 6 + n_shared]
    groups = (1, 0) if n_shared else (1, -1)
    model = fit(data, groups=groups, column_penalty=None if not n_shared else "mdl")
    assert np.count_nonzero(model.column_groups_ == 0) == n_shared
    check(model, data, equal_totals(model, data))


def test_rows_of_equal_totals_are_compared_where_shared_columns_are_nearly_empty():
    rng = np.random.default_rng(0)
    rare = (rng.random((len(X), 2)) < 0.05).astype(X.dtype)
    data = np.hstack([X[:, :6], rare])
    model = fit(data, groups=(1, 0))
    assert model.column_groups_.tolist() == [1] * 6 + [0] * 2
    check(model, data, equal_totals(model, data))


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


def test_without_pandas_the_table_is_a_dict_of_lists(model, hide_pandas):
    frame = model.top_columns(2)
    hide_pandas()
    table = model.top_columns(2)
    assert isinstance(table, dict)
    assert table == {name: frame[name].tolist() for name in frame.columns}


def test_bad_arguments_are_refused(model):
    for n in (0, -1, 1.5, "many"):
        with pytest.raises(ValueError, match="n="):
            model.top_columns(n)
    with pytest.raises(ValueError, match="order='best' is not one of 'marker'"):
        model.top_columns(order="best")
