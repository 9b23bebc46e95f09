"""Seven ways to start the rows of 3CPO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._comparison_tables import METRICS, compared, protocol_of, write_compared
from ._variants import threecpo

if TYPE_CHECKING:
    from ._study import Study

VARIANTS = {
    "Poisson-k-Means++": threecpo(),
    "random labels": threecpo(init="random-labels"),
    "random centers": threecpo(init="random-centers"),
    "k-Means++": threecpo(init="k-means++"),
    "k-Means (full)": threecpo(init="k-means"),
    "RF+k-Means++": threecpo(init="rf-k-means++"),
    "RF+k-Means (full)": threecpo(init="rf-k-means"),
}


def run(study: Study) -> None:
    variants = {name: VARIANTS[name] for name in study.chosen(VARIANTS)}
    metrics = METRICS | {"C1": "C1"}
    entries = compared(study, "initialisation", study.data(), variants, metrics)
    write_compared(study, "Starts of the rows", entries, protocol_of(study))
