"""A fit of any table as a new AnnData."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._extras import require
from ._results import write_fit

if TYPE_CHECKING:
    from anndata import AnnData

    from ..cluster import ThreeCPO
    from ..table import CountTable


def to_anndata(model: ThreeCPO, table: CountTable, *, key: str = "threecpo") -> AnnData:
    """Return counts and all that a fit found of them as a new AnnData.

    Parameters
    ----------
    model : ThreeCPO
        A model that was fitted to this table.
    table : CountTable
        Counts with their names; labels become the column ``label`` of ``obs``.
    key : str, default="threecpo"
        Name of the entries, as in :func:`cluster`.

    Returns
    -------
    anndata.AnnData
        ``X`` are the counts.

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
    n_rows, n_columns = table.shape
    rows, columns = table.row_names, table.column_names
    obs = pandas.DataFrame(index=_names(rows, n_rows))
    var = pandas.DataFrame(index=_names(columns, n_columns))
    if table.labels is not None:
        codes = table.labels.tolist()
        named = table.label_names
        obs["label"] = pandas.Categorical(
            [
                None if code < 0 else str(code if named is None else named[code])
                for code in codes
            ]
        )
    adata: AnnData = anndata.AnnData(table.X.astype("float32"), obs=obs, var=var)
    write_fit(
        adata, model, key, replace(table, column_names=var.index.to_numpy(object))
    )
    return adata


def _names(given: Any, n: int) -> list[str]:
    return list(map(str, range(n) if given is None else given))
