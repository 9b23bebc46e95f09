"""The model that an AnnData keeps, and clusters of new cells."""

import numpy as np
import pandas as pd
import pytest

import threecpo.anndata
from anndata_cells import (
    Price,
    X,
    check,
    expected,
    log_normalised,
    made,
    through_a_file,
)
from containers import planted
from threecpo import select_n_clusters
from threecpo.anndata import cluster, write
from threecpo.results import row_map

NAMED = made().to_df()


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

    def test_what_is_no_model_is_refused(self):
        for held, part in (
            (None, r"has no model under uns\['threecpo'\]; call threecpo.anndata"),
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


class TestPredict:
    @pytest.mark.parametrize("outliers", [None, "final"])
    def test_cells_of_the_fit_get_their_clusters_again(self, tmp_path, outliers):
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

    def test_models_without_names_and_bad_options_are_refused(self):
        with pytest.raises(ValueError, match="no names of genes"):
            threecpo.anndata.predict(made(), expected())
        with pytest.raises(ValueError, match="missing='none'"):
            threecpo.anndata.predict(made(), expected(), missing="none")
        with pytest.raises(TypeError, match="predict takes an AnnData"):
            threecpo.anndata.predict(X, expected())

    def test_batches_are_those_of_the_column_of_the_fit(self):
        adata, new = in_batches(), in_batches()
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

    def test_an_unknown_batch_is_warned_of_once_and_here(self):
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


class TestWrite:
    """A model that was changed replaces all that the first one wrote."""

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
    def test_it_is_written_whole(self, tmp_path, change):
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

    def test_cells_may_come_in_another_order(self):
        adata, other = made(), made()[::-1, ::-1].copy()
        cluster(adata, 3)
        write(other, threecpo.anndata.model(adata))
        pd.testing.assert_frame_equal(other.obs.loc[adata.obs_names], adata.obs)
        pd.testing.assert_frame_equal(other.var.loc[adata.var_names], adata.var)
        np.testing.assert_array_equal(
            other.obsm["X_threecpo"][::-1], adata.obsm["X_threecpo"]
        )

    def test_a_model_without_names_is_of_these_cells(self):
        adata = made()
        write(adata, expected(), key_added="mine")
        check(adata, expected(), "mine")
        assert list(
            threecpo.anndata.model(adata, key_added="mine").feature_names_in_
        ) == (list(adata.var_names))

    def test_the_matrix_is_that_of_the_results_it_replaces(self):
        adata = made(layers={"counts": X + 1, "molecules": X})
        adata.X = log_normalised(X)
        cluster(adata, 3, layer="molecules")
        write(adata, threecpo.anndata.model(adata).cut(2))
        assert adata.uns["threecpo"]["layer"] == "layers['molecules']"

    def test_nothing_of_earlier_results_stays(self):
        adata = made()
        cluster(adata, 3, outliers="iterative")
        path = select_n_clusters(X, [2, 3], random_state=0)
        write(adata, path.estimator(2))  # of a path, without a measure of confidence
        assert "threecpo_nearest" not in adata.obs
        assert "threecpo_confidence" not in adata.obs

    def test_batches_stay_with_the_results(self):
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

    def test_models_of_other_cells_are_refused(self):
        adata, part = made(), made()[:100].copy()
        cluster(part, 3)
        with pytest.raises(
            ValueError, match=r"on 100 cells, but adata has 155; .*predict"
        ):
            write(adata, threecpo.anndata.model(part))
        with pytest.raises(
            ValueError, match="155 x 10 counts without names, but adata"
        ):
            write(part, expected())
        assert not list(adata.obs)


def neighbours_alike(places, kinds):
    """Share of the ten nearest neighbours that are of the same kind."""
    from scipy.spatial import cKDTree

    _, near = cKDTree(places).query(places, k=11)
    return float(np.mean(kinds[near[:, 1:]] == kinds[:, None]))
