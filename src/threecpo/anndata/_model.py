"""The model that an AnnData holds: read, written back, reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._extras import require
from ._counts import (
    check_anndata,
    column_of,
    counts_again,
    counts_of,
    counts_of_fit,
)
from ._results import stored_model, write_model

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from anndata import AnnData

    from ..cluster import ThreeCPO
    from ..report import Report
    from ..table import CountTable


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
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> import threecpo.anndata
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> adata = AnnData(X.astype(np.float32))
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
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> import threecpo.anndata
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> adata = AnnData(X.astype(np.float32))
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
