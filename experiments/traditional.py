"""ARI, NMI and ACC of the methods that do not choose columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._comparison_tables import compared, protocol_of, write_compared

if TYPE_CHECKING:
    from ._study import Study

METHODS = (
    "3CPO",
    "PoissonL",
    "PoissonC",
    "SKM",
    "KM",
    "STD+KM",
    "MM+KM",
    "RF+KM",
    "RCA+KM",
)


def run(study: Study) -> None:
    data_sets = study.data(prepared=True)
    methods = study.methods(METHODS)
    entries = compared(study, "traditional", data_sets, methods)
    write_compared(
        study,
        "Traditional methods",
        entries,
        protocol_of(study),
    )
