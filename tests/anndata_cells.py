"""An AnnData of planted clusters, and what must be written into it."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from containers import planted
from threecpo import ThreeCPO

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


def through_a_file(adata, tmp_path):
    adata.write_h5ad(tmp_path / "stored.h5ad")
    return anndata.read_h5ad(tmp_path / "stored.h5ad")


class Price:
    def __call__(self, totals, n_clusters, n_rows):
        return np.zeros_like(totals)
