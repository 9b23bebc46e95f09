"""The scverse door: clusters of the cells of an AnnData, written back into it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ._extras import require
from ._plain import plain

if TYPE_CHECKING:
    from anndata import AnnData

    from ._core.counts import Counts
    from .cluster import ThreeCPO

__all__ = ["cluster"]

_logger = logging.getLogger(__name__)
_OUTLIER = "outlier"


def cluster(
    adata: AnnData,
    n_clusters: int | str,
    *,
    layer: str | None = None,
    key_added: str = "threecpo",
    random_state: Any = 0,
    copy: bool = False,
    **options: Any,
) -> AnnData | None:
    """Cluster the cells of an AnnData and find the genes that tell them apart.

    Takes raw counts and writes the results beside them; ``X`` and the layers stay as
    they are. Which matrix was taken is logged (logger ``threecpo.anndata``, level info)
    and kept in ``uns``.

    Parameters
    ----------
    adata : AnnData
        Cells x genes, in memory or backed by a file, dense or sparse. A view becomes a
        full object, as with scanpy's functions.
    n_clusters : int or "auto"
        Number of clusters, or ``"auto"`` to have it chosen.
    layer : str or None, default=None
        Layer of the raw counts, or ``"X"``. None takes ``layers["counts"]`` if there is
        one, else ``X`` if it holds whole numbers.
    key_added : str, default="threecpo"
        Name of the results.
    random_state : int, RandomState, Generator or None, default=0
        Seed. The same seed gives the same clusters.
    copy : bool, default=False
        Whether to return a copy with the results instead of writing them into
        ``adata``. The copy of a backed AnnData is in memory.
    **options
        Other parameters of :class:`~threecpo.ThreeCPO`, such as ``outliers``,
        ``n_init`` or ``n_jobs``.

    Returns
    -------
    AnnData or None
        The copy, or None. It or ``adata`` has these new entries:

        ``obs[key_added]``
            Cluster of each cell, as category ``"0"`` (the largest), ``"1"``, …, or
            ``"outlier"``.
        ``obs[f"{key_added}_outlier_score"]``
            How much better the cell fits all cells together than its cluster, in nats.
        ``obs[f"{key_added}_nearest"]``
            Nearest cluster of each cell, outliers too; only where ``outliers`` are
            asked for.
        ``var[f"{key_added}_group"]``
            ``"relevant"``, ``"shared"`` or ``"noise"`` for each gene.
        ``varm[f"{key_added}_rates"]``
            Rate of each gene (rows) in each cluster (columns).
        ``uns[key_added]``
            ``params``, ``layer`` (the matrix that was taken), ``n_clusters``, ``loss``,
            ``restart_losses``, ``history``, ``top_columns`` (the genes that mark each
            cluster) and, for ``"auto"``, ``k_path``.

    See Also
    --------
    threecpo.ThreeCPO : The estimator behind it, with ``predict`` for new cells.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> from threecpo.anndata import cluster
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> adata = AnnData(X.astype(np.float32))
    >>> cluster(adata, 3)
    >>> adata.obs["threecpo"].cat.categories.tolist()
    ['0', '1', '2']
    >>> adata.var["threecpo_group"].tolist()
    ['relevant', 'relevant', 'shared', 'shared', 'noise', 'noise']
    """
    from .cluster import ThreeCPO
    from .table import CountTable

    _check(adata, key_added, copy=copy)
    counts, name = _counts(adata, layer)
    _logger.info("Clustering the counts of adata.%s.", name)
    table = CountTable(
        counts,
        row_names=adata.obs_names.astype(str),
        column_names=adata.var_names.astype(str),
    )
    model = ThreeCPO(n_clusters, random_state=random_state, **options).fit(table)
    target = _copied(adata) if copy else adata
    _write(target, model, key_added, name)
    return target if copy else None


def _check(adata: Any, key: Any, *, copy: bool) -> None:
    anndata = require("anndata", "anndata", "threecpo.anndata")
    if not isinstance(adata, anndata.AnnData):
        message = (
            f"cluster takes an AnnData, not a {type(adata).__name__}; "
            "for other tables of counts use threecpo.ThreeCPO."
        )
        raise TypeError(message)
    if not isinstance(key, str) or not key:
        message = f"key_added={key!r} must be a name."
        raise ValueError(message)
    if adata.isbacked and adata.is_view and not copy:
        message = (
            "A view of a backed AnnData cannot hold results; "
            "pass adata[...].to_memory(), or copy=True."
        )
        raise ValueError(message)


def _counts(adata: AnnData, layer: str | None) -> tuple[Counts, str]:
    """Counts of the chosen matrix, and what it is called."""
    from ._validation import check_counts

    if layer is None and "counts" in adata.layers:
        layer = "counts"
    if layer is not None and layer in adata.layers:
        return check_counts(_in_memory(adata.layers[layer])), f"layers[{layer!r}]"
    if layer not in (None, "X"):
        known = ", ".join(map(repr, adata.layers)) or "none"
        message = f"There is no layer {layer!r} in this AnnData; it has {known}."
        raise ValueError(message)
    matrix = adata.X
    if matrix is None:
        message = f"X of this AnnData is empty; {_advice(adata)}"
        raise ValueError(message)
    counts = check_counts(_in_memory(matrix))
    if layer is None and counts.fractional:
        message = f"X holds values that are not whole numbers; {_advice(adata)}"
        raise ValueError(message)
    return counts, "X"


def _advice(adata: AnnData) -> str:
    layers = ", ".join(map(repr, adata.layers))
    others = f" (one of {layers})" if layers else ""
    raw = (
        ", or an AnnData made by adata.raw.to_adata()" if adata.raw is not None else ""
    )
    return (
        f"pass layer= with the layer of the raw counts{others}{raw}, "
        "or layer='X' to use X as it is."
    )


def _in_memory(matrix: Any) -> Any:
    """The matrix itself, or what a file holds, sparse."""
    from ._core.counts import from_dense

    if sp.issparse(matrix) or isinstance(matrix, np.ndarray):
        return matrix
    if hasattr(matrix, "to_memory"):
        return matrix.to_memory()
    if hasattr(matrix, "dask"):
        message = (
            "These counts are a Dask array; fit them with threecpo.ThreeCPO, "
            "or pass adata.to_memory()."
        )
        raise ValueError(message)
    return from_dense(matrix)


def _copied(adata: AnnData) -> AnnData:
    return adata.to_memory() if adata.isbacked else adata.copy()


def _write(adata: AnnData, model: ThreeCPO, key: str, layer: str) -> None:
    from ._core.codes import GROUP_NAMES

    record = model.record_
    groups = [GROUP_NAMES[group] for group in record.groups.tolist()]
    adata.obs[key] = _clusters(model.labels_)
    adata.obs[f"{key}_outlier_score"] = model.outlier_scores_
    # An earlier call may have left nearest clusters that are not those of this fit.
    adata.obs.drop(columns=f"{key}_nearest", errors="ignore", inplace=True)
    if record.settings.outliers is not None:
        adata.obs[f"{key}_nearest"] = _clusters(model.nearest_labels_)
    adata.var[f"{key}_group"] = _categories(groups, GROUP_NAMES.values())
    adata.varm[f"{key}_rates"] = np.ascontiguousarray(model.cluster_rates_.T)
    adata.uns[key] = _facts(model, layer)


def _facts(model: ThreeCPO, layer: str) -> dict[str, Any]:
    """What is kept of the fit as a whole."""
    facts = {
        "params": _storable(model.get_params(deep=False)),
        "layer": layer,
        "n_clusters": model.n_clusters_,
        "loss": model.loss_,
        "restart_losses": model.restart_losses_,
        "history": dict(model.history_),
        "top_columns": model.top_columns(),
    }
    if hasattr(model, "k_path_"):
        facts["k_path"] = model.k_path_.to_frame()
    return facts


def _clusters(labels: Any) -> Any:
    """Labels as categories in the order of their numbers, outliers last."""
    found = [str(k) for k in np.unique(labels[labels >= 0])]
    outliers = [_OUTLIER] if (labels < 0).any() else []
    names = [_OUTLIER if label < 0 else str(label) for label in labels.tolist()]
    return _categories(names, [*found, *outliers])


def _categories(values: list[str], categories: Any) -> Any:
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
