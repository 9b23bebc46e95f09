"""Clusters of an AnnData: which counts are taken, what is written and read again."""

import logging
import warnings
from itertools import cycle

import anndata
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import threecpo.anndata
from containers import planted
from processes import run_python
from threecpo import ThreeCPO, distributed, select_n_clusters
from threecpo.anndata import cluster, report, write
from threecpo.results import row_map

X, TRUE = planted(n_background=20)
CONTAINERS = {
    "dense": lambda array: array.astype(np.float32),
    "integers": lambda array: array.astype(np.int64),
    "csr matrix": lambda array: sp.csr_matrix(array.astype(np.float32)),
    "csr array": lambda array: sp.csr_array(array.astype(np.float32)),
    "csc matrix": lambda array: sp.csc_matrix(array.astype(np.float32)),
}


def made(array=X, container="csr matrix", **parts):
    obs = pd.DataFrame(index=[f"cell {i}" for i in range(len(array))])
    var = pd.DataFrame(index=[f"gene {j}" for j in range(array.shape[1])])
    return anndata.AnnData(CONTAINERS[container](array), obs, var, **parts)


def log_normalised(array):
    totals = np.maximum(array.sum(axis=1, keepdims=True), 1)
    return np.log1p(array / totals * 1e4).astype(np.float32)


def values(matrix):
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def expected(n_clusters=3, array=X, **options):
    return ThreeCPO(n_clusters, **{"random_state": 0} | options).fit(array)


def check(adata, model, key="threecpo"):
    """Everything that was written is what the estimator says."""
    names = np.array([*map(str, range(model.n_clusters_)), "outlier"])
    np.testing.assert_array_equal(adata.obs[key], names[model.labels_])
    np.testing.assert_array_equal(
        adata.obs[f"{key}_outlier_score"], model.outlier_scores_
    )
    groups = np.array(["shared", "relevant", "noise"])[model.column_groups_]
    np.testing.assert_array_equal(adata.var[f"{key}_group"], groups)
    np.testing.assert_array_equal(adata.varm[f"{key}_rates"], model.cluster_rates_.T)
    facts = adata.uns[key]
    assert facts["loss"] == model.loss_
    assert facts["n_clusters"] == model.n_clusters_
    assert facts["params"]["n_clusters"] == model.n_clusters
    np.testing.assert_array_equal(facts["restart_losses"], model.restart_losses_)
    assert facts["history"].keys() == model.history_.keys()
    for name, entries in model.history_.items():
        np.testing.assert_array_equal(facts["history"][name], entries)


def through_a_file(adata, tmp_path):
    adata.write_h5ad(tmp_path / "stored.h5ad")
    return anndata.read_h5ad(tmp_path / "stored.h5ad")


class Price:
    def __call__(self, totals, n_clusters, n_rows):
        return np.zeros_like(totals)


@pytest.mark.parametrize(
    ("layers", "asked", "taken"),
    [
        ({}, None, "X"),
        ({}, "X", "X"),
        ({"counts": X + 1, "raw": X}, "raw", "layers['raw']"),
        ({"counts": X}, None, "layers['counts']"),
        ({"counts": X + 1}, "X", "X"),
        ({"spliced": X + 1}, None, "X"),
        ({"X": X}, "X", "layers['X']"),
    ],
)
def test_the_matrix_that_is_taken_is_reported(layers, asked, taken, caplog):
    adata = made(layers={name: sp.csr_matrix(y) for name, y in layers.items()})
    with caplog.at_level(logging.INFO, logger="threecpo"):
        cluster(adata, 3, layer=asked)
    check(adata, expected())
    assert caplog.messages == [f"Using the counts of adata.{taken}."]
    assert adata.uns["threecpo"]["layer"] == taken


def test_fractions_in_x_are_refused_with_what_to_pass():
    adata = made()
    adata.layers["raw counts"] = adata.X.copy()
    adata.raw = adata
    adata.X = log_normalised(X)
    with pytest.raises(ValueError, match="not integers") as caught:
        cluster(adata, 3)
    message = str(caught.value)
    assert "layer='raw counts'" in message
    assert "layer='X' to use X" in message
    assert "use_raw=True" in message
    assert not list(adata.obs)
    assert not adata.uns
    cluster(adata, 3, layer="raw counts")
    check(adata, expected())


def test_fractions_are_used_with_a_warning_where_they_are_asked_for():
    ratios = np.round(X / 7, 2).astype(np.float32)
    adata = made(ratios, "dense")
    with pytest.warns(UserWarning, match="not integers"):
        cluster(adata, 3, layer="X")
    with pytest.warns(UserWarning, match="not integers"):
        check(adata, expected(array=ratios))


@pytest.mark.parametrize(
    ("container", "mode"), [("dense", "r"), ("csr matrix", "r+"), ("csc matrix", "r")]
)
def test_a_backed_anndata_is_read_and_its_file_stays(tmp_path, container, mode):
    path = tmp_path / "cells.h5ad"
    made(container=container).write_h5ad(path)
    before = path.read_bytes()
    backed = anndata.read_h5ad(path, backed=mode)
    try:
        cluster(backed, 3)
        check(backed, expected())
        assert backed.isbacked
    finally:
        backed.file.close()
    if mode == "r":
        assert path.read_bytes() == before


def test_views_of_backed_anndata_need_a_copy(tmp_path):
    path = tmp_path / "cells.h5ad"
    made().write_h5ad(path)
    backed = anndata.read_h5ad(path, backed="r")
    try:
        view = backed[20:]
        advice = r"view of a backed .* pass adata\[\.\.\.\]\.to_memory\(\), or copy"
        with pytest.raises(ValueError, match=advice):
            cluster(view, 3)
        cluster(view.to_memory(), 3)
        copied = cluster(view, 3, copy=True)
        check(copied, expected(array=X[20:]))
        assert not copied.isbacked
    finally:
        backed.file.close()


def test_counts_of_dask():
    adata = made()
    adata.X = da.from_array(adata.X.toarray(), chunks=(50, -1))
    with pytest.raises(ValueError, match=r"fit them with threecpo\.ThreeCPO, or pass "):
        cluster(adata, 3)
    cluster(adata.to_memory(), 3)
    distributed.fit(ThreeCPO(2, n_init=1, random_state=0), adata.X)


def test_duplicate_gene_names_are_no_obstacle():
    adata = made()
    adata.var_names = ["gene"] * X.shape[1]
    cluster(adata, 3)
    check(adata, expected())


class TestRaw:
    """``use_raw=True``: counts of ``adata.raw``, whose genes may be more."""

    @pytest.fixture
    def adata(self):
        full = made()
        full.raw = full.copy()
        part = full[:, 2:8].copy()
        part.X = log_normalised(X[:, 2:8])
        return part

    def test_raw_counts_are_taken(self, adata):
        cluster(adata, 3, use_raw=True)
        model = expected()
        assert adata.uns["threecpo"]["layer"] == "raw.X"
        names = np.array(["0", "1", "2"])
        np.testing.assert_array_equal(adata.obs["threecpo"], names[model.labels_])
        groups = np.array(["shared", "relevant", "noise"])[model.column_groups_]
        np.testing.assert_array_equal(adata.var["threecpo_group"], groups[2:8])
        rates = adata.varm["threecpo_rates"]
        np.testing.assert_array_equal(rates, model.cluster_rates_.T[2:8])

    def test_genes_that_raw_lacks_have_no_group(self, adata):
        names = list(adata.var_names)
        adata.var_names = ["another gene", *names[1:]]
        cluster(adata, 3, use_raw=True)
        assert adata.var["threecpo_group"].isna().tolist() == [True] + [False] * 5
        assert np.isnan(adata.varm["threecpo_rates"][0]).all()
        assert not np.isnan(adata.varm["threecpo_rates"][1:]).any()

    def test_a_backed_raw_is_read(self, adata, tmp_path):
        adata.write_h5ad(tmp_path / "cells.h5ad")
        backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
        try:
            cluster(backed, 3, use_raw=True)
            assert backed.uns["threecpo"]["loss"] == expected().loss_
        finally:
            backed.file.close()

    def test_the_report_is_made_of_the_same_counts(self, adata, tmp_path):
        cluster(adata, 3, use_raw=True)
        threecpo.anndata.report(adata, tmp_path / "report.html", title="Raw")
        assert "raw.X" in (tmp_path / "report.html").read_text("utf-8")


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
    again = through_a_file(adata, tmp_path)
    check(again, threecpo.anndata.model(adata))
    pd.testing.assert_frame_equal(again.obs, adata.obs)
    pd.testing.assert_frame_equal(again.var, adata.var)
    facts, read = adata.uns["threecpo"], again.uns["threecpo"]
    assert read.keys() == facts.keys()
    assert read["params"].keys() == facts["params"].keys()
    for name, value in facts["params"].items():
        np.testing.assert_array_equal(read["params"][name], value)
    pd.testing.assert_frame_equal(read["top_columns"], facts["top_columns"])


NAMED = made().to_df()


@pytest.mark.parametrize("stored", [False, True])
def test_it_is_the_fitted_one(tmp_path, stored):
    adata = made()
    cluster(adata, 3, outliers="iterative")
    if stored:
        adata = through_a_file(adata, tmp_path)
    model = threecpo.anndata.model(adata)
    fitted = expected(outliers="iterative")
    np.testing.assert_array_equal(model.labels_, fitted.labels_)
    assert model.loss_ == fitted.loss_
    assert list(model.feature_names_in_) == list(adata.var_names)
    assert list(model.record_.row_names) == list(adata.obs_names)


def test_what_files_cannot_hold_has_its_default():
    adata = made()
    cluster(adata, 3, column_penalty=Price(), init=expected(), random_state=None)
    model = threecpo.anndata.model(adata)
    assert model.init == "merge"
    labels = model.predict(adata.to_df()).astype(str)
    np.testing.assert_array_equal(labels, adata.obs["threecpo"])


def test_what_is_no_model_is_refused():
    for held, part in (
        (
            None,
            r"has no model under uns\['threecpo'\]; call .*cluster first, or pass key_",
        ),
        ("text", "has no model"),
        ({"loss": 1.0}, "has no model"),
        ({"model": "text"}, "is not a model that threecpo.anndata.cluster stored"),
        (
            {"model": np.zeros(9, np.uint8)},
            r"^uns\['threecpo'\]\['model'\] is not a model file",
        ),
    ):
        adata = made()
        if held is not None:
            adata.uns["threecpo"] = held
        with pytest.raises(ValueError, match=part):
            threecpo.anndata.model(adata)


@pytest.mark.parametrize("outliers", [None, "final"])
def test_cells_of_the_fit_get_their_clusters_again(tmp_path, outliers):
    adata = made()
    cluster(adata, 3, outliers=outliers)
    new = made()[::-1, ::-1].copy()
    threecpo.anndata.predict(new, through_a_file(adata, tmp_path))
    assert list(new.obs) == list(adata.obs)
    again = new.obs.loc[adata.obs_names]
    sure = "threecpo_confidence"
    pd.testing.assert_frame_equal(
        again.drop(columns=sure), adata.obs.drop(columns=sure)
    )
    shares = threecpo.anndata.model(adata).predict_proba(adata.to_df())
    inside = again["threecpo"] != "outlier"
    expected = np.where(inside, shares.max(axis=1), np.nan)
    np.testing.assert_array_equal(again[sure], expected)
    assert not new.uns


def test_genes_are_found_by_name():
    adata = made()
    cluster(adata, 3)
    new = made()[:, 1:].copy()
    with pytest.raises(
        ValueError,
        match=r"lack 1 of the \d+ genes.*: gene 0; pass missing='zero'",
    ):
        threecpo.anndata.predict(new, adata)
    assert not list(new.obs)
    threecpo.anndata.predict(new, adata, missing="zero")
    without = np.where(np.arange(X.shape[1]) == 0, 0, X)
    labels = expected().predict(without).astype(str)
    np.testing.assert_array_equal(new.obs["threecpo"], labels)


def test_models_without_names_and_bad_options_are_refused():
    with pytest.raises(ValueError, match="no names of genes; fit it with"):
        threecpo.anndata.predict(made(), expected())
    with pytest.raises(ValueError, match="missing='none'"):
        threecpo.anndata.predict(made(), expected(), missing="none")
    with pytest.raises(TypeError, match="predict takes an AnnData"):
        threecpo.anndata.predict(X, expected())


def test_batches_are_those_of_the_column_of_the_fit():
    adata, new = in_batches(), in_batches()
    with pytest.raises(
        ValueError, match=r"'day' is not a column of obs, which has .*lab"
    ):
        cluster(adata, 3, batch_key="day")
    cluster(adata, 3, batch_key="lab")
    threecpo.anndata.predict(new, adata)
    margins = "threecpo_margin"
    np.testing.assert_allclose(new.obs[margins], adata.obs[margins])
    model, lab = threecpo.anndata.model(adata), adata.obs["lab"].to_numpy()
    shares = model.predict_proba(adata.to_df(), batch=lab).max(axis=1)
    np.testing.assert_array_equal(new.obs["threecpo_confidence"], shares)
    del new.obs["lab"]
    threecpo.anndata.predict(new, adata)  # of an average batch
    assert not np.allclose(new.obs[margins], adata.obs[margins])


def test_an_unknown_batch_is_warned_of_once_and_here():
    adata, new = in_batches(), in_batches()
    cluster(adata, 3, batch_key="lab")
    new.obs["lab"] = "elsewhere"
    with pytest.warns(UserWarning, match="were not in the fit") as warned:
        threecpo.anndata.predict(new, adata)
    assert [each.filename for each in warned] == [__file__]


def in_batches():
    """Cells of which half have nine times the molecules of half of the genes."""
    array, _ = planted(n_clusters=3, n_background=0)
    lab = np.arange(len(array)) % 2
    array[np.ix_(lab == 1, np.arange(0, array.shape[1], 2))] *= 9
    adata = made(array)
    adata.obs["lab"] = np.array(["a", "b"])[lab]
    return adata


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model.merge([[0, 1]]),
        lambda model: model.cut(2),
        lambda model: model.cut(2, X=NAMED),
        lambda model: model.split(NAMED, 0),
        lambda model: model.name_clusters(["T", "B", "NK"]),
    ],
    ids=["merge", "cut", "refit", "split", "rename"],
)
def test_it_is_written_whole(tmp_path, change):
    adata = made()
    cluster(adata, 3)
    changed = change(threecpo.anndata.model(adata))
    write(adata, changed)
    adata = through_a_file(adata, tmp_path)
    check(adata, changed)
    assert list(adata.obs["threecpo_name"].cat.categories) == list(
        changed.cluster_names_
    )
    own = changed.probabilities_[np.arange(len(X)), changed.labels_]
    np.testing.assert_array_equal(adata.obs["threecpo_confidence"], own)
    np.testing.assert_array_equal(adata.obsm["X_threecpo"], row_map(changed, X))
    tree = adata.uns["dendrogram_threecpo"]
    np.testing.assert_array_equal(tree["linkage"], changed.tree_)
    markers = adata.uns["rank_genes_groups_threecpo"]["names"]
    tops = changed.top_columns(1)
    assert list(markers[0]) == tops["column"][tops["group"] == 1].tolist()
    page = threecpo.anndata.report(adata).html
    assert f"cells in {changed.n_clusters_} clusters" in page
    for name in changed.cluster_names_:
        assert f"<bdi>{name}</bdi>" in page
    again = threecpo.anndata.model(adata)
    np.testing.assert_array_equal(again.labels_, changed.labels_)


def test_cells_may_come_in_another_order():
    adata, other = made(), made()[::-1, ::-1].copy()
    cluster(adata, 3)
    write(other, threecpo.anndata.model(adata))
    pd.testing.assert_frame_equal(other.obs.loc[adata.obs_names], adata.obs)
    pd.testing.assert_frame_equal(other.var.loc[adata.var_names], adata.var)
    np.testing.assert_array_equal(
        other.obsm["X_threecpo"][::-1], adata.obsm["X_threecpo"]
    )


def test_a_model_without_names_is_of_these_cells():
    adata = made()
    write(adata, expected(), key_added="mine")
    check(adata, expected(), "mine")
    assert list(threecpo.anndata.model(adata, key_added="mine").feature_names_in_) == (
        list(adata.var_names)
    )


def test_the_matrix_is_that_of_the_results_it_replaces():
    adata = made(layers={"counts": X + 1, "molecules": X})
    adata.X = log_normalised(X)
    cluster(adata, 3, layer="molecules")
    write(adata, threecpo.anndata.model(adata).cut(2))
    assert adata.uns["threecpo"]["layer"] == "layers['molecules']"


def test_nothing_of_earlier_results_stays():
    adata = made()
    cluster(adata, 3, outliers="iterative")
    path = select_n_clusters(X, [2, 3], random_state=0)
    write(adata, path.estimator(2))  # of a path, without a measure of confidence
    assert "threecpo_nearest" not in adata.obs
    assert "threecpo_confidence" not in adata.obs


def test_batches_stay_with_the_results():
    adata = in_batches()
    cluster(adata, 3, batch_key="lab")
    places = adata.obsm["X_threecpo"]
    write(adata, threecpo.anndata.model(adata).name_clusters(["x", "y", "z"]))
    assert adata.uns["threecpo"]["batch_key"] == "lab"
    np.testing.assert_array_equal(adata.obsm["X_threecpo"], places)
    lab = adata.obs["lab"].to_numpy()
    assert neighbours_alike(places, lab) < 0.65
    cluster(adata, 3)
    assert neighbours_alike(adata.obsm["X_threecpo"], lab) > 0.65
    assert "batch_key" not in adata.uns["threecpo"]


def test_models_of_other_cells_are_refused():
    adata, part = made(), made()[:100].copy()
    cluster(part, 3)
    with pytest.raises(ValueError, match=r"on 100 cells, but adata has 155; .*predict"):
        write(adata, threecpo.anndata.model(part))
    with pytest.raises(ValueError, match="155 x 10 counts without names, but adata"):
        write(part, expected())
    assert not list(adata.obs)


def neighbours_alike(places, kinds):
    """Share of the ten nearest neighbours that are of the same kind."""
    from scipy.spatial import cKDTree

    _, near = cKDTree(places).query(places, k=11)
    return float(np.mean(kinds[near[:, 1:]] == kinds[:, None]))


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda adata: adata[5:], r"has \d+ of the \d+ cells"),
        (lambda adata: adata[:, 2:], r"lacks 2 of the \d+ genes"),
    ],
)
def test_parts_of_the_fit_are_refused(tmp_path, change, part):
    adata = made()
    cluster(adata, 3)
    with pytest.raises(ValueError, match=part):
        threecpo.anndata.report(change(adata).copy(), tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


def test_the_matrix_of_the_fit_must_be_there(tmp_path):
    adata = made(layers={"counts": sp.csr_matrix(X)})
    cluster(adata, 3)
    del adata.layers["counts"]
    with pytest.raises(ValueError, match=r"^layers\['counts'\], which the clusters"):
        threecpo.anndata.report(adata, tmp_path / "report.html")


class TestLabels:
    @pytest.fixture
    def adata(self):
        adata = made()
        cluster(adata, 3)
        adata.obs["cell_type"] = pd.Categorical([f"type {k}" for k in TRUE])
        adata.obs["donor"] = [i % 2 for i in range(len(X))]
        adata.obs.loc[adata.obs_names[:5], "donor"] = np.nan
        return adata

    def test_columns_of_obs_are_compared(self, adata):
        summary = report(adata, labels=["cell_type", "donor"]).summary
        assert [part["name"] for part in summary["labels"]] == ["cell_type", "donor"]
        model = threecpo.anndata.model(adata)
        crossed = pd.crosstab(model.labels_, adata.obs["donor"]).to_numpy()
        assert summary["labels"][1]["values"] == ["0", "1"]
        assert sorted(map(sorted, summary["labels"][1]["counts"])) == sorted(
            map(sorted, crossed.tolist())
        )
        assert (
            "5 cells without a value are left out"
            in (summary["labels"][1]["agreement"])
        )
        (part,) = report(adata, labels="cell_type").summary["labels"]
        assert part == summary["labels"][0]

    def test_they_stay_with_their_cells_in_another_order(self, adata):
        both = ["cell_type", "donor"]
        pages = [report(each, labels=both).html for each in (adata, adata[::-1, ::-1])]
        assert pages[0] == pages[1]
        for place, name in enumerate(both):
            assert f'<option value="{place}">{name}</option>' in pages[0]

    def test_rows_are_cells_unless_they_are_called_otherwise(self, adata):
        assert "cells in 3 clusters" in report(adata).summary["lead"]
        nuclei = report(adata, row_noun="nuclei")
        assert "nuclei in 3 clusters" in nuclei.summary["lead"]

    @pytest.mark.parametrize("asked", ["type", ["cell_type", "type"]])
    def test_a_column_that_is_not_there_is_named(self, adata, asked):
        with pytest.raises(
            ValueError, match=r"^labels='type' is not a column of obs, "
        ):
            report(adata, labels=asked)


def test_a_report_may_have_another_key():
    adata = made()
    cluster(adata, 2, key_added="two")
    assert "cells in 2 clusters" in repr(report(adata, key_added="two"))
    with pytest.raises(
        ValueError, match=r"no model under uns\['threecpo'\].*key_added="
    ):
        report(adata)


SCANPY = """
import sys
import matplotlib
matplotlib.use("Agg")
import numpy as np
import scanpy as sc
import threecpo.anndata

path = sys.argv[1]
counts = sc.read_h5ad(path)

def draw(outliers):
    adata = counts.copy()
    adata.layers["counts"] = adata.X.copy()
    sc.pp.normalize_total(adata)
    sc.pp.log1p(adata)
    threecpo.anndata.cluster(adata, 3, outliers=outliers)
    merged = threecpo.anndata.model(adata).merge([[0, 1]])
    threecpo.anndata.cluster(adata, 3, key_added="merged", outliers=outliers)
    threecpo.anndata.write(adata, merged, key_added="merged")
    sc.pp.neighbors(adata, use_rep="X")
    sc.tl.umap(adata)
    for key, n in (("threecpo", 3), ("merged", 2)):
        sc.pl.umap(adata, color=[key, key + "_confidence"], show=False)
        assert len(adata.uns[key + "_colors"]) == n + bool(outliers)
        for color in (key, key + "_name", key + "_confidence", "gene 0"):
            sc.pl.embedding(adata, key, color=color, show=False)
        markers = adata.uns["rank_genes_groups_" + key]["names"]
        assert len(markers.dtype.names) == n
        drawn = sc.pl.rank_genes_groups_dotplot(
            adata, key="rank_genes_groups_" + key, n_genes=2, return_fig=True,
            **({"dendrogram": False} if outliers else {})
        )
        names = list(drawn.var_names)
        assert names[:2] == list(markers["0"][:2]) or not outliers
        assert set(names) <= set(adata.var_names)
        if not outliers:
            sc.pl.dendrogram(adata, key, show=False)
            sc.pl.correlation_matrix(adata, key, show=False)
            assert adata.uns["dendrogram_" + key]["use_rep"] == "threecpo"
        table = sc.get.rank_genes_groups_df(adata, "0", key="rank_genes_groups_" + key)
        tops = adata.uns[key]["top_columns"]
        best = tops["column"][(tops["cluster"] == 0) & (tops["rank"] <= 2)]
        assert set(table["names"][:2]) == set(best)
    sc.tl.rank_genes_groups(adata, "threecpo", groups=["0", "1", "2"])
    sc.pl.umap(adata[:, adata.var["threecpo_group"] == "relevant"], color="gene 0",
               show=False)
    adata.write_h5ad(path)
    print(sc.read_h5ad(path).obs["threecpo"].cat.categories.tolist())

draw(None)
draw("iterative")
"""


def test_scanpy_draws_the_clusters_of_a_fit_and_of_a_merged_model(tmp_path):
    pytest.importorskip("scanpy")
    path = tmp_path / "cells.h5ad"
    made().write_h5ad(path)
    # A process of its own: scanpy and what it loads warn about each other.
    done = run_python("-W", "ignore", "-c", SCANPY, path)
    assert done.returncode == 0, done.stderr
    names = ["0", "1", "2"]
    assert done.stdout.splitlines()[-2:] == [str(names), str([*names, "outlier"])]


def test_with_outliers_there_is_no_tree_of_an_earlier_call():
    adata = made()
    cluster(adata, 3)
    cluster(adata, 3, outliers="iterative")
    assert "dendrogram_threecpo" not in adata.uns
    assert adata.obs["threecpo_name"].cat.categories[-1] == "outlier"
