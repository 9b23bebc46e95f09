"""Tests of an installed package leave out what lies in ``src`` here.

Its examples are run by ``python -m pytest --pyargs threecpo`` then.
"""

from importlib.util import find_spec
from pathlib import Path

SOURCES = Path(__file__).resolve().parent / "src"
installed = find_spec("threecpo")
if installed is None or SOURCES not in Path(installed.origin).resolve().parents:
    collect_ignore_glob = ["src/*"]
