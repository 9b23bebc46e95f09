"""Estimators that cluster rows."""

from ._threecpo import ThreeCPO
from .naming import ClusterDescription

__all__ = ["ClusterDescription", "ThreeCPO"]
