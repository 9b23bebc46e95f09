"""What other rooms need of paths: empty ones, and fits to put into them."""

from ._poisson import PoissonFit
from ._select import empty_path, largest_of_auto, whole_numbers

__all__ = ["PoissonFit", "empty_path", "largest_of_auto", "whole_numbers"]
