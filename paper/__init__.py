"""The paper's methods, data sets, tables and figures.

``python -m paper list`` names every experiment; README.md says what each one needs.
"""

from .command import EXPERIMENTS, main, reproduce
from .methods import methods

__all__ = ["EXPERIMENTS", "main", "methods", "reproduce"]
