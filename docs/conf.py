"""How the site is made: ``make docs``."""

import sys
import tomllib
from importlib import metadata
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS / "_ext"), str(ROOT / "tests" / "docs")]

import made_files  # noqa: E402

with (ROOT / "pyproject.toml").open("rb") as file:
    _addresses = tomllib.load(file)["tool"]["hatch"]["metadata"]["hooks"]["custom"]

project = "threecpo"
author = "The threecpo developers"
copyright = author  # noqa: A001
release = metadata.version("threecpo")
version = release.partition("+")[0]
repository = _addresses["repository"]

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "links",
]
exclude_patterns = ["_made", "_build"]
# Quotes alone: two dashes begin an option.
smartquotes_action = "q"
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 4

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
autodoc_member_order = "bysource"
autosummary_generate = True
numpydoc_show_class_members = False
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "threecpo"
html_baseurl = _addresses["documentation"]
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_css_files = ["site.css"]
html_extra_path = ["_made"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "github_url": repository,
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "search_bar_text": "Search, e.g. Leiden, batch, 10x",
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_version_warning_banner": False,
}
html_sidebars = {"index": []}

made_files.make(DOCS / "_made")
