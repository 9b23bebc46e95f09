"""Cost of one pass over the rows against the bare scoring loop, and how it grows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numba as nb
import numpy as np
import scipy.sparse as sp

from _common import table
from threecpo._core import model
from threecpo._core.codes import NOWHERE
from threecpo._core.matrices import from_sparse
from threecpo._core.rules import EXACT
from threecpo._core.sums import assign, sum_by_labels
from threecpo._core.workers import Workers
from threecpo._options import resolve_penalty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from _common import DataSet
    from threecpo._core.counts import Counts

PRIOR = 1e-3
N_COLUMNS = 2000
REGISTERS = 8
U = np.uint64
COUNTS_PER_ROW = (25, 50, 100, 200, 400)
CLUSTERS = (8, 16, 32, 64, 128)
ROWS = (1000, 2000, 4000, 8000, 16000)


@nb.njit(nogil=True, error_model="numpy")
def bare_loop(indptr, indices, data, log_rates):
    width = U(log_rates.shape[1])
    rates = log_rates.reshape(log_rates.size)
    scores = np.empty(width)
    total = 0.0
    for i in range(U(len(indptr) - 1)):
        for k in range(width):
            scores[k] = 0.0
        for t in range(U(indptr[i]), U(indptr[i + U(1)])):
            at = U(indices[t]) * width
            value = data[t]
            for k in range(width):
                scores[k] += value * rates[at + k]
        for k in range(width):
            total += scores[k]
    return total


@nb.njit(nogil=True, error_model="numpy")
def bare_loop_of_eight(indptr, indices, data, log_rates):
    rates = log_rates.reshape(log_rates.size)
    total = 0.0
    for i in range(U(len(indptr) - 1)):
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        for t in range(U(indptr[i]), U(indptr[i + U(1)])):
            at = U(indices[t]) * U(REGISTERS)
            value = data[t]
            s0 += value * rates[at]
            s1 += value * rates[at + U(1)]
            s2 += value * rates[at + U(2)]
            s3 += value * rates[at + U(3)]
            s4 += value * rates[at + U(4)]
            s5 += value * rates[at + U(5)]
            s6 += value * rates[at + U(6)]
            s7 += value * rates[at + U(7)]
        total += s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7
    return total


@dataclass(frozen=True)
class Costs:
    """Seconds, the least of several repeats."""

    stored: int
    n_rows: int
    n_clusters: int
    loop: float
    registers: float
    fresh: float
    fresh_chosen: float
    late: float

    @property
    def bare(self) -> float:
        return min(self.loop, self.registers)


@dataclass
class Case:
    """Rows with labels, and the profile of those labels for some column groups."""

    counts: Counts
    labels: NDArray[np.int32]
    n_clusters: int

    def __post_init__(self) -> None:
        self.everything = np.ones(self.counts.n_columns, dtype=np.int8)
        self.sums = self._sums(self.everything)
        self.smoothed = self.sums.smoothed(PRIOR)
        self.chosen = model.column_step(
            self.smoothed, self.everything, resolve_penalty("mdl"), (1, 0, -1)
        ).groups

    def _sums(self, groups: NDArray[np.int8]):
        return sum_by_labels(self.counts, self.labels, self.n_clusters, groups, PRIOR)

    def bare_loops(self) -> list[Callable[[], float]]:
        rows = (self.counts.indptr, self.counts.indices, self.counts.data)
        rates = np.random.default_rng(0).random(
            (self.counts.n_columns, self.n_clusters)
        )
        loops = [lambda: seconds_of(bare_loop, *rows, rates)]
        if self.n_clusters <= REGISTERS:
            padded = np.zeros((self.counts.n_columns, REGISTERS))
            padded[:, : self.n_clusters] = rates
            loops.append(lambda: seconds_of(bare_loop_of_eight, *rows, padded))
        return loops

    def fresh_pass(self, groups: NDArray[np.int8]) -> Callable[[], float]:
        """Time a pass that starts from nothing: every sum is added up."""
        profile = EXACT.profile(self.smoothed, groups)
        workers = Workers(1)

        def run() -> float:
            labels = np.full(self.counts.n_rows, NOWHERE, dtype=np.int32)
            sums = self.sums.copy()
            sums.table[:] = 0.0
            sums.members[:] = 0
            return seconds_of(
                assign,
                *(self.counts, profile, labels, sums, workers),
                with_sizes=True,
            )

        return run

    def late_pass(self, groups: NDArray[np.int8]) -> Callable[[], float]:
        """Time a pass in which no row moves and no column enters or leaves C-."""
        profile = EXACT.profile(self.smoothed, groups)
        workers = Workers(1)
        labels, sums = self.labels.copy(), self._sums(groups)
        assign(self.counts, profile, labels, sums, workers, with_sizes=False)
        return lambda: seconds_of(
            assign,
            *(self.counts, profile, labels, sums, workers),
            with_sizes=False,
        )

    def costs(self, repeats: int) -> Costs:
        bare = self.bare_loops()
        passes = [
            self.fresh_pass(self.everything),
            self.fresh_pass(self.chosen),
            self.late_pass(self.chosen),
        ]
        least = least_seconds([*bare, *passes], repeats)
        registers = least[1] if len(bare) > 1 else np.inf
        return Costs(
            *(len(self.counts.data), self.counts.n_rows, self.n_clusters),
            *(least[0], registers, *least[len(bare) :]),
        )


def seconds_of(
    function: Callable[..., object], *args: object, **named: object
) -> float:
    start = time.perf_counter()
    function(*args, **named)
    return time.perf_counter() - start


def least_seconds(runs: list[Callable[[], float]], repeats: int) -> list[float]:
    """Interleave, so that a slow moment of the machine meets all of them."""
    for run in runs:
        run()
    return np.min([[run() for run in runs] for _ in range(repeats)], axis=0).tolist()


def planted(n_rows: int, per_row: int, n_clusters: int) -> Case:
    """Rows with equally many counts, larger in every K-th column: the cluster's own."""
    rng = np.random.default_rng(n_rows + per_row + n_clusters)
    labels = np.arange(n_rows, dtype=np.int32) % n_clusters
    step = N_COLUMNS // per_row
    columns = rng.integers(step, size=(n_rows, per_row)) + step * np.arange(per_row)
    own = columns % n_clusters == labels[:, None]
    values = 1.0 + rng.poisson(np.where(own, 3.0, 0.5))
    starts = per_row * np.arange(n_rows + 1)
    matrix = sp.csr_array(
        (values.ravel(), columns.ravel(), starts), shape=(n_rows, N_COLUMNS)
    )
    return Case(from_sparse(matrix), labels, n_clusters)


def from_data(data: DataSet) -> Case:
    return Case(from_sparse(data.matrix), data.labels.astype(np.int32), data.n_clusters)


def curves(repeats: int) -> dict[str, list[Costs]]:
    return {
        "stored counts": [planted(4000, q, 16).costs(repeats) for q in COUNTS_PER_ROW],
        "clusters": [planted(4000, 100, k).costs(repeats) for k in CLUSTERS],
        "rows": [planted(n, 100, 16).costs(repeats) for n in ROWS],
    }


SIZES = {
    "stored counts": lambda costs: costs.stored,
    "clusters": lambda costs: costs.n_clusters,
    "rows": lambda costs: costs.n_rows,
}


def slope(name: str, points: list[Costs], part: str) -> float:
    """Exponent of growth: a line through the logarithms."""
    sizes = np.log([SIZES[name](point) for point in points])
    return float(np.polyfit(sizes, np.log([getattr(p, part) for p in points]), 1)[0])


def data_table(cases: Iterable[tuple[str, Costs]]) -> str:
    header = ["data set", "stored counts", "K", "array loop ms", "register loop ms"]
    for kind in ("all in C1", "chosen C1", "late"):
        header += [f"{kind} ms", "/ array", "/ register"]
    rows = []
    for name, costs in cases:
        line = [name, costs.stored, costs.n_clusters]
        line += [milliseconds(costs.loop), milliseconds(costs.registers)]
        for seconds in (costs.fresh, costs.fresh_chosen, costs.late):
            line += [milliseconds(seconds), ratio(seconds, costs.loop)]
            line += [ratio(seconds, costs.registers)]
        rows.append(line)
    return table(header, rows)


def curve_table(measured: dict[str, list[Costs]]) -> str:
    header = ["over", "rows", "stored counts", "K", "bare ms", "pass ms", "ratio"]
    rows = [
        [
            *(name, point.n_rows, point.stored, point.n_clusters),
            *(milliseconds(point.bare), milliseconds(point.fresh)),
            ratio(point.fresh, point.bare),
        ]
        for name, points in measured.items()
        for point in points
    ]
    return table(header, rows)


def slope_table(measured: dict[str, list[Costs]]) -> str:
    rows = [
        [name, *(f"{slope(name, points, part):.2f}" for part in ("bare", "fresh"))]
        for name, points in measured.items()
    ]
    return table(["log-log slope over", "bare", "pass"], rows)


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.2f}" if np.isfinite(seconds) else ""


def ratio(seconds: float, bare: float) -> str:
    return f"{seconds / bare:.2f}" if np.isfinite(bare) else ""


def draw(measured: dict[str, list[Costs]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.4), layout="constrained")
    axes = figure.subplots(1, len(measured), sharey=True)
    for axis, (name, points) in zip(axes, measured.items(), strict=True):
        sizes = [SIZES[name](point) for point in points]
        for part, title in (("fresh", "one pass"), ("bare", "bare scoring loop")):
            values = [1000 * getattr(point, part) for point in points]
            growth = f"{title}, slope {slope(name, points, part):.2f}"
            axis.loglog(sizes, values, marker="o", label=growth)
        axis.set_xlabel(name)
        axis.legend(fontsize="small")
    axes[0].set_ylabel("milliseconds")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
