"""3CPO without C-, without C0, without a price for columns, and with BIC as price."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._comparison_tables import METRICS, compared, protocol_of, write_compared
from ._variants import threecpo

if TYPE_CHECKING:
    from ._study import Study

VARIANTS = {
    "3CPO": threecpo(),
    "no C-": threecpo(groups=(1, 0)),
    "no C0": threecpo(groups=(1, -1)),
    "no penalty": threecpo(column_penalty=None),
    "BIC penalty": threecpo(column_penalty="bic"),
}


def run(study: Study) -> None:
    variants = {name: VARIANTS[name] for name in study.chosen(VARIANTS)}
    metrics = METRICS | {"C1": "C1"}
    entries = compared(study, "ablation", study.data(), variants, metrics)
    write_compared(study, "Ablation", entries, protocol_of(study))
