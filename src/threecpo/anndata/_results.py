"""What a fit says of cells and genes, as entries of an AnnData."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import GROUP_NAMES
from .._plain import plain
from ._for_scanpy import write_markers, write_tree
from ._stored_model import to_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anndata import AnnData
    from numpy.typing import NDArray

    from .._fit.row_results import RowResults
    from ..cluster import ThreeCPO
    from ..table import CountTable

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
