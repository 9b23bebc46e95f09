"""One self-contained HTML page about a fit: summarise, then render."""

from ._notebook import path_html
from ._page import Report, render, write, write_page
from ._summary import summarise

__all__ = ["Report", "path_html", "render", "summarise", "write", "write_page"]
