"""Cluster the cells of an AnnData, and assign new ones."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ._counts import check_anndata, column_of, counts_of
from ._model import model
from ._results import write_cells, write_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anndata import AnnData

    from ..cluster import ThreeCPO
    from ..table import CountTable

# Names of other tools' parameters, and ours.
MEANT = {
    "k": "n_clusters",
    "resolution": "n_clusters",
    "key": "key_added",
    "batch": "batch_key",
    "known_labels": "known_key",
    "layers": "layer",
    "seed": "random_state",
}


def cluster(
    adata: AnnData,
    n_clusters: int | str = "auto",
    *,
    layer: str | None = None,
    use_raw: bool = False,
    batch_key: str | None = None,
    known_key: str | None = None,
    hold_labels: bool = True,
    key_added: str = "threecpo",
    random_state: Any = 0,
    copy: bool = False,
    **options: Any,
) -> AnnData | None:
    """Cluster the cells of an AnnData and find the genes that tell them apart.

    Uses raw counts and writes the results beside them; ``X`` and the layers stay as
    they are. Which matrix was used is logged (logger ``threecpo.anndata``, level info)
    and kept in ``uns``.

    Parameters
    ----------
    adata : AnnData
        Cells x genes, in memory or backed by a file, dense or sparse. A view becomes a
        full object, as with scanpy's functions.
    n_clusters : int or "auto", default="auto"
        Number of clusters; ``"auto"`` chooses it.
    layer : str or None, default=None
        Layer of the raw counts, or ``"X"``. None uses ``layers["counts"]`` if there is
        one, else ``X`` if it contains integers.
    use_raw : bool, default=False
        Whether to use the counts of ``adata.raw``, whose genes may differ from those of
        ``X``.
    batch_key : str or None, default=None
        Column of ``obs`` with the batch of each cell (donor, sample, protocol), as
        ``batch`` of :meth:`threecpo.ThreeCPO.fit`.
    known_key : str or None, default=None
        Column of ``obs`` with the cluster of each cell that is known, missing or empty
        where it is not, as ``known_labels`` of :meth:`threecpo.ThreeCPO.fit`.
    hold_labels : bool, default=True
        Whether cells stay in their known clusters.
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
        ``obs[f"{key_added}_confidence"]``
            Probability of the cell's cluster (of the nearest one for outliers).
        ``obs[f"{key_added}_margin"]``
            How much better the cell fits its cluster than the second best, in nats.
        ``obs[f"{key_added}_outlier_score"]``
            How much better the cell fits all cells together than its cluster, in nats.
        ``obs[f"{key_added}_nearest"]``
            Nearest cluster of each cell, including outliers; only with ``outliers``.
        ``obsm[f"X_{key_added}"]``
            Map of the cells (:func:`threecpo.results.row_map`), for
            ``scanpy.pl.embedding(adata, key_added, color=key_added)``.
        ``var[f"{key_added}_group"]``
            ``"relevant"``, ``"shared"`` or ``"noise"`` for each gene that was counted.
        ``varm[f"{key_added}_rates"]``
            Rate of each gene (rows) in each cluster (columns).
        ``uns[key_added]``
            ``params``, ``layer`` (the matrix that was used), ``n_clusters``, ``loss``,
            ``restart_losses``, ``history``, ``top_columns`` (the genes that mark each
            cluster), ``cluster_names``, ``model`` (for :func:`model`, :func:`predict`
            and :func:`report`) and, where they apply, ``batch_key`` and ``k_path``.
        ``uns[f"dendrogram_{key_added}"]``
            The tree of the clusters as ``scanpy.pl.dendrogram`` expects it; not with
            outliers.
        ``uns[f"rank_genes_groups_{key_added}"]``
            Their markers as ``scanpy.pl.rank_genes_groups_dotplot`` expects them, by
            ``key=``.

    See Also
    --------
    predict : Clusters of new cells.
    report : The report on these clusters.
    write : The results of a model that was merged, cut, split or renamed.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> from threecpo.anndata import cluster
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> adata = AnnData(X.astype(np.float32))
    >>> cluster(adata)
    >>> adata.obs["threecpo"].cat.categories.tolist()
    ['0', '1', '2']
    >>> adata.var["threecpo_group"].tolist()
    ['relevant', 'relevant', 'shared', 'shared', 'noise', 'noise']
    """
    from ..cluster import ThreeCPO

    check_anndata(adata, "cluster", key_added, written=not copy)
    _refuse_unknown(options, ThreeCPO().get_params(deep=False))
    rows: dict[str, Any] = {}
    if batch_key is not None:
        rows["batch"] = column_of(adata, "batch_key", batch_key)
    if known_key is not None:
        rows["known_labels"] = column_of(adata, "known_key", known_key)
    table = counts_of(adata, layer, use_raw=use_raw)
    fitted = ThreeCPO(n_clusters, random_state=random_state, **options)
    fitted.calibrates = True
    fitted.fit(table, **rows, hold_labels=hold_labels)
    target = _copied(adata) if copy else adata
    write_model(target, fitted, table, key_added, batch_key)
    return target if copy else None


def _refuse_unknown(options: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    for name in options:
        if name not in known:
            near = get_close_matches(name, [*known, "layer", "use_raw"], 1)
            meant = MEANT.get(name) or (near[0] if near else None)
            advice = f" Use {meant}= instead." if meant else ""
            message = f"cluster has no parameter {name!r}.{advice}"
            raise TypeError(message)


def _copied(adata: AnnData) -> AnnData:
    """Return a copy in memory."""
    return adata.to_memory() if adata.isbacked else adata.copy()


def predict(
    adata: AnnData,
    fitted: AnnData | ThreeCPO,
    *,
    layer: str | None = None,
    use_raw: bool = False,
    batch_key: str | None = None,
    key_added: str = "threecpo",
    missing: str = "error",
    copy: bool = False,
) -> AnnData | None:
    """Assign new cells to the clusters of others.

    Parameters
    ----------
    adata : AnnData
        New cells x genes. Genes are matched by name; those that the model does not
        know are left out.
    fitted : AnnData or ThreeCPO
        Cells that :func:`cluster` was called on, or a model fitted on named genes.
    layer, use_raw : str or None, default=None, and bool, default=False
        Matrix of the raw counts of the new cells, as in :func:`cluster`.
    batch_key : str or None, default=None
        Column of ``obs`` with the batch of each new cell, for a model with batches.
        None takes the column of the fit if the new cells have it. Cells of unknown
        batches are taken to be of an average one.
    key_added : str, default="threecpo"
        Name of the results in both.
    missing : {"error", "zero"}, default="error"
        What to do about genes of the model that the new cells lack: refuse, or fill in
        zeros.
    copy : bool, default=False
        As in :func:`cluster`.

    Returns
    -------
    AnnData or None
        The copy, or None. It or ``adata`` has the entries of ``obs`` that
        :func:`cluster` makes.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> import threecpo.anndata
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> adata = AnnData(X.astype(np.float32))
    >>> old, new = adata[:800].copy(), adata[800:].copy()
    >>> threecpo.anndata.cluster(old, 3)
    >>> threecpo.anndata.predict(new, old)
    >>> new.obs["threecpo"].cat.categories.tolist()
    ['0', '1', '2']
    """
    from .._options import check_choice
    from ..cluster.fitting import info_of_new_rows

    check_anndata(adata, "predict", key_added, written=not copy)
    check_choice("missing", missing, ("error", "zero"))
    if hasattr(fitted, "record_"):
        known = fitted
    else:
        known = model(fitted, key_added=key_added)
        of_fit = fitted.uns[key_added].get("batch_key")
        batch_key = of_fit if batch_key is None and of_fit in adata.obs else batch_key
    batch = None if batch_key is None else column_of(adata, "batch_key", batch_key)
    table = _with_genes_of(known, counts_of(adata, layer, use_raw=use_raw), missing)
    info = info_of_new_rows(known.record_, adata.n_obs, batch=batch)
    table = replace(table, counts=table.counts.with_rows(info))
    rows = known.record_.describe(known.record_.in_batches(table.counts))
    sure = known.record_.confidence
    shares = None if sure is None else known.predict_proba(table)
    target = _copied(adata) if copy else adata
    write_cells(target, known, rows, shares, key_added)
    return target if copy else None


def _with_genes_of(fitted: ThreeCPO, table: CountTable, missing: str) -> CountTable:
    """Counts of the model's genes, in its order."""
    from ..results import match_columns

    wanted: Any = fitted.record_.column_names
    if wanted is None:
        message = "The model has no names of genes; fit it with threecpo.anndata."
        raise ValueError(message)
    matched = match_columns(wanted, table)
    if matched.missing and missing == "error":
        some = ", ".join(matched.missing[:4])
        more = ", …" if len(matched.missing) > 4 else ""
        message = (
            f"The new cells lack {len(matched.missing)} of the {len(wanted)} genes of "
            f"the model: {some}{more}; pass missing='zero' to fill in zeros."
        )
        raise ValueError(message)
    return matched.table
