"""A report about a fit as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._writing import replaced
from ..results import path_table, row_table
from ._html_page import render
from ._summary import summarise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

    from ..cluster import ThreeCPO


def write(
    model: ThreeCPO,
    X: Any,
    path: str | PathLike[str],
    *,
    row_names: Iterable[Any] | None = None,
    column_names: Iterable[Any] | None = None,
    run: Mapping[str, Any] | None = None,
    title: str = "",
) -> None:
    """Write a report about a fitted model as one HTML file.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model. With ``n_clusters="auto"`` the report shows the path as well.
    X : CountTable, array-like, frame or sparse matrix of shape (n_rows, n_columns), \
or None
        The counts it was fitted on, for the map of the rows; None leaves the map out.
    path : str or path-like
        File to write; an existing one is replaced once the new one is complete.
    row_names : sequence of str, default=None
        Names of the rows; None takes those of a CountTable, else those of the fit,
        else their numbers, from 0.
    column_names : sequence of str, default=None
        Names of the columns; None takes those of the fit, or their numbers, from 0.
    run : mapping, default=None
        Facts about the run that the report lists: plain values, or mappings of them.
    title : str, default=""
        Heading of the report, such as the name of the data.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from threecpo import ThreeCPO, report
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(300, random_state=0)
    >>> model = ThreeCPO(3, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report.write(model, X, f"{folder}/report.html", title="Synth")
    ...     "<h1>Synth</h1>" in Path(folder, "report.html").read_text()
    True
    """
    k_path = getattr(model, "k_path_", None)
    summary = summarise(
        model,
        row_table(model, X, row_names=row_names),
        column_names=column_names,
        path=None if k_path is None else path_table(k_path),
        run=run,
        title=title,
    )
    write_page(summary, path)


def write_page(summary: dict[str, Any], path: str | PathLike[str]) -> None:
    """Render a summary and write the page to a file.

    Parameters
    ----------
    summary : dict
        What :func:`summarise` returns.
    path : str or path-like
        File to write; an existing one is replaced once the new one is complete.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from threecpo import ThreeCPO, report, results
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(300, random_state=0)
    >>> model = ThreeCPO(3, random_state=0).fit(X)
    >>> summary = report.summarise(model, results.row_table(model, X))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report.write_page(summary, f"{folder}/report.html")
    ...     Path(folder, "report.html").read_text()[:15]
    '<!doctype html>'
    """
    page = render(summary)
    with replaced(Path(path)) as beside:
        beside.write_text(page, encoding="utf-8", newline="\n")
