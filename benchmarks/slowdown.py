"""Is this checkout slower than an earlier commit? Fails if it is, beyond noise.

    python benchmarks/slowdown.py --base v0.1.0 --datasets synth bbcsports

Three processes fit the same data in turns: the earlier commit, the same once more, and
this checkout. What the first two differ by is the noise of this machine at this time.
CPU seconds are compared, which other programs disturb less than seconds.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Self

from _common import DATA, HERE, SYNTH, add_data_option, missing_data, say, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = HERE.parent
# Smaller slowdowns are not worth a failure.
TOLERANCE = 0.05
# Of the standard errors of both medians; a check of ten sets errs once in about 70.
ERRORS = 3.0
# Median absolute deviation to standard deviation, and mean to median, of normal errors.
TO_DEVIATION, OF_MEDIAN = 1.4826, 1.2533


@dataclass(frozen=True)
class Comparison:
    """Ratios of the rounds: this checkout to the base, and the base to itself."""

    changed: Sequence[float]
    same: Sequence[float]

    @property
    def noise(self) -> float:
        """By how much a ratio may be off 1 though nothing changed."""
        drift = abs(median(self.same) - 1)
        return (
            drift + ERRORS * (_error(self.changed) ** 2 + _error(self.same) ** 2) ** 0.5
        )

    @property
    def limit(self) -> float:
        return 1 + max(TOLERANCE, self.noise)

    @property
    def slower(self) -> bool:
        return median(self.changed) > self.limit


def _error(values: Sequence[float]) -> float:
    """Standard error of a median, whatever single values are."""
    middle = median(values)
    deviation = median(abs(value - middle) for value in values) * TO_DEVIATION
    return OF_MEDIAN * deviation / len(values) ** 0.5


class Worker:
    """A process that fits with the code of one folder whenever it is asked."""

    def __init__(self, source: Path, name: str, data: Path) -> None:
        command = [sys.executable, str(HERE / "_timed_fits.py"), name, str(data)]
        environment = os.environ | {"PYTHONPATH": str(source)}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=environment
        )
        used = Path(self._answer()).resolve()
        if source.resolve() not in used.parents:
            message = f"{used} was imported instead of what is in {source}"
            raise RuntimeError(message)

    def _answer(self) -> str:
        line = self._process.stdout.readline()
        if not line:
            message = "a process that fits has ended; what it said stands above"
            raise RuntimeError(message)
        return line.strip()

    def seconds(self, seed: int) -> float:
        self._process.stdin.write(f"{seed}\n")
        self._process.stdin.flush()
        return float(self._answer())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait()


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """The sources of a revision, in a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["git", "-C", str(ROOT), "archive", revision, "src"]
        packed = subprocess.run(command, check=False, stdout=subprocess.PIPE)
        if packed.returncode:
            message = f"git has no revision {revision!r} with a folder src"
            raise SystemExit(message)
        unpack = ["tar", "--extract", "--directory", folder]
        subprocess.run(unpack, input=packed.stdout, check=True)
        yield Path(folder) / "src"


def compare(base: Path, name: str, options: argparse.Namespace) -> Comparison:
    """Rounds of fits in a random order, each with a seed of its own."""
    order = random.Random(0)
    sources = {"base": base, "same": base, "changed": ROOT / "src"}
    times: dict[str, list[float]] = {kind: [] for kind in sources}
    with ExitStack() as stack:
        workers = {
            kind: stack.enter_context(Worker(source, name, options.data))
            for kind, source in sources.items()
        }
        for seed in range(options.rounds):
            for kind in order.sample(list(workers), len(workers)):
                times[kind].append(workers[kind].seconds(seed))
    pairs = {
        kind: [
            one / other for one, other in zip(times[kind], times["base"], strict=True)
        ]
        for kind in ("changed", "same")
    }
    say(f"{name}: {median(times['base']):.3f} s, {median(times['changed']):.3f} s now")
    return Comparison(**pairs)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_data_option(parser)
    parser.add_argument("--base", required=True, help="commit or tag to compare with")
    parser.add_argument("--datasets", nargs="+", choices=DATA, default=[SYNTH])
    parser.add_argument("--rounds", type=int, default=15)
    return parser.parse_args()


def main() -> int:
    options = arguments()
    message = missing_data(options.data, options.datasets)
    if message:
        raise SystemExit(message)
    with checked_out(options.base) as base:
        found = {name: compare(base, name, options) for name in options.datasets}
    rows = [
        [
            name,
            *(f"{median(one.changed):.3f}", f"{median(one.same):.3f}"),
            *(f"{one.limit:.3f}", "slower" if one.slower else "no slower"),
        ]
        for name, one in found.items()
    ]
    header = ["data set", f"now / {options.base}", "same / same", "limit", "verdict"]
    print(table(header, rows))
    return int(any(one.slower for one in found.values()))


if __name__ == "__main__":
    raise SystemExit(main())
