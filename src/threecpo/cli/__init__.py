"""The command ``threecpo``: parses, calls the library and prints."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

from .._extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        What follows the name of the command; None takes those of the process.

    Returns
    -------
    int
        Exit code: 0 if all is well, 2 for bad input or usage, 130 after Ctrl-C.

    Examples
    --------
    >>> from threecpo.cli import main
    >>> main(["--version"])  # doctest: +ELLIPSIS
    threecpo ...
    0
    """
    if arguments is None:  # the process is ours: what imports make, stays
        gc.set_threshold(100_000)
    try:
        require("click", "cli", "The command line")
    except ImportError as error:
        print(f"threecpo: {error}", file=sys.stderr)  # noqa: T201
        return 2
    from ._main import run

    return run(arguments)
