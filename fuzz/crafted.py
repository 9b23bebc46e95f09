"""Crafted matrices through every public method: ``python -m fuzz.crafted``.

Each of several hundred sparse matrices that lie about themselves goes to each door, in
child processes. A door must refuse it with a ValueError of threecpo's, or of the checks
of scikit-learn that it uses: a result is one accepted in silence, and a signal is
counted instead of ending the run.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .child import Batch, Pool
from .lies import N_ROWS, compressed_lies, entry_lies, odd_lies, sound
from .outcomes import CRASH, FOREIGN, HANG, MEMORY, OWN_ERROR, READ, Limits, Tally
from .target import Target, Tree, frames_of, raised_by_us

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator, Sequence

_CASE = "case.txt"
_CHECKS = "sklearn/utils/validation.py"


def matrices() -> dict[str, Callable[[], Any]]:
    """Functions that make the matrices, by what each of them lies about."""
    return dict([*compressed_lies(), *entry_lies(), *odd_lies()])


def _few(n_clusters: int = 2) -> dict[str, Any]:
    return {"n_clusters": n_clusters, "n_init": 2, "random_state": 0}


def doors() -> dict[str, Callable[[Any], Any]]:
    """Public functions and methods that take counts, by name."""
    from threecpo import CountTable, ThreeCPO, distributed, select_n_clusters
    from threecpo.preprocessing import SublinearCounts

    fitted = ThreeCPO(**_few()).fit(sound())
    return {
        "ThreeCPO.fit": lambda X: ThreeCPO(**_few()).fit(X),
        "ThreeCPO.fit_predict": lambda X: ThreeCPO(**_few()).fit_predict(X),
        "ThreeCPO.fit, auto": lambda X: ThreeCPO("auto", random_state=0).fit(X),
        "ThreeCPO.predict": fitted.predict,
        "ThreeCPO.row_scores": fitted.row_scores,
        "ThreeCPO.transform": fitted.transform,
        "ThreeCPO.score": fitted.score,
        "SublinearCounts": lambda X: SublinearCounts().fit_transform(X),
        "CountTable": CountTable,
        "select_n_clusters": lambda X: select_n_clusters(X, [2, 3], n_init=2),
        "distributed.fit": lambda X: distributed.fit(ThreeCPO(**_few()), [lambda: X]),
        "anndata.cluster": _through_anndata,
    }


def _through_anndata(X: Any) -> None:
    """Put the arrays into an AnnData, which would refuse some of the matrices."""
    import anndata

    from threecpo.anndata import cluster

    adata = anndata.AnnData(type(X)(sound()))
    held: Any = adata.X
    for name in ("data", "indices", "indptr"):
        setattr(held, name, getattr(X, name))
    cluster(adata, 2, n_init=2)


class Crafted(Target):
    """All pairs of a matrix and a door."""

    name = "crafted"

    @cached_property
    def _matrices(self) -> dict[str, Callable[[], Any]]:
        return matrices()

    @cached_property
    def _doors(self) -> dict[str, Callable[[Any], Any]]:
        return doors()

    @cached_property
    def cases(self) -> list[str]:
        """Names of door and matrix; AnnData holds no containers but two."""
        return [
            f"{door} | {matrix}"
            for matrix in self._matrices
            for door in self._doors
            if _applies(door, matrix)
        ]

    def warm_up(self, folder: Path) -> None:  # noqa: ARG002
        import scipy.sparse as sp

        for door in self._doors.values():
            door(sp.csr_array(sound()))

    def make(self, number: int, seed: int) -> Tree:  # noqa: ARG002
        return {_CASE: self.cases[number].encode()}

    def use(self, folder: Path) -> None:
        door, matrix = (folder / _CASE).read_text().split(" | ")
        self._doors[door](self._matrices[matrix]())

    def is_own(self, error: Exception, folder: Path) -> bool:  # noqa: ARG002
        checked = any(file.endswith(_CHECKS) for file, _ in frames_of(error))
        return isinstance(error, ValueError) and (checked or raised_by_us(error))


def _applies(door: str, matrix: str) -> bool:
    """Whether a door must refuse a matrix: columns are chosen whatever their values."""
    if door == "anndata.cluster":
        return matrix.startswith(("csr", "csc")) and "it says" not in matrix
    return door != "ThreeCPO.transform" or "negative value" not in matrix


def registry() -> dict[str, Target]:
    """The target, for workers."""
    return {Crafted.name: Crafted()}


def batches(numbers: Iterable[int]) -> Iterator[Batch]:
    """Cases of these numbers."""
    for number in numbers:
        yield Batch(Crafted.name, number, 1)


def main(argv: Sequence[str] | None = None) -> int:
    """Try all pairs; 1 if one is accepted, or ends in a signal or a foreign error."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.crafted")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--only", default="", help="part of the name of a case")
    given = parser.parse_args(argv)
    target = Crafted()
    chosen = [i for i, case in enumerate(target.cases) if given.only in case]
    tally, began = Tally(given.keep, 0), time.monotonic()
    accepted: list[str] = []

    def listen(outcome: Any, folder: Path) -> None:
        tally.add(outcome, folder)
        if outcome.kind == READ:
            accepted.append(target.cases[outcome.number])
        if tally.total % 2000 == 0:
            print(f"{tally.total} of {len(chosen)}", file=sys.stderr, flush=True)

    pool = Pool("fuzz.crafted", 0, Limits(seconds=60), given.workers)
    pool.run(batches(chosen), listen)
    counts = tally.counts[Crafted.name]
    _print_counts(len(matrices()), counts, time.monotonic() - began)
    for case in accepted:
        print(f"silent: {case}")
    for alike in sorted(tally.groups.values(), key=len, reverse=True):
        first = alike[0]
        print(
            f"{len(alike)} x {target.cases[first.number]}: {first.kind}, {first.detail}"
        )
    return int(counts[OWN_ERROR] < len(chosen))


def _print_counts(n_matrices: int, counts: Counter[str], seconds: float) -> None:
    print(f"{n_matrices} matrices of {N_ROWS} rows, {seconds:.0f} s")
    titles = {OWN_ERROR: OWN_ERROR, READ: "silent", CRASH: "signal", FOREIGN: FOREIGN}
    titles |= {HANG: HANG, MEMORY: MEMORY}
    print("".join(f"{title:>11}" for title in ("calls", *titles.values())))
    print("".join(f"{n:>11}" for n in (counts.total(), *(counts[k] for k in titles))))


if __name__ == "__main__":
    sys.exit(main())
