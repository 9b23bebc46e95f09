"""Estimators that cluster rows."""

from ._poisson import PoissonC, PoissonL
from ._spherical import SphericalKMeans
from ._threecpo import ThreeCPO

__all__ = ["PoissonC", "PoissonL", "SphericalKMeans", "ThreeCPO"]
