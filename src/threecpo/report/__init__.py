"""One self-contained HTML page about a fit: summarise, then render."""

from ._html_page import render
from ._notebook import path_html
from ._page_file import Report, write, write_page
from ._summary import summarise

__all__ = ["Report", "path_html", "render", "summarise", "write", "write_page"]
