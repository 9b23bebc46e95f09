"""Clusters of new cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._counts import check_anndata, check_key, counts_of
from ._results import write_cells
from ._stored_model import model as stored_model

if TYPE_CHECKING:
    from anndata import AnnData

    from ..cluster import ThreeCPO
    from ..table import CountTable


def predict(
    adata: AnnData,
    fitted: AnnData | ThreeCPO,
    *,
    layer: str | None = None,
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

    check_anndata(adata, "predict", written=not copy)
    check_key("key", key)
    check_choice("missing", missing, ("error", "zero"))
    model = fitted if hasattr(fitted, "record_") else stored_model(fitted, key=key)
    table = _with_genes_of(model, counts_of(adata, layer), missing)
    rows = model.record_.describe(table.counts)
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
