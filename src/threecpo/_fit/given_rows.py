"""What is given of the rows of a fit beside their counts: weights and batches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._core.codes import all_held
from .._core.rules import EXACT
from .starting import given_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._core.run import Settings
    from .plan import Plan


def check_rule(settings: Settings, n_batches: int) -> None:
    """Refuse batches for rules that know none."""
    if n_batches > 1 and settings.rule is not EXACT:
        message = (
            f"The rule {settings.rule.name!r} knows no batches; with batch= use "
            "assignment='exact' (of PoissonC and PoissonL: PoissonL)."
        )
        raise ValueError(message)


def check_known_clusters(
    n_clusters: int, known: NDArray[np.int32] | None, names: tuple[str, ...]
) -> None:
    """Refuse known clusters that a fit of so many clusters to these rows cannot have.

    ``known`` are those of the rows that the fit is made of, without rows of weight 0.
    """
    if known is None:
        return
    held, n_known = all_held(known), len(names)
    if n_known > n_clusters:
        row = int(np.flatnonzero(held == n_clusters)[0])
        message = (
            f"n_clusters={n_clusters}, but {n_known} clusters are known: "
            f"{_called(names, n_clusters)} has row {row}, for one."
        )
        raise ValueError(message)
    sizes = np.bincount(held[held >= 0], minlength=n_known)
    if not sizes.all():
        lost = int(np.flatnonzero(sizes == 0)[0])
        message = (
            f"All known rows of {_called(names, lost)} have weight 0; "
            "a known cluster needs a row that counts."
        )
        raise ValueError(message)
    n_free = len(held) - int(sizes.sum())
    if n_clusters - n_known > n_free:
        message = (
            f"n_clusters={n_clusters} are {n_clusters - n_known} more than the "
            f"{n_known} that are known, but only {n_free} rows are of none of these."
        )
        raise ValueError(message)


def _called(names: tuple[str, ...], cluster: int) -> str:
    name = names[cluster]
    return f"cluster {name!r}" if name else f"cluster {cluster}"


def weighted_rows(plan: Plan, counts: Counts) -> tuple[Plan, Counts]:
    """Leave out rows of weight 0, in the counts and in labels to start from."""
    if counts.weights is None or counts.weights.all():
        return plan, counts
    kept = np.flatnonzero(counts.weights)
    return without_rows(plan, counts.n_rows, kept), counts.rows(kept)


def without_rows(plan: Plan, n_rows: int, kept: NDArray[np.intp]) -> Plan:
    """Return the plan for some of its rows."""
    if not isinstance(plan.init, np.ndarray):
        return plan
    return replace(plan, init=given_labels(plan, n_rows)[kept])
