"""One self-contained HTML page about a fit: summarise, then render."""

from ._render import render
from ._summary import summarise
from ._write import write

__all__ = ["render", "summarise", "write"]
