"""What fits into a memory budget: the size of blocks, threads, runs, the sample."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Bytes of a stored count while its block is read (as on disk, as counts, checks), of
# one in the sample (counts, a copy by columns, a copy inside the first columns) and of
# a row whose results are kept.
IN_BLOCK = 48
IN_SAMPLE = 36
OF_ROW = 48
# Copies of the sums of a run: its own, those before, with the prior, their logarithms,
# the profile, and those of the pass.
OF_RUN = 6
# Copies of the sums of a fit that has ended: its own, and those of its profile.
OF_FIT = 2
# A merging run begins with four times as many clusters.
WIDER = 4
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


class ShortMemoryError(ValueError):
    """Something does not fit; ``sentence`` has a place for the bytes that it needs."""

    def __init__(self, sentence: str, needed: float) -> None:
        self.sentence, self.needed = sentence, _rounded_up(needed)
        super().__init__(sentence.format(needed=as_text(self.needed)))


def check_all(budget: MemoryBudget, check: Callable[[MemoryBudget], Any]) -> None:
    """Refuse what does not fit into a budget, and name one that all of it fits into."""
    try:
        check(budget)
    except ShortMemoryError as error:
        needed = error.needed
        while True:
            try:
                check(MemoryBudget(needed))
                break
            except ShortMemoryError as more:
                needed = more.needed
        raise ShortMemoryError(error.sentence, needed) from None


@dataclass(frozen=True)
class MemoryBudget:
    """A budget in bytes for all that grows with the data, or None for no limit."""

    limit: int | None

    def _check(self, needed: float, sentence: str) -> None:
        """Refuse what needs more; the sentence has places for that and the limit."""
        if self.limit is not None and needed > self.limit:
            sentence = sentence.replace("{limit}", as_text(self.limit))
            raise ShortMemoryError(sentence, needed)

    def block_counts(self, n_jobs: int, most: int) -> int:
        """Stored counts of a block where that can be chosen: a quarter for all."""
        if self.limit is None:
            return most
        return max(1, min(most, self.limit // (4 * n_jobs * IN_BLOCK)))

    def threads(self, n_jobs: int, largest: int) -> int:
        """How many blocks may be in work at a time: half of the budget for all."""
        one = max(1, largest) * IN_BLOCK
        self._check(
            2 * one,
            f"A block holds {largest} counts, which take about {as_text(one)}, more "
            "than half of max_memory={limit}: write smaller blocks, or allow {needed} "
            "or more.",
        )
        return n_jobs if self.limit is None else min(n_jobs, self.limit // (2 * one))

    def runs_at_once(
        self, n_clusters: int, n_columns: int, threads: int, n_batches: int = 1
    ) -> int | None:
        """How many runs may share a pass: a quarter of the budget for their sums."""
        # Finished blocks wait to be added, two for each thread.
        lines = (n_clusters + 1) * n_batches
        one = lines * n_columns * 8 * (OF_RUN + 2 * threads)
        in_batches = f" and {n_batches} batches" if n_batches > 1 else ""
        self._check(
            4 * one,
            f"The sums of {n_clusters} clusters{in_batches} in {n_columns} columns "
            f"take about {as_text(one)} during a run, more than a quarter of "
            "max_memory={limit}: allow {needed}.",
        )
        return None if self.limit is None else self.limit // (4 * one)

    def check_path(
        self, each_n_clusters: Sequence[int], n_columns: int, n_batches: int = 1
    ) -> None:
        """Refuse a path whose fits, once finished, take too much: a quarter."""
        lines = sum(n_clusters + 1 for n_clusters in each_n_clusters) * n_batches
        kept = lines * n_columns * 8 * OF_FIT
        self._check(
            4 * kept,
            f"The fits of {len(each_n_clusters)} numbers of clusters in {n_columns} "
            f"columns take about {as_text(kept)}, more than a quarter of "
            "max_memory={limit}: try fewer or smaller numbers, or allow {needed}.",
        )

    def check_labels(self, n_rows: int, n_fits: int) -> None:
        """Refuse to keep the labels of a path where they are too many: a byte each."""
        self._check(
            4 * n_rows * n_fits,
            f"The labels of {n_rows} rows for {n_fits} numbers of clusters take "
            f"{as_text(n_rows * n_fits)}, more than a quarter of max_memory={{limit}}: "
            "try fewer numbers, choose on some of the rows, or allow {needed}.",
        )

    def holds(self, size: int) -> bool:
        """Whether there is room for so many bytes of results: a quarter."""
        return self.limit is None or 4 * size <= self.limit

    def check_sample(
        self,
        n_stored: float,
        n_clusters: int,
        n_columns: int,
        n_jobs: int,
        n_batches: int = 1,
    ) -> None:
        """Refuse a sample that leaves no room to work on it."""
        runs = WIDER * n_clusters * n_batches * n_columns * 8 * OF_RUN * n_jobs
        self._check(
            n_stored * IN_SAMPLE + runs,
            f"The rows to start from hold about {int(n_stored)} counts, for which "
            "max_memory must be at least {needed}, not {limit}; pass a smaller "
            "sample_rows.",
        )

    def check_rows(self, n_rows: int) -> None:
        """Refuse to gather the results of more rows than there is room for."""
        self._check(
            2 * n_rows * OF_ROW,
            f"Labels and scores of {n_rows} rows take about {as_text(n_rows * OF_ROW)},"
            " more than half of max_memory={limit}; allow {needed}, or in Python pass "
            "write_to= to have them written block by block.",
        )


def budget_of(given: Any) -> MemoryBudget:
    """Return the budget of a number of bytes or of text such as "2GB"."""
    if given is None:
        return MemoryBudget(None)
    if isinstance(given, Integral) and int(given) > 1:
        return MemoryBudget(int(given))
    if isinstance(given, str):
        found = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]i?)?b?\s*", given.lower())
        if found and re.fullmatch(r"\d+\.?\d*|\.\d+", found[1]):
            size = int(float(found[1]) * (_UNITS | _BINARY)[found[2] or ""])
            if size > 0:
                return MemoryBudget(size)
    message = f"max_memory={given!r} must be a size such as '2GB' or '500MB'."
    raise ValueError(message)


def _rounded_up(size: float) -> int:
    """The next number of bytes that a text of three digits has exactly."""
    unit = 10 ** max(0, len(str(int(size))) - 3)
    return unit * math.ceil(size / unit)


def as_text(size: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"
