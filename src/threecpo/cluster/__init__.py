"""Estimators that cluster rows."""

from ._poisson import PoissonC, PoissonL
from ._threecpo import ThreeCPO
from .naming import ClusterDescription

__all__ = ["ClusterDescription", "PoissonC", "PoissonL", "ThreeCPO"]
