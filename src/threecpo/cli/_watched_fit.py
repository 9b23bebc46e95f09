"""A fit with a bar for people who wait."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from .._progress import RunBar
from ._block_input import FileInBlocks

if TYPE_CHECKING:
    from ..cluster import ThreeCPO
    from ..table import CountTable


def fit(model: ThreeCPO, counts: CountTable | FileInBlocks) -> None:
    """Fit, with a bar on a terminal."""
    shown = RunBar() if sys.stderr.isatty() else nullcontext()
    with shown as progress:
        if isinstance(counts, FileInBlocks):
            counts.fit(model, progress)
        else:
            model.fit(counts, progress=progress)
