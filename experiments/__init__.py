"""The paper's tables and figures, from one command each.

``python -m experiments NAME``, or :func:`reproduce`.
"""

from ._command import EXPERIMENTS, main, reproduce

__all__ = ["EXPERIMENTS", "main", "reproduce"]
