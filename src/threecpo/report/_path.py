"""What a report says of how the number of clusters was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..results import figure_data

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..results import Table
    from .words import Noun

    Part = dict[str, Any]


def path_part(
    path: Table | None, choice: Mapping[str, Any] | None, row: Noun
) -> Part | None:
    """The criterion over K, the choice in words, and what lies one level below."""
    if path is None:
        return None
    choice = choice or {}
    part = figure_data.k_path(path)
    sentence = choice.get("sentence", part["sentence"])
    return part | {
        "sentence": row.in_place_of_rows(sentence),
        "next_k": choice.get("next_k"),
        "below": choice.get("below", []),
    }
