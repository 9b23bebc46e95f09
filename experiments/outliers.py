"""Outliers that 3CPO marks, and ACC, NMI and ARI without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._comparison_tables import compared, protocol_of, write_compared
from ._variants import threecpo

if TYPE_CHECKING:
    from ._study import Study

METRICS = {"ARI*": "ARI", "NMI*": "NMI", "ACC*": "ACC", "outliers": "outliers"}


def run(study: Study) -> None:
    variants = {"3CPO": threecpo(outliers="iterative")}
    data_sets = study.data(prepared=True)
    entries = compared(study, "outliers", data_sets, variants, METRICS)
    write_compared(
        study,
        "Outliers",
        entries,
        protocol_of(study)
        + " Rows that fit the background better than any cluster are outliers, decided "
        "in every iteration; scores with a star leave them out.",
        across="metric",
    )
