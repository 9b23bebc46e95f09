"""One self-contained HTML page about a fit: summarise, then render."""

from ._notebook import path_html as path_html
from ._page import Report, render, write
from ._page import write_page as write_page
from ._summary import summarise

__all__ = [
    "Report",
    "render",
    "summarise",
    "write",
]
