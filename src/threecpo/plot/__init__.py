"""Figures, as functions that return matplotlib Axes."""

from ._k_path import k_path

__all__ = ["k_path"]
