"""What the scratch store takes: its size, and seconds to write it and to read it.

    python benchmarks/atlas.py --folder /big/disk --rows 130000 --format h5ad
    python benchmarks/store.py /big/disk/atlas-130000-20.h5ad --scratch /big/disk

Each file is read into a store by a process of its own, whose memory is watched from
outside; then two threads read all blocks, as a pass of a fit does.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from _common import Report, in_child, parser_of, say
from atlas import now

# Counts of a block with max_memory="2GB" and two threads.
BLOCK_COUNTS = 1 << 22
THREADS = 2


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        measure(given.files[0], given.scratch)
        return
    lines = []
    for path in given.files:
        say(str(path))
        command = (__file__, "--child", path, "--scratch", given.scratch)
        facts = in_child(*command, every=0.2)
        stored = facts["n_stored"]
        size, peak = (f"{facts[name] / 1e6:.0f} MB" for name in ("size", "watched"))
        costs = [f"{1e9 * facts[name] / stored:.1f}" for name in ("write", "pass")]
        lines.append([path.name, size, f"{facts['size'] / stored:.2f}", *costs, peak])
    report = Report(given.output)
    report.add("Nanoseconds of a processor per count:")
    header = ["file", "store", "bytes per count", "writing it", "a pass from it"]
    report.add_table([*header, "peak memory"], lines)
    report.write()


def measure(path: Path, scratch: Path) -> None:
    """Write and read a store in this process, and print facts about it."""
    from threecpo.io.blocks import open_blocks

    # Loops are compiled before time is taken.
    with open_blocks(path, block_counts=BLOCK_COUNTS, scratch=scratch):
        pass
    times = [now()[1]]
    with (
        open_blocks(path, block_counts=BLOCK_COUNTS, scratch=scratch) as source,
        ThreadPoolExecutor(THREADS) as pool,
    ):
        times.append(now()[1])
        for _ in range(2):
            n_stored = sum(pool.map(lambda read: len(read().data), source.readers))
            times.append(now()[1])
        size = sum(read.size for read in source.readers)
    opening, first, second = np.diff(times).tolist()
    # Of a store that is written at the first reading, too.
    write = opening + first - second
    facts = {"n_stored": n_stored, "size": size, "write": write, "pass": second}
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
