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
import threecpo.anndata

adata = sc.read_h5ad({path!r})
adata.layers["counts"] = adata.X.copy()
sc.pp.normalize_total(adata)
sc.pp.log1p(adata)
threecpo.anndata.cluster(adata, 3{options})
merged = threecpo.anndata.model(adata).merge([[0, 1]])
threecpo.anndata.cluster(adata, 3, key_added="merged"{options})
threecpo.anndata.write(adata, merged, key_added="merged")
sc.pp.neighbors(adata, use_rep="X")
sc.tl.umap(adata)
for key, n in (("threecpo", 3), ("merged", 2)):
    sc.pl.umap(adata, color=[key, key + "_confidence"], show=False)
    assert len(adata.uns[key + "_colors"]) == n + {outliers}
    for color in (key, key + "_name", key + "_confidence", "gene 0"):
        sc.pl.embedding(adata, key, color=color, show=False)
    markers = adata.uns["rank_genes_groups_" + key]["names"]
    assert len(markers.dtype.names) == n
    drawn = sc.pl.rank_genes_groups_dotplot(
        adata, key="rank_genes_groups_" + key, n_genes=2, return_fig=True,
        **({{"dendrogram": False}} if {outliers} else {{}})
    )
    names = list(drawn.var_names)
    assert names[:2] == list(markers["0"][:2]) or not {outliers}
    assert set(names) <= set(adata.var_names)
    if not {outliers}:
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
adata.write_h5ad({path!r})
print(sc.read_h5ad({path!r}).obs["threecpo"].cat.categories.tolist())
"""


@pytest.mark.parametrize("outliers", [None, "iterative"])
def test_scanpy_draws_the_clusters_of_a_fit_and_of_a_merged_model(tmp_path, outliers):
    pytest.importorskip("scanpy")
    path = str(tmp_path / "cells.h5ad")
    made().write_h5ad(path)
    options = "" if outliers is None else f", outliers={outliers!r}"
    code = SCANPY.format(path=path, options=options, outliers=int(bool(outliers)))
    # A process of its own: scanpy and what it loads warn about each other.
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected_names = ["0", "1", "2"] + ["outlier"] * bool(outliers)
    assert done.stdout.splitlines()[-1] == str(expected_names)


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
