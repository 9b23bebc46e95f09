"""A fit that people can watch."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from .._progress import RunBar
from ._blocks import OnDisk

if TYPE_CHECKING:
    from ..cluster import ThreeCPO
    from ..table import CountTable


def fit(model: ThreeCPO, table: CountTable | OnDisk) -> None:
    """Fit, with a bar on a terminal."""
    shown = RunBar() if sys.stderr.isatty() else nullcontext()
    with shown as progress:
        if isinstance(table, OnDisk):
            table.fit(model, progress)
        else:
            model.fit(table, progress=progress)
