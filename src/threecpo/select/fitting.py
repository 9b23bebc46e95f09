"""What other rooms need of paths: empty ones, and fits to put into them."""

from ._poisson import PoissonFit
from ._select import check_known_path, empty_path, largest_of_auto, whole_numbers

__all__ = [
    "PoissonFit",
    "check_known_path",
    "empty_path",
    "largest_of_auto",
    "whole_numbers",
]
