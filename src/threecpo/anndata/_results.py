"""What is written into an AnnData: cells, genes, the map, and all of a fitted model."""

from __future__ import annotations

import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import GROUP_NAMES
from .._plain import plain
from ..results.fitted import OUTSIDE, shown_labels
from ._counts import counts_of_fit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anndata import AnnData
    from numpy.typing import NDArray

    from .._fit.row_results import RowResults
    from ..cluster import ThreeCPO
    from ..table import CountTable

MARKERS_KEPT = 100
_PLAIN = (str, int, float, tuple, list, dict, np.ndarray, np.generic, type(None))
# What scanpy keeps of a dendrogram.
_DRAWN = ("icoord", "dcoord", "ivl", "leaves", "color_list", "leaves_color_list")


def write_model(
    adata: AnnData, model: ThreeCPO, table: CountTable, key: str, batch_key: str | None
) -> None:
    """Write all of a fitted model; ``table`` has the counts of the AnnData."""
    from ..results import row_map
    from ..results.fitted import rows_of

    model = _named(model, table)
    rows = rows_of(model.record_)
    counts, cells = counts_of_fit(model, table)
    if len(rows.labels) != adata.n_obs:
        message = (
            f"The model was fitted on {len(rows.labels)} cells, but adata has "
            f"{adata.n_obs}; threecpo.anndata.predict writes clusters of other cells."
        )
        raise ValueError(message)
    order = np.argsort(cells)
    sure = model.record_.confidence
    shares = None if sure is None else sure.probabilities
    write_cells(adata, model, rows, shares, key, order)
    adata.obsm[f"X_{key}"] = row_map(model, counts)[order]
    _write_genes(adata, model, key)
    adata.uns[key] = _facts(model, table.description, batch_key)
    _write_tree(adata, model, key)
    _write_markers(adata, model, key)


def _named(model: ThreeCPO, table: CountTable) -> ThreeCPO:
    """Same fit with the names of the table where it has none."""
    from ..cluster.fitting import renamed

    record = model.record_
    rows, columns = record.row_names, record.column_names
    if rows is not None and columns is not None:
        return model
    if table.shape != (record.n_rows, record.n_columns):
        message = (
            f"The model was fitted on {record.n_rows} x {record.n_columns} counts "
            f"without names, but adata is {table.shape[0]} x {table.shape[1]}."
        )
        raise ValueError(message)
    rows = table.row_names if rows is None else rows
    columns = table.column_names if columns is None else columns
    return renamed(model, record.with_names(columns=columns, rows=rows))


def write_cells(
    adata: AnnData,
    model: ThreeCPO,
    rows: RowResults,
    probabilities: NDArray[np.float64] | None,
    key: str,
    order: NDArray[np.intp] | slice = slice(None),
) -> None:
    """Write clusters and scores of cells, those of the fit or others."""
    numbers = [str(k) for k in range(model.n_clusters_)]
    labels, _ = shown_labels(model.record_, rows)
    labels, nearest = labels[order], rows.nearest_labels[order]
    # An earlier call may have left what this model does not have.
    for name in (f"{key}_confidence", f"{key}_nearest"):
        adata.obs.drop(columns=name, errors="ignore", inplace=True)
    adata.obsm.pop(f"X_{key}", None)
    adata.obs[key] = _clusters(labels, numbers)
    adata.obs[f"{key}_name"] = _clusters(labels, model.cluster_names_)
    if probabilities is not None:
        own = probabilities[order][np.arange(len(nearest)), nearest]
        adata.obs[f"{key}_confidence"] = np.where(labels >= 0, own, np.nan)
    adata.obs[f"{key}_margin"] = rows.margins[order]
    adata.obs[f"{key}_outlier_score"] = rows.outlier_scores[order]
    if model.record_.settings.outliers is not None:
        adata.obs[f"{key}_nearest"] = _clusters(nearest, numbers)


def _clusters(labels: NDArray[Any], names: Iterable[str]) -> Any:
    """Categories in the order of the clusters' numbers, then what is in none."""
    import pandas as pd

    called = dict(enumerate(map(str, names))) | OUTSIDE
    found = {*labels.tolist()}
    categories = [name for k, name in called.items() if k >= 0 or k in found]
    categories = [*dict.fromkeys(categories)]
    return pd.Categorical([called[k] for k in labels.tolist()], categories)


def _write_genes(adata: AnnData, model: ThreeCPO, key: str) -> None:
    """Write groups and rates; genes that were not counted have none."""
    import pandas as pd

    places = _places(model.record_.column_names, adata.var_names)
    names = [GROUP_NAMES[group] for group in model.record_.groups[places].tolist()]
    called = np.array(names, dtype=object)
    called[places < 0] = None
    rates = model.cluster_rates_.T[places]
    rates[places < 0] = np.nan
    adata.var[f"{key}_group"] = pd.Categorical(called, [*GROUP_NAMES.values()])
    adata.varm[f"{key}_rates"] = np.ascontiguousarray(rates)


def _places(counted: Any, genes: Any) -> NDArray[np.int64]:
    """Place of each gene of the AnnData among those that were counted, or -1."""
    if list(counted) == list(genes.astype(str)):
        return np.arange(len(counted))
    first = {name: place for place, name in reversed([*enumerate(counted)])}
    return np.array([first.get(str(gene), -1) for gene in genes], dtype=np.int64)


def _facts(model: ThreeCPO, layer: str, batch_key: str | None) -> dict[str, Any]:
    """What is kept of the fit as a whole, in types that h5ad files hold."""
    parameters = {
        name: np.asarray(value) if isinstance(value, list) else value
        for name, value in plain(model.get_params(deep=False)).items()
        if value is not None
    }
    facts = {
        "params": parameters,
        "layer": layer,
        "n_clusters": model.n_clusters_,
        "loss": model.loss_,
        "restart_losses": model.restart_losses_,
        "history": dict(model.history_),
        "cluster_names": np.array(model.cluster_names_, dtype=object),
        "top_columns": model.top_columns(),
        "model": _to_bytes(model),
    }
    if batch_key is not None:
        facts["batch_key"] = batch_key
    if hasattr(model, "k_path_"):
        facts["k_path"] = model.k_path_.to_frame()
    return facts


def _to_bytes(model: ThreeCPO) -> NDArray[np.uint8]:
    """Model file as an array; parameters that files cannot hold have their defaults."""
    from ..persistence import save

    parameters = model.get_params(deep=False)
    defaults = type(model)(1).get_params(deep=False)
    other = {
        name: defaults[name]
        for name, value in parameters.items()
        if not isinstance(value, _PLAIN)
    }
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.npz")
        save(copy.copy(model).set_params(**other) if other else model, path)
        return np.frombuffer(path.read_bytes(), dtype=np.uint8).copy()


def stored_model(adata: AnnData, key: str) -> ThreeCPO:
    """The model that was written under a key."""
    from ..persistence import load

    facts, place = adata.uns.get(key), f"uns[{key!r}]['model']"
    held = facts.get("model") if hasattr(facts, "get") else None
    if held is None:
        message = (
            f"This AnnData has no model under uns[{key!r}]; "
            "call threecpo.anndata.cluster first, or pass key_added=."
        )
        raise ValueError(message)
    content = np.asarray(held)
    if content.dtype != np.uint8:
        message = f"{place} is not a model that threecpo.anndata.cluster stored."
        raise ValueError(message)
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.npz")
        path.write_bytes(content.tobytes())
        try:
            return load(path)
        except ValueError as error:
            message = str(error).replace(str(path), place)
            raise ValueError(message) from error


def _write_tree(adata: AnnData, model: ThreeCPO, key: str) -> None:
    """Write what ``scanpy.tl.dendrogram`` would; not with outliers or one cluster."""
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
        "dendrogram_info": {name: np.asarray(info[name]) for name in _DRAWN},
        "correlation_matrix": likeness,
    }


def _write_markers(adata: AnnData, model: ThreeCPO, key: str) -> None:
    """Write markers as ``scanpy.tl.rank_genes_groups`` does: as many for each."""
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
            "use_raw": adata.uns[key]["layer"] == "raw.X",
            "corr_method": "none",
        },
        "names": by_cluster(table["column"].astype(object)),
        "scores": by_cluster(table["evidence"].astype(np.float64)),
        "logfoldchanges": by_cluster(ratios),
        "pvals": by_cluster(none),
        "pvals_adj": by_cluster(none),
    }
