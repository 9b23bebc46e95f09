"""A fit with a bar, or a line every half minute, for people who wait."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from .._progress import RunBar
from ._block_input import FileInBlocks

if TYPE_CHECKING:
    from ..cluster import ThreeCPO
    from ..table import CountTable
    from ._input_file import GivenRows


def watched() -> RunBar:
    """A bar on a terminal; elsewhere a line after every half minute."""
    return RunBar(quiet=not sys.stderr.isatty())


def fit(
    model: ThreeCPO,
    counts: CountTable | FileInBlocks,
    rows: GivenRows,
) -> None:
    """Fit, with a bar on a terminal."""
    with watched() as progress:
        if isinstance(counts, FileInBlocks):
            counts.fit(model, progress, rows)
        else:
            given: dict[str, Any] = {"progress": progress, **rows}
            model.fit(counts, **given)


def stability(model: ThreeCPO, counts: CountTable) -> dict[str, Any]:
    """Measure how far clusters can be trusted, with a bar on a terminal."""
    with watched() as progress:
        found = model.stability(counts, progress=progress)
    table = {name: np.asarray(found[name]) for name in found}
    return table | {"real": table["real"].astype(np.int64)}
