"""The tree and the markers of a fit, where scanpy's figures look for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from anndata import AnnData
    from numpy.typing import NDArray

    from ..cluster import ThreeCPO

MARKERS_KEPT = 100


def write_tree(adata: AnnData, model: ThreeCPO, key: str) -> None:
    """Write what ``scanpy.tl.dendrogram`` would, with the tree of the model.

    Outliers are in no tree: with them, or with one cluster, scanpy makes its own.
    """
    from scipy.cluster.hierarchy import cophenet, dendrogram
    from scipy.spatial.distance import squareform

    place = f"dendrogram_{key}"
    adata.uns.pop(place, None)
    names = list(adata.obs[key].cat.categories)
    if model.n_clusters_ < 2 or len(names) != model.n_clusters_:
        return
    linkage = np.asarray(model.tree_, dtype=np.float64)
    info: Any = dendrogram(linkage, labels=names, no_plot=True)
    # Scanpy's heat map of correlations: 1 for the same cluster, 0 for the furthest.
    apart = squareform(cophenet(linkage))
    likeness = 1 - apart / (apart.max() or 1.0)
    adata.uns[place] = {
        "linkage": linkage,
        "groupby": [key],
        "use_rep": "threecpo",
        "cor_method": "threecpo",
        "linkage_method": "threecpo",
        "categories_ordered": info["ivl"],
        "categories_idx_ordered": info["leaves"],
        "dendrogram_info": {name: np.asarray(info[name]) for name in _KEPT},
        "correlation_matrix": likeness,
    }


_KEPT = ("icoord", "dcoord", "ivl", "leaves", "color_list", "leaves_color_list")


def write_markers(adata: AnnData, model: ThreeCPO, key: str) -> None:
    """Write markers as ``scanpy.tl.rank_genes_groups`` does.

    All clusters have the same number of genes there, so the one with the fewest
    markers says how many; p-values there are none.
    """
    place = f"rank_genes_groups_{key}"
    adata.uns.pop(place, None)
    table = {
        name: np.asarray(values)
        for name, values in model.top_columns(MARKERS_KEPT).items()
    }
    lines = [np.flatnonzero(table["cluster"] == k) for k in range(model.n_clusters_)]
    n_kept = min(map(len, lines))
    if not n_kept:
        return

    def by_cluster(values: NDArray[Any]) -> Any:
        columns = [values[line[:n_kept]] for line in lines]
        kind = object if values.dtype.kind == "O" else np.float64
        types = [(str(k), kind) for k in range(len(lines))]
        return np.rec.fromarrays(columns, dtype=np.dtype(types))

    none = np.full(len(table["rank"]), np.nan)
    with np.errstate(divide="ignore"):
        ratios = np.log2(table["ratio"].astype(np.float64))
    adata.uns[place] = {
        "params": {
            "groupby": key,
            "reference": "rest",
            "method": "threecpo",
            "use_raw": False,
            "corr_method": "none",
        },
        "names": by_cluster(table["column"].astype(object)),
        "scores": by_cluster(table["evidence"].astype(np.float64)),
        "logfoldchanges": by_cluster(ratios),
        "pvals": by_cluster(none),
        "pvals_adj": by_cluster(none),
    }
