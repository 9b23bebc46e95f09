"""A fit of 1.3 million cells on a small machine: make them, fit them, say what it took.

    python benchmarks/atlas.py --folder /big/disk                   # 10x HDF5, K = 20
    python benchmarks/atlas.py --folder /big/disk -k auto --clusters 30
    python benchmarks/atlas.py --folder . --rows 130000             # minutes
    python benchmarks/atlas.py --folder . --rows 130000 --format h5ad

The cells are those of _atlas.py; they are made once and kept in the folder. The fit is
in a process of its own, whose memory is watched from outside (its part of shared pages
counted, the cache of the file system not).
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from _atlas import Atlas, RealCells
from _atlas_files import FORMATS, write
from _common import Report, in_child, parser_of, say
from fuzz.usage import current

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A planted cluster is found if a fitted one holds so much of it, and little else.
FOUND = 0.5
# Phases of a fit.
SCAN, DIRECT = "first scan", "fit of the chosen number"


def main() -> None:
    """Make, fit, compare."""
    given = _parser().parse_args()
    if given.child:
        fit(given)
        return
    cells = RealCells.read(given.data)
    atlas = Atlas(cells, given.rows, given.columns, given.clusters, seed=given.seed)
    path = given.folder / f"atlas-{given.rows}-{given.clusters}{FORMATS[given.format]}"
    began = time.perf_counter()
    write(atlas, path, given.format)
    say(f"{path}: {time.perf_counter() - began:.0f} s")
    facts = _measured(given, path)
    found = compared(atlas, facts["folder"], facts["groups"])
    lines = {
        "rows": f"{given.rows}",
        "file": f"{given.format}, {_size(path) / 1e9:.1f} GB",
        "clusters asked for, found": f"{given.k}, {facts['n_clusters']}",
        **_seconds(facts["seconds"]),
        "passes over all rows": f"{facts['n_passes']}",
        "peak memory, MB": f"{facts['watched'] / 1e6:.0f}",
        **found,
    }
    report = Report(given.output)
    report.add_table(["what", "value"], list(lines.items()))
    report.write()


def _seconds(phases: dict[str, list[float]]) -> dict[str, str]:
    """Seconds of each phase and of all: on the clock, and of processors."""
    phases = phases | {"all": np.sum(list(phases.values()), axis=0).tolist()}
    return {
        f"seconds, of processors: {name}": f"{wall:.0f}, {used:.0f}"
        for name, (wall, used) in phases.items()
    }


def fit(given: argparse.Namespace) -> None:
    """Fit in this process, and print facts about it."""
    from threecpo import ThreeCPO, distributed

    clock = Clock()
    if given.k == "auto":
        clock.follow_auto()

    class Listener:
        """Hears of the runs over all rows, and of the sample's where K is chosen."""

        passes: dict[tuple[int, int], int] = {}  # noqa: RUF012
        n_starts = 0

        def start(self, n_runs: int) -> None:
            self.n_starts += 1
            if self.n_starts == 1:
                clock.ends(SCAN)
            say(f"  {n_runs} runs")

        def step(self, step: Any) -> None:
            if given.k == "auto":
                if clock.within != DIRECT:
                    return
            elif self.passes:
                clock.ends("passes")
            else:
                clock.ends("fit of the sample, first pass")
            key = (step.n_clusters, step.run)
            self.passes[key] = max(self.passes.get(key, 0), step.iteration)

    k = given.k if given.k == "auto" else int(given.k)
    model = ThreeCPO(k, random_state=given.seed, n_jobs=given.jobs)
    listener, rows = Listener(), given.folder / "rows"
    distributed.fit(
        model,
        given.child,
        max_memory=given.max_memory,
        write_to=rows,
        scratch=given.scratch,
        checkpoint=given.checkpoint,
        progress=listener,
    )
    clock.ends("labels")
    facts = {
        "folder": str(rows),
        "groups": model.column_groups_.tolist(),
        "n_clusters": model.n_clusters_,
        "n_passes": max(listener.passes.values(), default=0),
        "seconds": {name: used.tolist() for name, used in clock.seconds.items()},
    }
    print(json.dumps(facts))


class Clock:
    """Seconds of phases: each ends where it is said, and began where one ended."""

    def __init__(self) -> None:
        self.seconds: dict[str, NDArray[np.float64]] = {}
        self.within, self._since = SCAN, np.array(now())

    def ends(self, phase: str) -> None:
        """End a phase, and begin the next."""
        found = np.array(now())
        self.seconds[phase] = self.seconds.get(phase, 0.0) + found - self._since
        self._since = found

    def follow_auto(self) -> None:
        """Hear of the phases in which the number of clusters is chosen."""
        from threecpo._fit.block_rows import BlockRows
        from threecpo.distributed import _fit

        rough, one_pass = _fit.RoughFits, BlockRows.one_pass
        sampled = "path on the sample"

        def phase(*given: Any) -> str:
            return DIRECT if given[-1] is None else sampled

        rough.numbers = self._heard(rough.numbers, lambda *_: sampled, "labels")
        rough.__call__ = self._heard(rough.__call__, phase, "labels")
        BlockRows.one_pass = self._heard(
            lambda *given: list(one_pass(*given)), lambda *_: "one pass for each"
        )

    def _heard(self, function: Any, phase: Any, after: str = "") -> Any:
        def heard(*given: Any) -> Any:
            before, name = self.within, phase(*given)
            self.ends(before)
            self.within = name
            found = function(*given)
            self.ends(name)
            self.within = after or before
            return found

        return heard


def now() -> tuple[float, float]:
    """Seconds on the clock, and of processors for this process and its readers."""
    return time.perf_counter(), current(os.getpid()).seconds


def _measured(given: argparse.Namespace, path: Path) -> dict[str, Any]:
    """Facts about a fit in another process, and the most memory that it takes."""
    command = [__file__, "--child", path]
    for name in ("folder", "scratch", "checkpoint", "k", "max_memory", "jobs", "seed"):
        if getattr(given, name) is not None:
            command += [f"--{name.replace('_', '-')}", getattr(given, name)]
    return in_child(*command, every=1.0)


def compared(atlas: Atlas, folder: str, groups: list[int]) -> dict[str, str]:
    """How far the fit finds what was planted."""
    from sklearn.metrics import adjusted_rand_score

    from threecpo.distributed import read_rows

    labels, truth = read_rows(folder, "labels"), atlas.labels
    found, shares = found_clusters(truth, labels)
    rare = shares < 0.01
    smallest = f"{100 * shares[found].min():.2f} %" if found.any() else "none"
    relevant = np.asarray(groups) == 1
    told_apart = atlas.changed.any(axis=0)
    return {
        "ARI with the planted clusters": f"{adjusted_rand_score(truth, labels):.4f}",
        "clusters found": f"{found.sum()} of {len(found)}",
        "clusters below 1 % found": f"{found[rare].sum()} of {rare.sum()}",
        "smallest found": smallest,
        "columns in C1, C0, C-": ", ".join(
            str(int((np.asarray(groups) == g).sum())) for g in (1, 0, -1)
        ),
        "of the changed genes in C1": f"{100 * relevant[told_apart].mean():.1f} %",
    }


def found_clusters(
    truth: NDArray[np.int32], labels: NDArray[np.int32]
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which planted clusters are found, and the part of the rows of each."""
    n_found = int(labels.max()) + 1
    table = np.zeros((int(truth.max()) + 1, n_found + 1))
    np.add.at(table, (truth, labels), 1)
    overlap = table[:, :n_found]
    best = overlap.argmax(axis=1)
    inside = overlap[np.arange(len(best)), best]
    held = inside / table.sum(axis=1)
    pure = inside / np.maximum(1, overlap.sum(axis=0)[best])
    return (held > FOUND) & (pure > FOUND), table.sum(axis=1) / table.sum()


def _size(path: Path) -> int:
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__, data=True)
    parser.add_argument("--folder", type=Path, required=True, help="for the cells")
    parser.add_argument("--format", choices=list(FORMATS), default="10x")
    parser.add_argument("--rows", type=int, default=1_306_127)
    parser.add_argument("--columns", type=int, default=27_998)
    parser.add_argument("--clusters", type=int, default=20, help="planted")
    parser.add_argument("-k", "--k", default="20", help="a number, or auto")
    parser.add_argument("--max-memory", default="2GB")
    parser.add_argument("--checkpoint", type=Path, help="folder to go on from")
    parser.add_argument("--scratch", type=Path, help="folder for unpacked counts")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    main()
