"""The report about the clusters of an AnnData."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._counts import check_anndata, counts_called
from ._stored_model import model as stored_model

if TYPE_CHECKING:
    from os import PathLike

    from anndata import AnnData

    from ..cluster import ThreeCPO
    from ..table import CountTable


def report(
    adata: AnnData,
    path: str | PathLike[str],
    *,
    key: str = "threecpo",
    title: str = "",
) -> None:
    """Write the report about clusters that :func:`cluster` made, as one HTML file.

    Parameters
    ----------
    adata : AnnData
        Cells that :func:`cluster` was called on, with their counts, in any order.
    path : str or path-like
        File to write.
    key : str, default="threecpo"
        Name of the results: ``key_added`` of :func:`cluster`.
    title : str, default=""
        Heading of the report.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from anndata import AnnData
    >>> import threecpo.anndata
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(300, random_state=0)
    >>> adata = AnnData(X.astype(np.float32))
    >>> threecpo.anndata.cluster(adata, 3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     threecpo.anndata.report(adata, f"{folder}/cells.html", title="Cells")
    ...     "<h1>Cells</h1>" in Path(folder, "cells.html").read_text()
    True
    """
    from ..report import write

    check_anndata(adata, "report")
    model = stored_model(adata, key=key)
    table = counts_of_fit(adata, model, key)
    write(model, table, path, title=title, run={"matrix": table.description})


def counts_of_fit(adata: AnnData, model: ThreeCPO, key: str) -> CountTable:
    """Counts that a model was fitted on, from the matrix that was taken then."""
    from ..results import match_columns
    from ..table import CountTable

    cells = cells_of_fit(adata, model)
    table = counts_called(adata, str(adata.uns[key]["layer"]))
    genes: Any = model.record_.column_names
    matched, missing, _ = match_columns(genes, table)
    if missing:
        message = (
            f"This AnnData lacks {len(missing)} of the {len(genes)} genes that its "
            "clusters were made of; keep the AnnData of the fit for the report."
        )
        raise ValueError(message)
    if len(cells) == adata.n_obs and (np.diff(cells) == 1).all():
        return matched
    return CountTable(
        matched.counts.rows(cells),
        row_names=model.record_.row_names,
        column_names=genes,
        description=table.description,
    )


def cells_of_fit(adata: AnnData, model: ThreeCPO) -> Any:
    """Place of each cell of the fit in an AnnData that may have another order."""
    fitted: Any = model.record_.row_names
    names = adata.obs_names.astype(str)
    if list(names) == list(fitted):
        return np.arange(len(fitted))
    places = {name: i for i, name in enumerate(names)}
    found = np.array([places.get(name, -1) for name in fitted], dtype=np.int64)
    if (found < 0).any() or len(places) < len(names):
        message = (
            f"This AnnData holds {int((found >= 0).sum())} of the {len(fitted)} cells "
            "that its clusters were made of, or names of cells that are not different; "
            "keep the AnnData of the fit for the report."
        )
        raise ValueError(message)
    return found
