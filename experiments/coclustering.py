"""ARI, NMI and ACC of the co-clustering methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._comparison_tables import compared, protocol_of, write_compared

if TYPE_CHECKING:
    from ._study import Study

METHODS = ("3CPO", "CROINFO", "CCMod", "CCSMod", "ELBM", "SELBM", "TauCC")


def run(study: Study) -> None:
    data_sets = study.data(prepared=True)
    entries = compared(study, "co-clustering", data_sets, study.methods(METHODS))
    write_compared(
        study,
        "Co-clustering methods",
        entries,
        protocol_of(study)
        + " TauCC, which finds its own number of clusters, runs once.",
    )
