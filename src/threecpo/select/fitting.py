"""What other rooms need of paths: empty ones, and checks of numbers of clusters."""

from ._select import check_known_path, empty_path, largest_of_auto, whole_numbers

__all__ = [
    "check_known_path",
    "empty_path",
    "largest_of_auto",
    "whole_numbers",
]
