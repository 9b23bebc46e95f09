"""Clusters of cells, and the genes that tell them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._counts import check_anndata, check_key, counts_of
from ._predict import copied
from ._results import write_fit

if TYPE_CHECKING:
    from anndata import AnnData


def cluster(
    adata: AnnData,
    n_clusters: int | str,
    *,
    layer: str | None = None,
    batch_key: str | None = None,
    known_key: str | None = None,
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
        Layer of the raw counts, ``"X"``, or ``"raw"`` for ``adata.raw``, whose genes
        may be others than those of ``X``. None takes ``layers["counts"]`` if there is
        one, else ``X`` if it holds whole numbers.
    batch_key : str or None, default=None
        Column of ``obs`` with the batch of each cell (donor, sample, protocol), as
        ``batch`` of :meth:`threecpo.ThreeCPO.fit`.
    known_key : str or None, default=None
        Column of ``obs`` with the cluster of each cell that is known, missing or empty
        where it is not, as ``known_labels`` of :meth:`threecpo.ThreeCPO.fit`.
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
        ``obs[f"{key_added}_name"]``
            The same by the names of the clusters, made of the genes that mark them.
        ``obs[f"{key_added}_margin"]``
            How much better the cell fits its cluster than the second best, in nats.
        ``obs[f"{key_added}_outlier_score"]``
            How much better the cell fits all cells together than its cluster, in nats.
        ``obs[f"{key_added}_nearest"]``
            Nearest cluster of each cell, outliers too; only where ``outliers`` are
            asked for.
        ``var[f"{key_added}_group"]``
            ``"relevant"``, ``"shared"`` or ``"noise"`` for each gene that was counted.
        ``varm[f"{key_added}_rates"]``
            Rate of each gene (rows) in each cluster (columns).
        ``uns[key_added]``
            ``params``, ``layer`` (the matrix that was taken), ``n_clusters``, ``loss``,
            ``restart_losses``, ``history``, ``top_columns`` (the genes that mark each
            cluster), ``model`` (for :func:`model`, :func:`predict` and :func:`report`)
            ``cluster_names`` and, for ``"auto"``, ``k_path``.
        ``uns[f"dendrogram_{key_added}"]``
            The tree of the clusters as ``scanpy.pl.dendrogram`` takes it; not with
            outliers.
        ``uns[f"rank_genes_groups_{key_added}"]``
            Their markers as ``scanpy.pl.rank_genes_groups_dotplot`` takes them, by
            ``key=``.

    See Also
    --------
    predict : Clusters of new cells.
    report : The report about these clusters.
    model : The fitted model, as an estimator.

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
    from ..cluster import ThreeCPO

    check_anndata(adata, "cluster", written=not copy)
    check_key("key_added", key_added)
    table = counts_of(adata, layer)
    keys = {"batch": batch_key, "known_labels": known_key}
    names = {"batch": "batch_key", "known_labels": "known_key"}
    rows = {
        argument: column_of(adata, names[argument], key)
        for argument, key in keys.items()
        if key is not None
    }
    model = ThreeCPO(n_clusters, random_state=random_state, **options)
    model.fit(table, **rows)
    target = copied(adata) if copy else adata
    write_fit(target, model, key_added, table)
    return target if copy else None


def column_of(adata: Any, parameter: str, key: str) -> Any:
    """A column of ``obs``."""
    if key not in adata.obs:
        known = ", ".join(map(repr, adata.obs.columns)) or "no columns"
        message = f"{parameter}={key!r} is no column of obs, which has {known}."
        raise ValueError(message)
    return adata.obs[key].to_numpy(dtype=object)
