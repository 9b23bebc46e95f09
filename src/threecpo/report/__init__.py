"""One self-contained HTML page about a fit."""

from ._notebook import path_html as path_html
from ._page import Report, write
from ._page import render as render
from ._page import write_page as write_page
from ._summary import summarise as summarise

__all__ = ["Report", "write"]
