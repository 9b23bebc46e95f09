"""Number of relevant columns, |C1|."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._comparison_tables import compared, protocol_of, write_compared

if TYPE_CHECKING:
    from ._study import Study


def run(study: Study) -> None:
    data_sets = study.data(prepared=True)
    methods = study.methods(["3CPO"])
    entries = compared(study, "columns", data_sets, methods, {"C1": "C1"})
    write_compared(
        study, "Relevant columns", entries, protocol_of(study), across="metric"
    )
