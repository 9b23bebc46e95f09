"""What the scratch store takes: its size, and seconds to write it and to read it.

    python benchmarks/atlas.py --folder /big/disk --rows 130000 --format h5ad
    python benchmarks/store.py /big/disk/atlas-130000-20.h5ad --scratch /big/disk

Each file is read into a store by a process of its own, whose memory is watched from
outside; then two threads read all blocks, as a pass of a fit does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

from _common import HERE, Report, say
from atlas import memory_of, now

# Counts of a block with max_memory="2GB" and two threads.
BLOCK_COUNTS = 1 << 22
THREADS = 2


def main() -> int:
    """Measure each file in a process of its own."""
    given = _parser().parse_args()
    if given.child:
        return measure(given.files[0], given.scratch)
    report = Report(given.output)
    lines = []
    for path in given.files:
        say(str(path))
        facts, peak = _measured(path, given.scratch)
        n_stored = facts["n_stored"]
        line = [path.name, f"{n_stored / 1e6:.0f}", f"{facts['size'] / 1e6:.0f}"]
        line.append(f"{facts['size'] / n_stored:.2f}")
        for name in ("write", "pass"):
            wall, used = facts[name]
            line.append(f"{wall:.1f}, {used:.1f}")
            line.append(f"{1e9 * used / n_stored:.1f}")
        lines.append([*line, f"{peak / 1e6:.0f}"])
    header = ["file", "million counts", "store, MB", "bytes a count"]
    header += ["writing: s, of processors", "ns of a processor a count"]
    header += ["a pass: s, of processors", "ns of a processor a count"]
    report.add_table([*header, "peak memory, MB"], lines)
    report.write()
    return 0


def measure(path: Path, scratch: Path) -> int:
    """Write and read a store in this process, and print facts about it."""
    from threecpo.io.blocks import open_blocks

    # Loops are compiled before time is taken.
    with open_blocks(path, block_counts=BLOCK_COUNTS, scratch=scratch):
        pass
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        times = [now()]
        options = {"block_counts": BLOCK_COUNTS, "scratch": folder}
        with (
            open_blocks(path, **options) as source,
            ThreadPoolExecutor(THREADS) as pool,
        ):
            times.append(now())
            for _ in range(2):
                n_stored = sum(pool.map(lambda read: len(read().data), source.readers))
                times.append(now())
            files = [file for file in Path(folder).rglob("*") if file.is_file()]
            size = sum(file.stat().st_size for file in files)
            if not files:
                # It has no name.
                size = sum(read.size for read in source.readers)
    spent = [
        [end - begin for begin, end in zip(before, after, strict=True)]
        for before, after in pairwise(times)
    ]
    opening, first, second = spent
    # Of a store that is written at the first reading, too.
    write = [a + b - c for a, b, c in zip(opening, first, second, strict=True)]
    facts = {"n_stored": n_stored, "size": size, "write": write, "pass": second}
    print(json.dumps(facts))
    return 0


def _measured(path: Path, scratch: Path) -> tuple[dict, int]:
    command = [sys.executable, str(HERE / "store.py"), "--child", str(path)]
    child = subprocess.Popen(
        [*command, "--scratch", str(scratch)], stdout=subprocess.PIPE, text=True
    )
    peak, ended = [0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.2):
            peak[0] = max(peak[0], memory_of(child.pid))

    thread = threading.Thread(target=watch)
    thread.start()
    answer, _ = child.communicate()
    ended.set()
    thread.join()
    if child.returncode:
        raise SystemExit(child.returncode)
    return json.loads(answer.splitlines()[-1]), peak[0]


def _parser() -> argparse.ArgumentParser:
    text = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=text)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--output", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
