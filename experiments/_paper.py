"""The paper's printed values, and how far ours are from them."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

# What the paper rounds to is no deviation.
LEAST_DEVIATION = 0.05
MANY = 2.0


class Spread(NamedTuple):
    """Mean and standard deviation; None where a value stands alone."""

    mean: float
    std: float | None = None

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Mean and standard deviation of some executions."""
        if not len(values):
            return cls(float("nan"))
        std = float(np.std(values)) if len(values) > 1 else None
        return cls(float(np.mean(values)), std)

    def __str__(self) -> str:
        mean = one_digit(self.mean)
        return mean if self.std is None else f"{mean} ± {self.std:.1f}"


def one_digit(value: float) -> str:
    """Return a number as the paper prints it; nothing is minus zero."""
    text = f"{value:.1f}"
    return "0.0" if text == "-0.0" else text


def difference(ours: Spread, paper: Spread | None) -> float | None:
    """Ours minus the paper's, in standard deviations: the larger of both and 0.05."""
    if paper is None:
        return None
    unit = max(ours.std or 0.0, paper.std or 0.0, LEAST_DEVIATION)
    return (ours.mean - paper.mean) / unit


def paper_value(table: str, data_set: str, method: str, metric: str) -> Spread | None:
    """Return what the paper prints there, if anything."""
    return _values().get((table, data_set, method, metric))


@cache
def _values() -> dict[tuple[str, str, str, str], Spread]:
    file = resources.files(__package__) / "paper_values.csv"
    with file.open(encoding="utf-8") as lines:
        return {
            (row["table"], row["data_set"], row["method"], row["metric"]): Spread(
                float(row["value"]), float(row["std"]) if row["std"] else None
            )
            for row in csv.DictReader(lines)
        }
