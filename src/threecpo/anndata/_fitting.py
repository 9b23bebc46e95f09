"""Cluster the cells of an AnnData, and place new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._counts import check_anndata, check_key, counts_of
from ._results import write_cells, write_fit
from ._stored_model import model as stored_model

if TYPE_CHECKING:
    from anndata import AnnData

    from ..cluster import ThreeCPO
    from ..table import CountTable


def cluster(
    adata: AnnData,
    n_clusters: int | str = "auto",
    *,
    layer: str | None = None,
    batch_key: str | None = None,
    known_key: str | None = None,
    hold_labels: bool = True,
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
    n_clusters : int or "auto", default="auto"
        Number of clusters; ``"auto"`` chooses it.
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
    rows: dict[str, Any] = {
        argument: column_of(adata, names[argument], key)
        for argument, key in keys.items()
        if key is not None
    }
    model = ThreeCPO(n_clusters, random_state=random_state, **options)
    model.fit(table, **rows, hold_labels=hold_labels)
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


def predict(
    adata: AnnData,
    fitted: AnnData | ThreeCPO,
    *,
    layer: str | None = None,
    batch_key: str | None = None,
    key: str = "threecpo",
    missing: str = "error",
    copy: bool = False,
) -> AnnData | None:
    """Put new cells in the clusters of others.

    Parameters
    ----------
    adata : AnnData
        New cells x genes. Genes are found by their names; those that the model does not
        know are left out.
    fitted : AnnData or ThreeCPO
        Cells that :func:`cluster` was called on, or a model fitted on named genes.
    layer : str or None, default=None
        Matrix of the raw counts of the new cells, as in :func:`cluster`.
    batch_key : str or None, default=None
        Column of ``obs`` with the batch of each new cell, where the clusters were made
        with batches; cells of others are taken to be of an average one.
    key : str, default="threecpo"
        Name of the results in both.
    missing : {"error", "zero"}, default="error"
        What to do about genes of the model that the new cells lack: refuse, or take
        them for zeros.
    copy : bool, default=False
        Whether to return a copy with the results instead of writing them into
        ``adata``.

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

    check_anndata(adata, "predict", written=not copy)
    check_key("key", key)
    check_choice("missing", missing, ("error", "zero"))
    model = fitted if hasattr(fitted, "record_") else stored_model(fitted, key=key)
    table = _with_genes_of(model, counts_of(adata, layer), missing)
    batch = None if batch_key is None else column_of(adata, "batch_key", batch_key)
    info = info_of_new_rows(model.record_, adata.n_obs, batch=batch)
    rows = model.record_.describe(table.counts.with_rows(info))
    target = copied(adata) if copy else adata
    write_cells(target, model, rows, key)
    return target if copy else None


def copied(adata: AnnData) -> AnnData:
    """Return a copy in memory."""
    return adata.to_memory() if adata.isbacked else adata.copy()


def _with_genes_of(model: ThreeCPO, table: CountTable, missing: str) -> CountTable:
    """Counts of the model's genes, in its order."""
    from ..results import match_columns

    wanted: Any = model.record_.column_names
    if wanted is None:
        message = "The model has no names of genes; fit it with threecpo.anndata."
        raise ValueError(message)
    matched = match_columns(wanted, table)
    if matched.missing and missing == "error":
        some = ", ".join(matched.missing[:4])
        more = ", …" if len(matched.missing) > 4 else ""
        message = (
            f"The new cells lack {len(matched.missing)} of the {len(wanted)} genes of "
            f"the model: {some}{more}; missing='zero' takes them for zeros."
        )
        raise ValueError(message)
    return matched.table
