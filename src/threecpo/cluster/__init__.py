"""Estimators that cluster rows."""

from ._threecpo import ThreeCPO

__all__ = ["ThreeCPO"]
