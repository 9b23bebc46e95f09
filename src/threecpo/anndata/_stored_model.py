"""The model that an AnnData holds, and its report."""

from __future__ import annotations

import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from ._counts import check_anndata, check_key, counts_called

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from anndata import AnnData
    from numpy.typing import NDArray

    from ..cluster import ThreeCPO
    from ..report import Report
    from ..table import CountTable

_PLAIN = (str, int, float, tuple, list, dict, np.ndarray, np.generic, type(None))


def model(adata: AnnData, *, key: str = "threecpo") -> ThreeCPO:
    """Return the model that :func:`cluster` stored in an AnnData.

    It comes back from h5ad files as well. Nothing in it is executed.

    Parameters
    ----------
    adata : AnnData
        Cells that :func:`cluster` was called on, also after more cells or genes were
        left out.
    key : str, default="threecpo"
        Name of the results: ``key_added`` of :func:`cluster`.

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
    check_anndata(adata, "model")
    check_key("key", key)
    facts = adata.uns.get(key)
    held = facts.get("model") if hasattr(facts, "get") else None
    if held is None:
        message = (
            f"This AnnData holds no model under uns[{key!r}]; "
            "call threecpo.anndata.cluster first, or pass key=."
        )
        raise ValueError(message)
    return _from_bytes(held, f"uns[{key!r}]['model']")


def to_bytes(fitted: ThreeCPO) -> NDArray[np.uint8]:
    """Model file as an array, which h5ad and zarr files hold."""
    from ..persistence import save

    with TemporaryDirectory() as folder:
        path = Path(folder, "model.npz")
        save(_with_plain_parameters(fitted), path)
        return np.frombuffer(path.read_bytes(), dtype=np.uint8).copy()


def _from_bytes(held: Any, place: str) -> ThreeCPO:
    from ..persistence import load

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


def _with_plain_parameters(fitted: ThreeCPO) -> ThreeCPO:
    """Same fit with defaults for parameters that are functions, models or such."""
    defaults = type(fitted)(1).get_params(deep=False)
    other = {
        name: defaults[name]
        for name, value in fitted.get_params(deep=False).items()
        if not isinstance(value, _PLAIN)
    }
    return copy.copy(fitted).set_params(**other) if other else fitted


CALLED = {"rows": "cells", "columns": "genes"}


def report(
    adata: AnnData,
    path: str | PathLike[str] | None = None,
    *,
    key: str = "threecpo",
    labels: str | Sequence[str] | None = None,
    names: Any = None,
    called: Mapping[str, str] | None = None,
    title: str = "",
) -> Report | None:
    """Make the report about clusters that :func:`cluster` made, as one HTML page.

    Parameters
    ----------
    adata : AnnData
        Cells that :func:`cluster` was called on, with their counts, in any order.
    path : str or path-like, default=None
        File to write; None returns the report, which a notebook shows.
    key : str, default="threecpo"
        Name of the results: ``key_added`` of :func:`cluster`.
    labels : str or sequence of str, default=None
        Columns of ``obs`` to compare the clusters with, such as ``"cell_type"`` or
        ``["cell_type", "donor"]``.
    names : sequence of str, dict or callable, default=None
        Names of the clusters, as :meth:`threecpo.ThreeCPO.name_clusters` takes them;
        None keeps those made of their genes.
    called : mapping of str to str, default=None
        What rows and columns are called; None is ``{"rows": "cells", "columns":
        "genes"}``.
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
    Report(300 cells in 3 clusters: the largest has 106 cells (35 %), the smallest 95.)
    """
    from ..report import Report

    check_anndata(adata, "report")
    fitted = model(adata, key=key)
    given = labels_of(adata, labels, cells_of_fit(adata, fitted))
    table = counts_of_fit(adata, fitted, key)
    made = Report(
        fitted,
        table,
        title=title,
        run={"matrix": table.description},
        labels=given,
        names=names,
        called=CALLED if called is None else called,
    )
    if path is None:
        return made
    made.save(path)
    return None


def labels_of(
    adata: AnnData, asked: str | Sequence[str] | None, cells: NDArray[np.int64]
) -> dict[str, Any]:
    """Columns of ``obs`` in the order of these cells."""
    columns = [asked] if isinstance(asked, str) else list(asked or ())
    for name in columns:
        if name not in adata.obs:
            known = ", ".join(map(repr, adata.obs.columns)) or "no columns"
            message = f"labels={name!r} is no column of obs, which has {known}."
            raise ValueError(message)
    return {name: adata.obs[name].iloc[cells] for name in columns}


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


def cells_of_fit(adata: AnnData, model: ThreeCPO) -> NDArray[np.int64]:
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
