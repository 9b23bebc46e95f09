"""Scores of groups of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._labels import check_lengths, one_row

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class ColumnRecovery:
    """How well groups of columns were found.

    Parameters
    ----------
    precision : float
        Share of true C1 columns among those found as C1.
    recall : float
        Share of found columns among the true C1.
    f1 : float
        Harmonic mean of precision and recall.
    accuracy : float
        Share of columns in their true group of the three.
    """

    precision: float
    recall: float
    f1: float
    accuracy: float


def column_recovery(
    true_groups: ArrayLike | Any, found_groups: ArrayLike | Any
) -> ColumnRecovery:
    """How well the relevant columns, and all three groups, were found.

    Parameters
    ----------
    true_groups : array-like of shape (n_columns,)
        Groups 1 (C1), 0 (C0) and -1 (C-).
    found_groups : array-like of shape (n_columns,)
        Groups found, such as ``column_groups_``.

    Returns
    -------
    ColumnRecovery
        Precision, recall and F1 of C1, and the accuracy over the three groups. Where
        C1 is empty in both, the first three are 1; where it is empty in one, 0.

    Examples
    --------
    >>> from threecpo.metrics import column_recovery
    >>> column_recovery([1, 1, 0, 0, -1, -1], [1, 1, 1, 1, 0, -1])
    ColumnRecovery(precision=0.5, recall=1.0, f1=0.6666666666666666, accuracy=0.5)
    """
    true = _groups(true_groups, "true_groups")
    found = _groups(found_groups, "found_groups")
    check_lengths(true, found, ("true_groups", "found_groups"))
    accuracy = float(np.mean(true == found))
    both = int(np.sum((true == 1) & (found == 1)))
    n_true, n_found = int(np.sum(true == 1)), int(np.sum(found == 1))
    if not n_true and not n_found:
        return ColumnRecovery(1.0, 1.0, 1.0, accuracy)
    return ColumnRecovery(
        precision=both / n_found if n_found else 0.0,
        recall=both / n_true if n_true else 0.0,
        f1=2 * both / (n_true + n_found),
        accuracy=accuracy,
    )


def _groups(groups: Any, name: str) -> NDArray[Any]:
    array = one_row(groups, name)
    wrong = [group for group in array.tolist() if group not in (1, 0, -1)]
    if wrong:
        message = f"{name} holds {wrong[0]!r}; groups are 1, 0 and -1."
        raise ValueError(message)
    return array
