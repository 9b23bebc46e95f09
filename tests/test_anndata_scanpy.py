"""What scanpy draws of the clusters of an AnnData."""

import subprocess
import sys

import numpy as np
import pytest

from anndata_cells import (
    expected,
    made,
    through_a_file,
)
from threecpo.anndata import cluster

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
