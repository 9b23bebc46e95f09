"""A fit that people can watch."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .._progress import progress
from ._blocks import OnDisk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..cluster import ThreeCPO
    from ..table import CountTable


def fit(model: ThreeCPO, table: CountTable | OnDisk) -> None:
    """Fit, with a bar on a terminal; the model gets the names of the columns."""
    with _bar(model):
        if isinstance(table, OnDisk):
            table.fit(model)
        else:
            model.fit(table.X)
    if table.column_names is not None:
        model.feature_names_in_ = table.column_names


@contextmanager
def _bar(model: ThreeCPO) -> Iterator[None]:
    """Show the runs of a fit; the model itself is left as it was."""
    if not sys.stderr.isatty():
        yield
        return
    model.verbose = 1
    try:
        # A path over the number of clusters has a bar of its own.
        if model.n_clusters == "auto":
            yield
        else:
            with _runs(model):
                yield
    finally:
        model.verbose = 0


@contextmanager
def _runs(model: ThreeCPO) -> Iterator[None]:
    with progress("Runs", model.n_init, shown=True) as advance:

        def show(
            _n_clusters: int,
            _run: int,
            iteration: int,
            entry: dict[str, float],
            finished: bool,  # noqa: FBT001
        ) -> None:
            text = f"iteration {iteration}, loss {entry['loss']:.6g}"
            advance(int(finished), text)

        model._tell = show  # type: ignore[assignment,method-assign]
        try:
            yield
        finally:
            del model._tell
