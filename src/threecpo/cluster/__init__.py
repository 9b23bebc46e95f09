"""Estimators that cluster rows."""

from typing import TYPE_CHECKING, Any

from .naming import ClusterDescription

if TYPE_CHECKING:
    from ._threecpo import ThreeCPO

__all__ = ["ClusterDescription", "ThreeCPO"]


def __getattr__(name: str) -> Any:
    """Load the estimator, and scikit-learn with it, when it is asked for."""
    if name != "ThreeCPO":
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from ._threecpo import ThreeCPO

    return ThreeCPO
