"""Cluster the cells of an AnnData, assign new ones, report; the model it holds."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from .._extras import require
from ._counts import check_anndata, column_of, counts_again, counts_of, counts_of_fit
from ._results import stored_model, write_cells, write_model

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from anndata import AnnData

    from ..cluster import ThreeCPO
    from ..report import Report
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
    >>> from anndata import AnnData
    >>> from threecpo.anndata import cluster
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> adata = AnnData(X.astype("float32"))
    >>> cluster(adata)
    >>> adata.obs["threecpo"].cat.categories.tolist()
    ['0', '1', '2']
    >>> adata.var["threecpo_group"].tolist()
    ['relevant', 'relevant', 'shared', 'shared', 'noise', 'noise']
    """
    from ..cluster import ThreeCPO

    check_anndata(adata, "cluster", key_added, written=not copy)
    known = ThreeCPO().get_params(deep=False)
    for name in options:
        if name not in known:
            near = get_close_matches(name, [*known, "layer", "use_raw"], 1)
            meant = MEANT.get(name) or (near[0] if near else None)
            advice = f" Use {meant}= instead." if meant else ""
            message = f"cluster has no parameter {name!r}.{advice}"
            raise TypeError(message)
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
    >>> from anndata import AnnData
    >>> import threecpo.anndata
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> adata = AnnData(X.astype("float32"))
    >>> old, new = adata[:800].copy(), adata[800:].copy()
    >>> threecpo.anndata.cluster(old, 3)
    >>> threecpo.anndata.predict(new, old)
    >>> new.obs["threecpo"].cat.categories.tolist()
    ['0', '1', '2']
    """
    from .._core.confidence import probabilities
    from .._core.workers import Workers
    from .._options import check_choice, resolve_n_jobs
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
    record = known.record_
    info = info_of_new_rows(record, adata.n_obs, batch=batch, stacklevel=3)
    counts = record.in_batches(table.counts.with_rows(info))
    shares, sure = None, record.confidence
    with Workers(resolve_n_jobs(known.n_jobs)) as workers:
        rows = record.describe(counts, workers)
        if sure is not None:
            scores = record.row_scores(counts, workers)
            shares = probabilities(scores, sure.temperature)
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


def model(adata: AnnData, *, key_added: str = "threecpo") -> ThreeCPO:
    """Return the model that :func:`cluster` or :func:`write` stored in an AnnData.

    It comes back from h5ad files as well. Nothing in it is executed.

    Parameters
    ----------
    adata : AnnData
        Cells that :func:`cluster` was called on, perhaps with fewer cells or genes now.
    key_added : str, default="threecpo"
        Name of the results.

    Returns
    -------
    ThreeCPO
        The fitted model. Parameters that files cannot hold, such as functions, have
        their defaults.

    Examples
    --------
    >>> from anndata import AnnData
    >>> import threecpo.anndata
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> adata = AnnData(X.astype("float32"))
    >>> threecpo.anndata.cluster(adata, 3)
    >>> threecpo.anndata.model(adata).n_clusters_
    3
    """
    check_anndata(adata, "model", key_added)
    return stored_model(adata, key_added)


def write(
    adata: AnnData,
    model: ThreeCPO,
    *,
    layer: str | None = None,
    use_raw: bool = False,
    key_added: str = "threecpo",
) -> None:
    """Write all results of a fitted model into the AnnData of its cells.

    For models that were merged, cut, split or renamed after :func:`cluster`, and for
    those fitted with :class:`~threecpo.ThreeCPO`. Clusters, names, map, markers, tree
    and the model for :func:`report` and :func:`predict` are replaced together.

    Parameters
    ----------
    adata : AnnData
        The cells that the model was fitted on, in any order.
    model : ThreeCPO
        A fitted model.
    layer, use_raw : str or None, default=None, and bool, default=False
        Matrix of the raw counts, as in :func:`cluster`; by default the one that the
        earlier results of this name were made of.
    key_added : str, default="threecpo"
        Name of the results, which are those of :func:`cluster`.

    Examples
    --------
    >>> from anndata import AnnData
    >>> import threecpo.anndata
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> adata = AnnData(X.astype("float32"))
    >>> threecpo.anndata.cluster(adata, 3)
    >>> merged = threecpo.anndata.model(adata).merge([[0, 2]])
    >>> threecpo.anndata.write(adata, merged.name_clusters(["both", "other"]))
    >>> adata.obs["threecpo_name"].cat.categories.tolist()
    ['both', 'other']
    """
    check_anndata(adata, "write", key_added, written=True)
    earlier: Any = adata.uns.get(key_added)
    earlier = earlier if hasattr(earlier, "get") else {}
    if layer is None and not use_raw and "layer" in earlier:
        table = counts_again(adata, str(earlier["layer"]))
    else:
        table = counts_of(adata, layer, use_raw=use_raw)
    write_model(adata, model, table, key_added, earlier.get("batch_key"))


def report(
    adata: AnnData,
    path: str | PathLike[str] | None = None,
    *,
    key_added: str = "threecpo",
    labels: str | Sequence[str] | None = None,
    row_noun: str = "cells",
    column_noun: str = "genes",
    title: str = "",
) -> Report | None:
    """Make the report on the clusters of an AnnData, as one HTML page.

    Parameters
    ----------
    adata : AnnData
        Cells that :func:`cluster` was called on, with their counts, in any order.
    path : str or path-like, default=None
        File to write; None returns the report, which a notebook shows.
    key_added : str, default="threecpo"
        Name of the results.
    labels : str or sequence of str, default=None
        Columns of ``obs`` to compare the clusters with, such as ``"cell_type"`` or
        ``["cell_type", "donor"]``.
    row_noun, column_noun : str, default="cells" and "genes"
        What rows and columns are.
    title : str, default=""
        Heading of the report.

    Returns
    -------
    threecpo.report.Report or None
        The report, or None if it was written to a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from anndata import AnnData
    >>> import threecpo.anndata
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(300, random_state=0)
    >>> adata = AnnData(X.astype("float32"))
    >>> threecpo.anndata.cluster(adata, 3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     threecpo.anndata.report(adata, f"{folder}/cells.html", title="Cells")
    ...     "<h1>Cells</h1>" in Path(folder, "cells.html").read_text()
    True
    >>> adata.obs["donor"] = ["d1", "d2"] * 150
    >>> threecpo.anndata.report(adata, labels="donor")
    Report(300 cells in 3 clusters, told apart by 2 of 6 genes.)
    """
    from ..report import Report

    fitted = model(adata, key_added=key_added)
    table = counts_again(adata, str(adata.uns[key_added]["layer"]))
    asked = [labels] if isinstance(labels, str) else list(labels or ())
    values = {name: column_of(adata, "labels", name) for name in asked}
    counts, cells = counts_of_fit(fitted, table)
    made = Report(
        fitted,
        counts,
        title=title,
        run={"matrix": table.description},
        labels={name: column[cells] for name, column in values.items()},
        row_noun=row_noun,
        column_noun=column_noun,
    )
    if path is None:
        return made
    made.save(path)
    return None


def to_anndata(
    model: ThreeCPO, table: CountTable, *, key_added: str = "threecpo"
) -> AnnData:
    """Return counts and all results of a fit as a new AnnData.

    Parameters
    ----------
    model : ThreeCPO
        A model that was fitted to this table.
    table : CountTable
        Counts with their names; each kind of labels becomes a column of ``obs``.
    key_added : str, default="threecpo"
        Name of the results, which are those of :func:`cluster`.

    Returns
    -------
    anndata.AnnData
        ``X`` has the counts.

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
    obs, var = (
        pandas.DataFrame(index=[*map(str, range(n) if names is None else names)])
        for names, n in zip(
            (table.row_names, table.column_names), table.shape, strict=True
        )
    )
    for kind, texts in table.label_kinds.items():
        obs[kind] = pandas.Categorical([text or None for text in texts])
    adata: AnnData = anndata.AnnData(table.X.astype("float32"), obs=obs, var=var)
    write(adata, model, layer="X", key_added=key_added)
    return adata
