"""Results as an AnnData holds them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import GROUP_NAMES
from .._extras import require
from .._plain import plain
from ._stored_model import to_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anndata import AnnData
    from numpy.typing import NDArray

    from .._fit.row_results import RowResults
    from ..cluster import ThreeCPO
    from ..table import CountTable

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


_OUTLIER = "outlier"


def write_fit(adata: AnnData, model: ThreeCPO, key: str, table: CountTable) -> None:
    """Write all that a fit found: cells, genes and the fit as a whole."""
    rows = model.record_.rows
    assert rows is not None
    write_cells(adata, model, rows, key)
    _write_genes(adata, model, key, _places(table.column_names, adata.var_names))
    adata.uns[key] = _facts(model, table.description)
    write_tree(adata, model, key)
    write_markers(adata, model, key)


def write_cells(adata: AnnData, model: ThreeCPO, rows: RowResults, key: str) -> None:
    """Write clusters and scores of cells, those of the fit or others."""
    n_clusters = model.n_clusters_
    adata.obs[key] = _clusters(rows.labels, n_clusters)
    adata.obs[f"{key}_name"] = _named(rows.labels, model.cluster_names_)
    adata.obs[f"{key}_margin"] = rows.margins
    adata.obs[f"{key}_outlier_score"] = rows.outlier_scores
    # An earlier call may have left nearest clusters that are not those of this fit.
    adata.obs.drop(columns=f"{key}_nearest", errors="ignore", inplace=True)
    if model.record_.settings.outliers is not None:
        adata.obs[f"{key}_nearest"] = _clusters(rows.nearest_labels, n_clusters)


def _write_genes(
    adata: AnnData, model: ThreeCPO, key: str, places: NDArray[np.int64]
) -> None:
    """Write groups and rates; genes that were not counted have none."""
    groups = model.record_.groups[places]
    names = [
        GROUP_NAMES[group] if place >= 0 else None
        for group, place in zip(groups.tolist(), places.tolist(), strict=True)
    ]
    rates = model.cluster_rates_.T[places]
    rates[places < 0] = np.nan
    adata.var[f"{key}_group"] = _categories(names, GROUP_NAMES.values())
    adata.varm[f"{key}_rates"] = np.ascontiguousarray(rates)


def _places(counted: Any, genes: Any) -> NDArray[np.int64]:
    """Place of each gene of the AnnData among those that were counted, or -1.

    Those of ``raw`` are others than those of ``X``, and found by their names.
    """
    if list(counted) == list(genes.astype(str)):
        return np.arange(len(counted))
    first: dict[str, int] = {}
    for place, name in enumerate(counted):
        first.setdefault(name, place)
    return np.array([first.get(str(gene), -1) for gene in genes], dtype=np.int64)


def _facts(model: ThreeCPO, layer: str) -> dict[str, Any]:
    """What is kept of the fit as a whole."""
    facts = {
        "params": _storable(model.get_params(deep=False)),
        "layer": layer,
        "n_clusters": model.n_clusters_,
        "loss": model.loss_,
        "restart_losses": model.restart_losses_,
        "history": dict(model.history_),
        "cluster_names": np.array(model.cluster_names_, dtype=object),
        "top_columns": model.top_columns(),
        "model": to_bytes(model),
    }
    if hasattr(model, "k_path_"):
        facts["k_path"] = model.k_path_.to_frame()
    return facts


def _clusters(labels: NDArray[Any], n_clusters: int) -> Any:
    """Labels as categories in the order of their numbers, outliers last."""
    found = [str(k) for k in range(n_clusters)]
    outliers = [_OUTLIER] if (labels < 0).any() else []
    names = [_OUTLIER if label < 0 else str(label) for label in labels.tolist()]
    return _categories(names, [*found, *outliers])


def _named(labels: NDArray[Any], cluster_names: Iterable[str]) -> Any:
    """Names of clusters as categories in the order of their numbers, outliers last."""
    names = [str(name) for name in cluster_names]
    values = [_OUTLIER if label < 0 else names[label] for label in labels.tolist()]
    return _categories(values, [*names, *([_OUTLIER] if (labels < 0).any() else [])])


def _categories(values: Any, categories: Iterable[str]) -> Any:
    import pandas as pd

    return pd.Categorical(values, categories=list(categories))


def _storable(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters that are set, in types that h5ad files hold."""
    values = plain(parameters)
    return {
        name: np.asarray(value) if isinstance(value, list) else value
        for name, value in values.items()
        if value is not None
    }


def to_anndata(model: ThreeCPO, table: CountTable, *, key: str = "threecpo") -> AnnData:
    """Return counts and all that a fit found of them as a new AnnData.

    Parameters
    ----------
    model : ThreeCPO
        A model that was fitted to this table.
    table : CountTable
        Counts with their names; labels become the column ``label`` of ``obs``.
    key : str, default="threecpo"
        Name of the entries, as in :func:`cluster`.

    Returns
    -------
    anndata.AnnData
        ``X`` are the counts.

    Examples
    --------
    >>> import threecpo.anndata
    >>> from threecpo import CountTable, ThreeCPO
    >>> table = CountTable([[9, 0, 5], [8, 1, 5], [0, 9, 5], [1, 8, 5]])
    >>> model = ThreeCPO(2, random_state=0).fit(table)
    >>> threecpo.anndata.to_anndata(model, table).obs["threecpo"].tolist()
    ['0', '0', '1', '1']
    """
    anndata = require("anndata", "anndata", "An AnnData of results")
    pandas = require("pandas", "anndata", "An AnnData of results")
    n_rows, n_columns = table.shape
    rows, columns = table.row_names, table.column_names
    obs = pandas.DataFrame(index=_names(rows, n_rows))
    var = pandas.DataFrame(index=_names(columns, n_columns))
    if table.labels is not None:
        codes = table.labels.tolist()
        named = table.label_names
        obs["label"] = pandas.Categorical(
            [
                None if code < 0 else str(code if named is None else named[code])
                for code in codes
            ]
        )
    adata: AnnData = anndata.AnnData(table.X.astype("float32"), obs=obs, var=var)
    write_fit(
        adata, model, key, replace(table, column_names=var.index.to_numpy(object))
    )
    return adata


def _names(given: Any, n: int) -> list[str]:
    return list(map(str, range(n) if given is None else given))
