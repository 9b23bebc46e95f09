"""What a path over the number of clusters says of its own choice, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.overlaps import shared_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

# Totals this close to the best, as a part of what its clusters gain, are a tie.
FLAT = 0.01
# A part of a cluster that is smaller is left out of what is said.
SMALL_PART = 0.05
MOST_NAMED = 3


@dataclass(frozen=True)
class KChoice:
    """The best K of a path, and how far the others are from it.

    ``behind`` is the total of the runner-up less that of the best; ``gain`` what the
    best has gained over the worst of the smaller K (of all, if it is the first);
    ``flat`` the K whose totals lie within 1 % of the gain.
    """

    criterion: str
    first: int
    last: int
    best: int
    found: int
    runner_up: int | None
    behind: float
    gain: float
    flat: tuple[int, ...]

    @property
    def falls_at_end(self) -> bool:
        """Whether the last K of the path is its best."""
        return self.best == self.last > max(2, self.first)

    @property
    def is_flat(self) -> bool:
        """Whether another K is as good as the best for all that can be seen."""
        return len(self.flat) > 1

    @property
    def doubts(self) -> str:
        """What speaks against the choice; empty if nothing does."""
        doubts = []
        if self.is_flat:
            doubts.append(
                f"the path is flat ({_numbers(self.flat)} lie within 1 % of the gain)"
            )
        if self.falls_at_end:
            doubts.append(
                f"the total still falls at K = {self.last}, the end of the path"
            )
        return " and ".join(doubts)

    def sentence(self) -> str:
        """One sentence: the choice, what speaks against it, and the runner-up."""
        count = f"{self.found} clusters" if self.found > 1 else "No clusters"
        tried = f"K = {self.first}" + (
            f" to {self.last}" if self.last > self.first else " alone"
        )
        text = f"{count} by {self.criterion} from {tried}"
        if self.doubts:
            text += f", but {self.doubts}"
        if self.runner_up is not None:
            text += f"; the runner-up is K = {self.runner_up}, {self._distance}"
        return f"{text}."

    @property
    def _distance(self) -> str:
        """How far the runner-up is from the best."""
        if not np.isfinite(self.behind) or self.gain <= 0:
            return f"{self.behind:.4g} behind"
        return f"{self.behind:.4g} behind ({self.behind / self.gain:.1%} of the gain)"


def choice_of(table: Mapping[str, NDArray[Any]]) -> KChoice:
    """Describe the choice of a path.

    Parameters
    ----------
    table : mapping of str to ndarray
        ``n_clusters``, ``found``, ``total`` and ``criterion`` of
        :func:`threecpo.results.path_table`, or a file of it read back.

    Returns
    -------
    KChoice
        The best K, the runner-up and what lies between them.

    Examples
    --------
    >>> from threecpo.select import choice_of
    >>> table = {"n_clusters": [1, 2, 3, 4], "found": [1, 2, 3, 4],
    ...          "total": [900.0, 400.0, 100.0, 130.0], "criterion": ["mdl"] * 4}
    >>> choice_of(table).sentence()
    '3 clusters by mdl from K = 1 to 4; the runner-up is K = 4, 30 behind (3.8% of \
the gain).'
    """
    n_clusters = np.asarray(table["n_clusters"])
    totals = np.asarray(table["total"], dtype=float)
    totals = np.where(np.isnan(totals), np.inf, totals)
    criterion = str(table["criterion"][0])
    best = int(np.argmin(totals))
    below = totals[: best + 1] if best else totals
    gain = float(
        np.max(below, initial=-np.inf, where=np.isfinite(below)) - totals[best]
    )
    runner_up, behind, flat = None, np.inf, [best]
    if len(totals) > 1:
        others = np.where(np.arange(len(totals)) == best, np.inf, totals)
        second = int(np.argmin(others))
        runner_up, behind = (
            int(n_clusters[second]),
            float(others[second] - totals[best]),
        )
        if gain > 0:
            flat = np.flatnonzero(totals - totals[best] <= FLAT * gain).tolist()
    return KChoice(
        criterion=criterion,
        first=int(n_clusters[0]),
        last=int(n_clusters[-1]),
        best=int(n_clusters[best]),
        found=int(table["found"][best]),
        runner_up=runner_up,
        behind=behind,
        gain=gain,
        flat=tuple(int(n_clusters[i]) for i in flat),
    )


def divided(rows: Sequence[int] | NDArray[np.int64]) -> list[int]:
    """Parts of a cluster in another clustering, the largest first, without crumbs."""
    parts = np.sort(np.asarray(rows))[::-1]
    return parts[parts > SMALL_PART * parts.sum()].tolist()


def difference(a: NDArray[Any], b: NDArray[Any]) -> str:
    """Say in words what tells two labelings of the same rows apart."""
    table = shared_rows(a, b)
    turned = table.shape[0] > table.shape[1]
    if turned:
        table = table.T
    few, many = table.shape
    split = [(k, divided(row)) for k, row in enumerate(table)]
    split = [(k, parts) for k, parts in split if len(parts) > 1]
    if not split:
        return f"With {few} and with {many} clusters nearly all rows are together."
    texts = [
        f"cluster {k} ({table[k].sum()} rows) divides into {_listed(parts)}"
        for k, parts in split[:MOST_NAMED]
    ]
    if len(split) > MOST_NAMED:
        texts.append(f"{len(split) - MOST_NAMED} more divide")
    order = f"Of {few} clusters that become {many}" if few < many else "Between them"
    return f"{order}, {'; '.join(texts)}."


def _listed(numbers: Sequence[int]) -> str:
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}" if most else last


def _numbers(n_clusters: Sequence[int]) -> str:
    """``K = 5 to 8``, or the numbers one by one where there are gaps."""
    first, last = n_clusters[0], n_clusters[-1]
    if len(n_clusters) > 2 and last - first == len(n_clusters) - 1:
        return f"K = {first} to {last}"
    return f"K = {_listed(n_clusters)}"
