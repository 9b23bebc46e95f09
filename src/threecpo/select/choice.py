"""What a path over the number of clusters says of its own choice, in words."""

from __future__ import annotations

from dataclasses import dataclass, field
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
# Numbers of clusters whose reproducibility is measured, at most.
MOST_MEASURED = 5
# Reproducibilities this close are a tie: those of other halves vary by 0.05 to 0.1.
# Below the second, clusters are hardly found again.
TIE, LOW = 0.1, 0.5


@dataclass(frozen=True)
class KChoice:
    """The best K of a path, and how far the others are from it.

    ``behind`` is the total of the runner-up less that of the best; ``gain`` what the
    best has gained over the worst of the smaller K (of all, if it is the first);
    ``flat`` the K whose totals lie within 1 % of the gain. ``reproducibility`` is what
    was measured of some of these.
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
    reproducibility: Mapping[int, float] = field(default_factory=dict)

    @property
    def to_measure(self) -> list[int]:
        """Some of the K that fit as well, evenly spread, with both ends and the best.

        A single cluster is always found again.
        """
        others = [k for k in self.flat if k not in (1, self.best)]
        ends = np.linspace(0, len(others) - 1, min(len(others), MOST_MEASURED - 1))
        some = {others[round(place)] for place in ends} | ({self.best} - {1})
        return sorted(some)

    @property
    def falls_at_end(self) -> bool:
        """Whether the last K of the path is its best."""
        return self.best == self.last > max(2, self.first)

    @property
    def doubts(self) -> str:
        """What speaks against the choice; empty if nothing does."""
        doubts = []
        others = [k for k in self.flat if k != self.best]
        if others:
            fit = "fits" if len(others) == 1 else "fit"
            as_well = f"{_numbers(others, self.flat)} {fit} almost as well"
            doubts.append(f"{as_well}{self._compared(others)}")
        if self.reproducibility.get(self.best, 1.0) < LOW:
            doubts.append("halves of the data agree little on the clusters")
        if self.falls_at_end:
            doubts.append(
                f"more than {self.last}, the largest number tried, may fit better"
            )
        return "; ".join(doubts)

    def _compared(self, others: Sequence[int]) -> str:
        """Which K is the most reproducible, if the best and others were measured."""
        measured = self.reproducibility
        found = {k: measured[k] for k in others if k in measured}
        if self.best not in measured or not found:
            return ""
        top = max(found, key=lambda k: found[k])
        above, single = found[top] - measured[self.best], len(others) == 1
        if above > TIE:
            more = " and is more" if single else f", and {top} is the most"
        elif above < -TIE:
            more = f", but {self.best} is the most"
        else:
            more = " and is about as" if single else ", and none is clearly more"
        return f"{more} reproducible"

    def sentence(self) -> str:
        """One sentence: the choice, and what speaks against it."""
        text = f"Chose {self.found} cluster{'s' if self.found > 1 else ''}"
        if self.first == self.last:
            return f"{text}, the only number tried."
        if self.found == 1:
            text += ", as none are distinct"
        return f"{text}; {self.doubts}." if self.doubts else f"{text}."


def choice_of(table: Mapping[str, NDArray[Any]]) -> KChoice:
    """Describe the choice of a path.

    Parameters
    ----------
    table : mapping of str to ndarray
        ``n_clusters``, ``found``, ``total``, ``criterion`` and, where it was measured,
        ``reproducibility`` of :func:`threecpo.results.path_table`, or a file of it read
        back.

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
    'Chose 3 clusters.'
    """
    n_clusters = np.asarray(table["n_clusters"])
    totals = np.asarray(table["total"], dtype=float)
    totals = np.where(np.isnan(totals), np.inf, totals)
    criterion = str(table["criterion"][0])
    measured = np.asarray(table.get("reproducibility", totals * np.nan), dtype=float)
    best = int(np.argmin(totals))
    below = totals[: best + 1] if best else totals
    worst = np.max(below, initial=-np.inf, where=np.isfinite(below))
    gain = float(worst - totals[best])
    runner_up, behind, flat = None, np.inf, [best]
    # Fits that lost clusters may have as many as the best.
    found = np.asarray(table["found"])
    others = np.where(found == found[best], np.inf, totals)
    if np.isfinite(others).any():
        second = int(np.argmin(others))
        runner_up = int(n_clusters[second])
        behind = float(others[second] - totals[best])
        if gain > 0:
            others[best] = totals[best]
            flat = np.flatnonzero(others - totals[best] <= FLAT * gain).tolist()
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
        reproducibility={
            k: value
            for k, value in zip(n_clusters.tolist(), measured.tolist(), strict=True)
            if not np.isnan(value)
        },
    )


def divided(rows: Sequence[int] | NDArray[np.int64]) -> list[int]:
    """Parts of a cluster in another clustering, the largest first, without crumbs."""
    parts = np.sort(np.asarray(rows))[::-1]
    return parts[parts > SMALL_PART * parts.sum()].tolist()


def difference(best: NDArray[Any], other: NDArray[Any], n_other: int) -> str:
    """Say which clusters of the best fit another one splits, or else merges."""
    table = shared_rows(best, other)
    split = [k for k, row in enumerate(table) if len(divided(row)) > 1]
    merged = [_members(column) for column in table.T]
    merged = [members for members in merged if len(members) > 1]
    if n_other > len(table) and split:
        return f"With {n_other}, {_clusters(split)} would split."
    if n_other < len(table) and merged:
        first, *more = merged
        others = f" (and {len(more)} more of such groups)" if more else ""
        return f"With {n_other}, {_clusters(first)} would merge{others}."
    return f"With {n_other}, the clusters hardly change."


def _members(rows: NDArray[np.int64]) -> list[int]:
    """Clusters that make up one of another clustering, without crumbs."""
    return np.flatnonzero(rows > SMALL_PART * rows.sum()).tolist()


def _clusters(numbers: Sequence[int]) -> str:
    """``cluster 2``, ``clusters 2 and 8``, ``clusters 0, 2, 8 and 3 more``."""
    named = [str(k) for k in numbers[:MOST_NAMED]]
    if len(numbers) > MOST_NAMED:
        named.append(f"{len(numbers) - MOST_NAMED} more")
    return f"cluster{'s' if len(numbers) > 1 else ''} {_listed(named)}"


def _listed(numbers: Sequence[object]) -> str:
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}" if most else last


def _numbers(others: Sequence[int], flat: Sequence[int]) -> str:
    """``13 to 20`` where most numbers between are flat, else one by one."""
    first, last = others[0], others[-1]
    n_flat = sum(first <= k <= last for k in flat)
    if len(others) > 2 and 2 * (last - first + 1) <= 3 * n_flat:
        return f"{first} to {last}"
    return _listed(others)
