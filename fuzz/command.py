"""The command: how long, which targets, what was found."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from .child import Batch, Pool
from .outcomes import Limits, Tally
from .target import Target, write
from .worker import outcome as outcome_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TARGETS = "fuzz.targets"
# Inputs of a batch for each unit of a target's weight.
_STEP = 50
_REPORT_SECONDS = 60.0


def main(argv: Sequence[str] | None = None) -> int:
    """Parse a command line and run it; 1 if something failed."""
    given = _parser().parse_args(argv)
    targets = _chosen(import_module(TARGETS).registry(), given.targets)
    if given.replay:
        return _replay(given.replay, targets, given.seed, given.keep)
    deadline = time.monotonic() + 60 * given.minutes
    batches = _batches(targets, given.inputs, deadline, given.least)
    tally = Tally(given.keep, given.seed)
    limits = Limits(given.seconds, given.megabytes)
    try:
        run(Pool(TARGETS, given.seed, limits, given.workers), batches, tally)
    except KeyboardInterrupt:
        print("Ended early.", file=sys.stderr)
    finally:
        print(tally.table(list(targets)), flush=True)
    return report(tally, given.keep)


def run(pool: Pool, batches: Iterator[Batch], tally: Tally) -> None:
    """Work on all batches, and say now and then how far it is."""
    began = said = time.monotonic()

    def listen(outcome, folder):  # type: ignore[no-untyped-def]
        nonlocal said
        tally.add(outcome, folder)
        now = time.monotonic()
        if now - said > _REPORT_SECONDS:
            said = now
            minutes = (now - began) / 60
            line = f"{minutes:.0f} min: {tally.total} inputs, {tally.n_failed} failed"
            print(line, file=sys.stderr, flush=True)

    pool.run(batches, listen)


def report(tally: Tally, keep: Path) -> int:
    """Say what failed; the exit status."""
    if not tally.n_failed:
        return 0
    causes = tally.causes()
    keep.mkdir(parents=True, exist_ok=True)
    (keep / "causes.txt").write_text(f"{causes}\n")
    print(f"\n{tally.n_failed} failed; files are in {keep}\n{causes}")
    return 1


def _chosen(known: dict[str, Target], names: str | None) -> dict[str, Target]:
    if names is None:
        return known
    unknown = sorted(set(names.split(",")) - set(known))
    if unknown:
        sys.exit(f"There is no target {unknown[0]}; there are {', '.join(known)}.")
    return {name: known[name] for name in names.split(",")}


def _batches(
    targets: dict[str, Target], n_inputs: int | None, deadline: float, least: int
) -> Iterator[Batch]:
    """Batches of all targets in turn, by weight, until enough or too late."""
    weight = sum(target.weight for target in targets.values())
    done = dict.fromkeys(targets, 0)
    while n_inputs is not None or time.monotonic() < deadline:
        before = dict(done)
        for name, target in targets.items():
            most = target.weight * _STEP
            if n_inputs is not None:
                share = max(least, -(-n_inputs * target.weight // weight))
                most = min(most, share - done[name])
            elif time.monotonic() > deadline:
                return
            if most > 0:
                yield Batch(name, done[name], most)
                done[name] += most
        if done == before:
            return


def _replay(place: str, targets: dict[str, Target], seed: int, keep: Path) -> int:
    """Make one input again and use it in this process."""
    name, _, number = place.rpartition(":")
    target = _chosen(targets, name)[name]
    with tempfile.TemporaryDirectory() as scratch:
        target.warm_up(Path(scratch))
        tree = target.make(int(number), seed)
        folder = keep / f"{name}-{seed}-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        write(tree, folder)
        write(tree, Path(scratch))
        print(f"The input is in {folder}.", flush=True)
        print(*outcome_of(target, Path(scratch)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m fuzz",
        description="Read mutated files of all kinds in child processes.",
    )
    add, limits = parser.add_argument, Limits()
    add("--minutes", type=float, default=10, help="how long (default: 10)")
    add("--inputs", type=int, help="how many in all, instead of --minutes")
    add("--least", type=int, default=0, help="of each target, with --inputs")
    add("--targets", metavar="A,B", help="only these")
    add("--seed", type=int, default=0, help="default: 0")
    add("--workers", type=int, default=2, help="processes (default: 2)")
    add("--keep", type=Path, default=Path("fuzz-failures"), help="folder of failures")
    add("--replay", metavar="TARGET:NUMBER", help="one input in this process")
    add(
        "--seconds",
        type=float,
        default=limits.seconds,
        help="processor time for an input",
    )
    add("--megabytes", type=int, default=limits.megabytes, help="more, for an input")
    return parser
