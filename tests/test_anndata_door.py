"""Clusters of an AnnData: which counts are taken, what is written, who can read it."""

import logging
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import threecpo.anndata
from containers import planted
from threecpo import ThreeCPO
from threecpo.anndata import cluster

anndata = pytest.importorskip("anndata")

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


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("outliers", [None, "iterative", "final"])
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


def test_nearest_clusters_of_an_earlier_call_do_not_stay():
    adata = made()
    cluster(adata, 3, outliers="iterative")
    cluster(adata, 2)
    assert "threecpo_nearest" not in adata.obs


def test_without_outliers_there_is_no_column_of_nearest_clusters():
    adata = made()
    cluster(adata, 3)
    assert list(adata.obs) == [
        *("threecpo", "threecpo_name", "threecpo_margin"),
        "threecpo_outlier_score",
    ]
    assert "outlier" not in adata.obs["threecpo"].cat.categories


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
    assert caplog.messages == [f"Taking the counts of adata.{taken}."]
    assert adata.uns["threecpo"]["layer"] == taken


def test_the_counts_layer_is_taken_where_x_is_normalised():
    normalised = log_normalised(X)
    adata = made(X, layers={"counts": X.copy()})
    adata.X = normalised.copy()
    cluster(adata, 3)
    check(adata, expected())
    np.testing.assert_array_equal(adata.X, normalised)
    np.testing.assert_array_equal(adata.layers["counts"], X)
    assert set(adata.layers) == {"counts"}


def test_fractions_in_x_are_refused_with_what_to_pass():
    adata = made()
    adata.layers["raw counts"] = adata.X.copy()
    adata.raw = adata
    adata.X = log_normalised(X)
    with pytest.raises(ValueError, match="not whole numbers") as caught:
        cluster(adata, 3)
    message = str(caught.value)
    assert "layer=" in message
    assert "'raw counts'" in message
    assert "'raw'" in message
    assert not list(adata.obs)
    assert not adata.uns


def test_fractions_are_used_with_a_warning_where_they_are_asked_for():
    ratios = np.round(X / 7, 2).astype(np.float32)
    adata = made(ratios, "dense")
    with pytest.warns(UserWarning, match="not whole numbers"):
        cluster(adata, 3, layer="X")
    with pytest.warns(UserWarning, match="not whole numbers"):
        check(adata, expected(array=ratios))


@pytest.mark.parametrize(
    ("adata", "options", "kind", "part"),
    [
        (made(), {"layer": "raw"}, ValueError, "no layer 'raw'.*it has none"),
        (
            made(layers={"spliced": X}),
            {"layer": "raw"},
            ValueError,
            "it has 'spliced'",
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


def test_a_copy_leaves_the_original_alone():
    adata = made()
    copied = cluster(adata, 3, copy=True)
    check(copied, expected())
    assert not list(adata.obs)
    assert not list(adata.var)
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


def test_the_number_of_clusters_may_be_chosen():
    adata = made()
    cluster(adata, "auto", max_clusters=5)
    model = expected("auto", max_clusters=5)
    check(adata, model)
    path = adata.uns["threecpo"]["k_path"]
    np.testing.assert_array_equal(path["n_clusters"], range(1, 6))
    np.testing.assert_array_equal(path["total"], model.k_path_.totals)


@pytest.mark.parametrize("mode", ["r", "r+"])
@pytest.mark.parametrize("container", ["dense", "csr matrix", "csc matrix"])
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


def test_a_backed_anndata_with_a_layer_of_counts(tmp_path):
    path = tmp_path / "cells.h5ad"
    adata = made(layers={"counts": sp.csr_matrix(X)})
    adata.X = log_normalised(X)
    adata.write_h5ad(path)
    backed = anndata.read_h5ad(path, backed="r")
    try:
        cluster(backed, 3)
        check(backed, expected())
    finally:
        backed.file.close()


@pytest.mark.parametrize("container", ["dense", "csr matrix"])
def test_views_of_backed_anndata_need_a_copy(tmp_path, container):
    path = tmp_path / "cells.h5ad"
    made(container=container).write_h5ad(path)
    backed = anndata.read_h5ad(path, backed="r")
    try:
        view = backed[20:]
        with pytest.raises(ValueError, match="view of a backed AnnData"):
            cluster(view, 3)
        copied = cluster(view, 3, copy=True)
        check(copied, expected(array=X[20:]))
        assert not copied.isbacked
    finally:
        backed.file.close()


class Price:
    def __call__(self, totals, n_clusters, n_rows):
        return np.zeros_like(totals)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"outliers": "iterative", "outlier_threshold": 1.5},
        {"init": np.maximum(TRUE, 0)},
        {"init": np.maximum(TRUE, 0).tolist()},
        {"init": ThreeCPO(3, random_state=0).fit(X)},
        {"column_penalty": Price()},
        {"groups": (1, 0)},
        {"random_state": np.random.default_rng(0)},
        {"random_state": None},
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


def test_duplicate_gene_names_are_no_obstacle():
    adata = made()
    adata.var_names = ["gene"] * X.shape[1]
    cluster(adata, 3)
    check(adata, expected())


def test_a_dask_layer_is_refused_with_what_to_do():
    dask_array = pytest.importorskip("dask.array")
    adata = made()
    adata.layers["counts"] = dask_array.from_array(X, chunks=(50, 10))
    with pytest.raises(ValueError, match=r"Dask array.*to_memory"):
        cluster(adata, 3)


def test_one_cluster_and_structureless_counts():
    adata = made()
    cluster(adata, 1)
    assert list(adata.obs["threecpo"].cat.categories) == ["0"]
    assert adata.varm["threecpo_rates"].shape == (X.shape[1], 1)


SCANPY = """
import matplotlib
matplotlib.use("Agg")
import numpy as np
import scanpy as sc
from threecpo.anndata import cluster

adata = sc.read_h5ad({path!r})
adata.layers["counts"] = adata.X.copy()
sc.pp.normalize_total(adata)
sc.pp.log1p(adata)
cluster(adata, 3, outliers="iterative")
adata.obsm["X_umap"] = np.random.default_rng(0).normal(size=(adata.n_obs, 2))
sc.pl.umap(adata, color=["threecpo", "threecpo_outlier_score"], show=False)
assert len(adata.uns["threecpo_colors"]) == 4
sc.tl.rank_genes_groups(adata, "threecpo", groups=["0", "1", "2"])
table = sc.get.rank_genes_groups_df(adata, "0")
first = set(table["names"][:2])
sc.tl.dendrogram(adata, "threecpo", use_rep="X_umap")
sc.pl.dotplot(adata, ["gene 0", "gene 1"], groupby="threecpo", show=False)
sc.pl.umap(adata[:, adata.var["threecpo_group"] == "relevant"], color="gene 0",
           show=False)
tops = adata.uns["threecpo"]["top_columns"]
assert first == set(tops["column"][(tops["cluster"] == 0) & (tops["rank"] <= 2)])
adata.write_h5ad({path!r})
print(sc.read_h5ad({path!r}).obs["threecpo"].cat.categories.tolist())
"""


def test_scanpy_draws_and_ranks_the_clusters(tmp_path):
    pytest.importorskip("scanpy")
    path = str(tmp_path / "cells.h5ad")
    made().write_h5ad(path)
    # A process of its own: scanpy and what it loads warn about each other.
    command = [sys.executable, "-W", "ignore", "-c", SCANPY.format(path=path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "['0', '1', '2', 'outlier']"


def test_margins_are_those_of_the_estimator():
    adata = made()
    cluster(adata, 3)
    np.testing.assert_array_equal(adata.obs["threecpo_margin"], expected().margins_)


class TestRaw:
    """``layer="raw"``: counts of ``adata.raw``, whose genes may be more."""

    @pytest.fixture
    def adata(self):
        full = made()
        full.raw = full.copy()
        part = full[:, 2:8].copy()
        part.X = log_normalised(X[:, 2:8])
        return part

    def test_raw_counts_are_taken(self, adata):
        cluster(adata, 3, layer="raw")
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
        cluster(adata, 3, layer="raw")
        assert adata.var["threecpo_group"].isna().tolist() == [True] + [False] * 5
        assert np.isnan(adata.varm["threecpo_rates"][0]).all()
        assert not np.isnan(adata.varm["threecpo_rates"][1:]).any()

    def test_a_backed_raw_is_read(self, adata, tmp_path):
        adata.write_h5ad(tmp_path / "cells.h5ad")
        backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
        try:
            cluster(backed, 3, layer="raw")
            assert backed.uns["threecpo"]["loss"] == expected().loss_
        finally:
            backed.file.close()

    def test_the_report_is_made_of_the_same_counts(self, adata, tmp_path):
        cluster(adata, 3, layer="raw")
        threecpo.anndata.report(adata, tmp_path / "report.html", title="Raw")
        assert "raw.X" in (tmp_path / "report.html").read_text("utf-8")


def through_a_file(adata, tmp_path):
    adata.write_h5ad(tmp_path / "stored.h5ad")
    return anndata.read_h5ad(tmp_path / "stored.h5ad")


class TestStoredModel:
    @pytest.mark.parametrize("stored", [False, True])
    def test_it_is_the_fitted_one(self, tmp_path, stored):
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

    def test_what_files_cannot_hold_has_its_default(self):
        adata = made()
        cluster(adata, 3, column_penalty=Price(), init=expected(), random_state=None)
        model = threecpo.anndata.model(adata)
        assert model.init == "merge"
        labels = model.predict(adata.to_df()).astype(str)
        np.testing.assert_array_equal(labels, adata.obs["threecpo"])

    def test_models_of_two_fits_stand_side_by_side(self):
        adata = made()
        cluster(adata, 3)
        cluster(adata, 2, key_added="two")
        assert threecpo.anndata.model(adata).n_clusters_ == 3
        assert threecpo.anndata.model(adata, key="two").n_clusters_ == 2

    @pytest.mark.parametrize(
        ("held", "part"),
        [
            (None, r"holds no model under uns\['threecpo'\]; call threecpo.anndata"),
            ("text", "holds no model"),
            ({"loss": 1.0}, "holds no model"),
            ({"model": "text"}, "is not a model that threecpo.anndata.cluster stored"),
            (
                {"model": np.zeros(9, np.uint8)},
                r"^uns\['threecpo'\]\['model'\] is not a model file",
            ),
        ],
    )
    def test_what_is_no_model_is_refused(self, held, part):
        adata = made()
        if held is not None:
            adata.uns["threecpo"] = held
        with pytest.raises(ValueError, match=part):
            threecpo.anndata.model(adata)


class TestForScanpy:
    @pytest.mark.parametrize("stored", [False, True])
    def test_tree_and_markers_are_those_of_the_model(self, tmp_path, stored):
        adata = made()
        cluster(adata, 3)
        if stored:
            adata = through_a_file(adata, tmp_path)
        model = expected(array=adata.to_df())
        tree = adata.uns["dendrogram_threecpo"]
        np.testing.assert_array_equal(tree["linkage"], model.tree_)
        assert sorted(tree["categories_ordered"]) == ["0", "1", "2"]
        np.testing.assert_array_equal(
            np.array(["0", "1", "2"])[tree["categories_idx_ordered"]],
            tree["categories_ordered"],
        )
        listed = adata.uns["rank_genes_groups_threecpo"]["names"]
        tops = model.top_columns()
        for k in range(3):
            best = tops["column"][(tops["cluster"] == k)].iloc[0]
            assert listed[str(k)][0] == best
        names = adata.obs["threecpo_name"].cat.categories
        assert list(names) == list(model.cluster_names_)
        assert list(adata.uns["threecpo"]["cluster_names"]) == list(names)

    def test_with_outliers_there_is_no_tree_of_an_earlier_call(self):
        adata = made()
        cluster(adata, 3)
        cluster(adata, 3, outliers="iterative")
        assert "dendrogram_threecpo" not in adata.uns
        assert adata.obs["threecpo_name"].cat.categories[-1] == "outlier"


class TestPredict:
    @pytest.mark.parametrize("outliers", [None, "final"])
    def test_cells_of_the_fit_get_their_clusters_again(self, tmp_path, outliers):
        adata = made()
        cluster(adata, 3, outliers=outliers)
        new = made()[::-1, ::-1].copy()
        threecpo.anndata.predict(new, through_a_file(adata, tmp_path))
        assert list(new.obs) == list(adata.obs)
        pd.testing.assert_frame_equal(new.obs.loc[adata.obs_names], adata.obs)
        assert not new.uns

    def test_all_clusters_are_categories(self):
        adata = made()
        cluster(adata, 3)
        new = made()[adata.obs["threecpo"] == "1"].copy()
        threecpo.anndata.predict(new, threecpo.anndata.model(adata))
        assert list(new.obs["threecpo"].cat.categories) == ["0", "1", "2"]
        assert set(new.obs["threecpo"]) == {"1"}

    def test_genes_are_found_by_name(self):
        adata = made()
        cluster(adata, 3)
        new = made()[:, 1:].copy()
        with pytest.raises(ValueError, match=r"lack 1 of the \d+ genes.*: gene 0;"):
            threecpo.anndata.predict(new, adata)
        assert not list(new.obs)
        threecpo.anndata.predict(new, adata, missing="zero")
        without = np.where(np.arange(X.shape[1]) == 0, 0, X)
        labels = expected().predict(without).astype(str)
        np.testing.assert_array_equal(new.obs["threecpo"], labels)

    def test_a_copy_leaves_the_new_cells_alone(self):
        adata = made()
        cluster(adata, 3)
        new = made()
        copied = threecpo.anndata.predict(new, adata, copy=True)
        assert not list(new.obs)
        np.testing.assert_array_equal(copied.obs["threecpo"], adata.obs["threecpo"])

    def test_models_without_names_and_bad_options_are_refused(self):
        with pytest.raises(ValueError, match="no names of genes"):
            threecpo.anndata.predict(made(), expected())
        with pytest.raises(ValueError, match="missing='none'"):
            threecpo.anndata.predict(made(), expected(), missing="none")
        with pytest.raises(TypeError, match="predict takes an AnnData"):
            threecpo.anndata.predict(X, expected())


class TestReport:
    def test_cells_may_come_in_another_order(self, tmp_path):
        adata = made()
        cluster(adata, 3)
        pages = []
        for name, cells in (("one", adata), ("two", adata[::-1, ::-1])):
            threecpo.anndata.report(cells, tmp_path / f"{name}.html")
            pages.append((tmp_path / f"{name}.html").read_text("utf-8"))
        assert pages[0] == pages[1]

    @pytest.mark.parametrize(
        ("change", "part"),
        [
            (lambda adata: adata[5:], r"holds \d+ of the \d+ cells"),
            (lambda adata: adata[:, 2:], r"lacks 2 of the \d+ genes"),
        ],
    )
    def test_parts_of_the_fit_are_refused(self, tmp_path, change, part):
        adata = made()
        cluster(adata, 3)
        with pytest.raises(ValueError, match=part):
            threecpo.anndata.report(change(adata).copy(), tmp_path / "report.html")
        assert not list(tmp_path.iterdir())

    def test_the_matrix_of_the_fit_must_be_there(self, tmp_path):
        adata = made(layers={"counts": sp.csr_matrix(X)})
        cluster(adata, 3)
        del adata.layers["counts"]
        with pytest.raises(
            ValueError, match=r"^layers\['counts'\], which the clusters"
        ):
            threecpo.anndata.report(adata, tmp_path / "report.html")
