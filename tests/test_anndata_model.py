"""The model that an AnnData keeps, and clusters of new cells."""

import numpy as np
import pandas as pd
import pytest

import threecpo.anndata
from anndata_cells import (
    Price,
    X,
    expected,
    made,
    through_a_file,
)
from threecpo.anndata import cluster


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
            (None, r"holds no model under uns\['threecpo'\]; call threecpo.anndata"),
            ("text", "holds no model"),
            ({"loss": 1.0}, "holds no model"),
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
        pd.testing.assert_frame_equal(new.obs.loc[adata.obs_names], adata.obs)
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
