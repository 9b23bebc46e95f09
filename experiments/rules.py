"""3CPO by the exact rule, by the paper's printed rule, and by the library's default."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._comparison_tables import METRICS, Entry, compared, protocol_of, write_compared
from ._paper import Spread
from ._variants import MERGING, merging, threecpo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._study import Study
    from ._variants import Factory

PRINTED = "3CPO, printed rule"
MEAN = "mean of these"


VARIANTS: dict[str, Factory] = {
    "3CPO": threecpo(),
    PRINTED: threecpo(assignment="printed"),
    MERGING: merging,
}


def run(study: Study) -> None:
    variants = {name: VARIANTS[name] for name in study.chosen(VARIANTS)}
    entries = compared(
        study, "traditional", study.data(), variants, METRICS, paper_method="3CPO"
    )
    write_compared(
        study,
        "Rules of 3CPO",
        [*entries, *means(entries)],
        protocol_of(study)
        + f" *3CPO* is the exact rule with the paper's start, *{PRINTED}* the formula "
        f"that the paper prints, *{MERGING}* what `ThreeCPO` does by default (6 runs). "
        "All beside the paper's 3CPO. The deviations of means over data sets are those "
        "that the executions leave.",
    )


def means(entries: Sequence[Entry]) -> list[Entry]:
    """Mean over the published data sets, ours and the paper's, with its error."""
    found = []
    for metric in METRICS:
        for name in dict.fromkeys(entry.method for entry in entries):
            mine = [
                entry
                for entry in entries
                if (entry.method, entry.metric) == (name, metric)
                and entry.data_set != "Synth"
                and entry.paper is not None
            ]
            if mine:
                ours = _mean([entry.ours for entry in mine], mine[0].executions)
                papers = [entry.paper for entry in mine if entry.paper is not None]
                paper = _mean(papers, PAPER_EXECUTIONS)
                found.append(Entry(MEAN, name, metric, ours, paper))
    return found


PAPER_EXECUTIONS = 10


def _mean(spreads: Sequence[Spread], executions: int) -> Spread:
    """Mean of means, and its standard error."""
    squares = [(spread.std or 0.0) ** 2 / executions for spread in spreads]
    error = float(np.sqrt(np.sum(squares)) / len(spreads))
    return Spread(float(np.mean([spread.mean for spread in spreads])), error)
