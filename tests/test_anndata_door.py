"""Clusters of an AnnData: what is written, and who can read it."""

import warnings
from itertools import cycle

import numpy as np
import pandas as pd
import pytest

from anndata_cells import (
    CONTAINERS,
    TRUE,
    Price,
    X,
    anndata,
    check,
    expected,
    made,
    values,
)
from containers import planted
from threecpo import ThreeCPO
from threecpo.anndata import cluster


@pytest.mark.parametrize(
    ("container", "outliers"),
    list(zip(CONTAINERS, cycle([None, "iterative", "final"]), strict=False)),
)
def test_the_results_are_those_of_the_estimator(container, outliers):
    adata = made(container=container)
    assert cluster(adata, 3, outliers=outliers) is None
    check(adata, expected(outliers=outliers))
    assert adata.uns["threecpo"]["layer"] == "X"
    np.testing.assert_array_equal(values(adata.X), X)
    assert adata.X.dtype == CONTAINERS[container](X).dtype


def test_clusters_are_categories_in_the_order_of_their_numbers():
    array, _ = planted(n_clusters=12)
    adata = made(array)
    cluster(adata, 12)
    kind = adata.obs["threecpo"].dtype
    assert list(kind.categories) == [str(k) for k in range(12)]
    assert adata.obs["threecpo"].value_counts().index[0] == "0"
    assert not kind.ordered


def test_outliers_are_a_category_of_their_own_and_have_a_nearest_cluster():
    adata = made()
    cluster(adata, 3, outliers="iterative")
    assert list(adata.obs["threecpo"].cat.categories) == ["0", "1", "2", "outlier"]
    nearest = adata.obs["threecpo_nearest"]
    assert list(nearest.cat.categories) == ["0", "1", "2"]
    inside = adata.obs["threecpo"] != "outlier"
    assert (adata.obs["threecpo"][inside].astype(str) == nearest[inside]).all()
    above = adata.obs["threecpo_outlier_score"] > 0
    np.testing.assert_array_equal(above, ~inside)


def test_groups_have_all_three_categories_and_columns_keep_their_names():
    adata = made()
    cluster(adata, 3)
    group = adata.var["threecpo_group"]
    assert list(group.cat.categories) == ["relevant", "shared", "noise"]
    assert group["gene 0"] == "relevant"
    assert group["gene 9"] == "noise"
    listed = adata.uns["threecpo"]["top_columns"]
    assert set(listed["column"]) <= set(adata.var_names)
    model = expected(array=pd.DataFrame(X, columns=adata.var_names))
    pd.testing.assert_frame_equal(listed, model.top_columns())


@pytest.mark.parametrize(
    ("adata", "options", "kind", "part"),
    [
        (made(), {"layer": "raw"}, ValueError, "no layer 'raw'.*keep the counts in"),
        (made(), {"use_raw": True}, ValueError, "use_raw=True, but adata.raw is not"),
        (made(), {"use_raw": True, "layer": "X"}, ValueError, "two matrices"),
        (made(), {"k": 3}, TypeError, "no parameter 'k'. Use n_clusters= instead"),
        (made(), {"outlier": 3}, TypeError, "'outlier'. Use outliers= instead"),
        (made(), {"batch_key": "lab"}, ValueError, "batch_key='lab' is not a column"),
        (
            made(layers={"spliced": X}),
            {"layer": "raw"},
            ValueError,
            "pass layer='spliced', or",
        ),
        (anndata.AnnData(obs=made().obs), {}, ValueError, "X of this AnnData is empty"),
        (X, {}, TypeError, "takes an AnnData, not a ndarray"),
        (made(), {"key_added": ""}, ValueError, "key_added='' must be a name"),
        (made(), {"no_such": 1}, TypeError, "no_such"),
        (made(), {"outliers": "some"}, ValueError, "outliers='some'"),
        (made(-X), {}, ValueError, "Negative values.*row 0, column"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(adata, options, kind, part):
    with pytest.raises(kind, match=part):
        cluster(adata, 3, **options)
    if isinstance(adata, anndata.AnnData):
        assert not list(adata.obs)
        assert not adata.uns
        assert not adata.varm


def test_results_under_other_names_stand_side_by_side():
    adata = made()
    cluster(adata, 3)
    cluster(adata, 2, key_added="two", n_init=2)
    check(adata, expected())
    check(adata, expected(2, n_init=2), "two")


def test_a_second_call_replaces_the_first():
    adata = made()
    cluster(adata, 5)
    cluster(adata, 3)
    check(adata, expected())
    assert list(adata.obs["threecpo"].cat.categories) == ["0", "1", "2"]


def test_a_view_becomes_an_object_of_its_own():
    adata = made()
    view = adata[20:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anndata.ImplicitModificationWarning)
        cluster(view, 3)
    check(view, expected(array=X[20:]))
    assert not view.is_view
    assert not list(adata.obs)


def test_a_copy_of_a_view_leaves_the_view_alone():
    view = made()[20:, [0, 2, 4, 6, 7, 8]]
    copied = cluster(view, 3, copy=True)
    check(copied, expected(array=X[20:, [0, 2, 4, 6, 7, 8]]))
    assert view.is_view
    assert not list(view.obs)


def test_the_number_of_clusters_is_chosen():
    adata = made()
    cluster(adata, max_clusters=5)
    model = expected("auto", max_clusters=5)
    check(adata, model)
    path = adata.uns["threecpo"]["k_path"]
    np.testing.assert_array_equal(path["n_clusters"], range(1, 6))
    np.testing.assert_array_equal(path["total"], model.k_path_.totals)


@pytest.mark.parametrize(
    "options",
    [
        {"outliers": "iterative", "outlier_threshold": 1.5, "groups": (1, 0)},
        {"init": np.maximum(TRUE, 0), "random_state": np.random.default_rng(0)},
        {"init": ThreeCPO(3, random_state=0).fit(X), "column_penalty": Price()},
    ],
    ids=lambda options: ",".join(options) or "default",
)
def test_results_come_back_from_a_file(tmp_path, options):
    adata = made()
    cluster(adata, 3, **options)
    path = tmp_path / "clustered.h5ad"
    adata.write_h5ad(path)
    again = anndata.read_h5ad(path)
    pd.testing.assert_frame_equal(again.obs, adata.obs)
    pd.testing.assert_frame_equal(again.var, adata.var)
    np.testing.assert_array_equal(
        again.varm["threecpo_rates"], adata.varm["threecpo_rates"]
    )
    facts, read = adata.uns["threecpo"], again.uns["threecpo"]
    assert read.keys() == facts.keys()
    assert read["params"].keys() == facts["params"].keys()
    for name, value in facts["params"].items():
        np.testing.assert_array_equal(read["params"][name], value)
    assert read["loss"] == facts["loss"]
    assert list(read["top_columns"]["column"]) == list(facts["top_columns"]["column"])
    for name, entries in facts["history"].items():
        np.testing.assert_array_equal(read["history"][name], entries)


def test_the_path_comes_back_from_a_file(tmp_path):
    adata = made()
    cluster(adata, "auto", max_clusters=4)
    adata.write_h5ad(tmp_path / "clustered.h5ad")
    again = anndata.read_h5ad(tmp_path / "clustered.h5ad")
    read, facts = (a.uns["threecpo"]["k_path"] for a in (again, adata))
    np.testing.assert_array_equal(read["total"], facts["total"])
