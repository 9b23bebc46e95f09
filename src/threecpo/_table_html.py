"""The first rows and columns of a table of counts, as a notebook shows them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import scipy.sparse as sp
    from numpy.typing import NDArray

ROWS, COLUMNS, LETTERS = 8, 10, 40


def table_html(
    heading: str,
    X: sp.csr_array,
    row_names: NDArray[np.object_] | None,
    column_names: NDArray[np.object_] | None,
    labels: list[str] | None,
) -> str:
    """A heading, and a table of few counts; all names are escaped."""
    n_rows, n_columns = X.shape
    few = X[:ROWS].toarray()[:, :COLUMNS]
    heads = ["", *_names(column_names, min(n_columns, COLUMNS))]
    heads += ["…"] * (n_columns > COLUMNS) + ["label"] * (labels is not None)
    lines = []
    names = _names(row_names, len(few))
    for i, (name, counts) in enumerate(zip(names, few.tolist(), strict=True)):
        cells = [f"{count:g}" for count in counts] + ["…"] * (n_columns > COLUMNS)
        cells += [] if labels is None else [labels[i]]
        lines.append(f"<tr><th>{_text(name)}</th>{_cells('td', cells)}</tr>")
    if n_rows > ROWS:
        lines.append(f"<tr><th>…</th>{_cells('td', ['…'] * (len(heads) - 1))}</tr>")
    return (
        f"<div><p><b>{escape(heading)}</b></p><table><thead><tr>"
        f"{_cells('th', heads)}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        "</div>"
    )


def _names(names: NDArray[np.object_] | None, n: int) -> list[str]:
    return [str(i) for i in range(n)] if names is None else names[:n].tolist()


def _cells(tag: str, texts: Iterable[str]) -> str:
    return "".join(f"<{tag}>{_text(text)}</{tag}>" for text in texts)


def _text(text: str) -> str:
    """A name of at most some letters, without what no page can hold."""
    short = text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"
    return escape(short.encode("utf-8", "replace").decode())
