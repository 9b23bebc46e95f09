"""What other rooms need of paths: empty ones, and checks of numbers of clusters."""

from ._select import empty_path, largest_of_auto, numbers_of_auto, whole_numbers

__all__ = [
    "empty_path",
    "largest_of_auto",
    "numbers_of_auto",
    "whole_numbers",
]
