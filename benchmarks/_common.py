"""What the benchmarks share: data, Markdown tables, where output goes."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from threecpo.datasets import make_synth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

SYNTH = "synth"
# Synth and the sets of the paper's kind.
DATA = (
    *(SYNTH, "wholesales", "sporta", "optdigits", "bbcsports", "bbcnews", "webkb"),
    *("reuters", "newsgroups20", "tcga5", "celllines_li", "pbmc_kang"),
)
HERE = Path(__file__).resolve().parent
# The paper is imported from the root.
sys.path.append(str(HERE.parent))
DATA_VARIABLE = "THREECPO_SHARED_DATA"


@dataclass(frozen=True)
class DataSet:
    name: str
    matrix: sp.csr_array | NDArray[np.int64]
    labels: NDArray[np.int64]

    @property
    def n_clusters(self) -> int:
        return len(np.unique(self.labels))


def parser_of(doc: str | None, *, data: bool = False) -> argparse.ArgumentParser:
    """Parser with an option for the file to write, and one for the folder of data."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=doc, formatter_class=plain)
    parser.add_argument("--output", type=Path, help="also write the Markdown here")
    if data:
        add_data_option(parser)
    return parser


def add_data_option(parser: argparse.ArgumentParser) -> None:
    beside = HERE.parent.parent / "shared" / "data"
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get(DATA_VARIABLE, beside)),
        help=f"folder of .npz count matrices (default: ${DATA_VARIABLE}, "
        "else ../shared/data beside the repository)",
    )


def missing_data(folder: Path, names: Iterable[str]) -> str | None:
    """Say which files are not there, if any."""
    files = {name: folder / f"{name}.npz" for name in names if name != SYNTH}
    missing = [name for name, file in files.items() if not file.is_file()]
    if not missing:
        return None
    files = ", ".join(f"{name}.npz" for name in missing)
    return f"{folder} has no {files}; name another folder by --data or ${DATA_VARIABLE}"


def load(folder: Path, name: str) -> DataSet:
    if name == SYNTH:
        return DataSet(name, *make_synth(random_state=0))
    return read_file(folder / f"{name}.npz")


def read_file(file: Path) -> DataSet:
    with np.load(file, allow_pickle=False) as stored:
        if "X" in stored:
            return DataSet(file.stem, sp.csr_array(stored["X"]), stored["labels"])
        indices, indptr = (stored[n].astype(np.int32) for n in ("indices", "indptr"))
        parts = stored["data"].astype(float), indices, indptr
        matrix = sp.csr_array(parts, shape=tuple(stored["shape"]))
        return DataSet(file.stem, matrix, stored["labels"])


def labelled_files(folders: Iterable[Path]) -> list[Path]:
    """Every .npz of some folders, the smallest first."""
    files = [file for folder in folders for file in folder.glob("*.npz")]
    return sorted(files, key=lambda file: file.stat().st_size)


class Kept(dict[tuple[Any, ...], Any]):
    """What was measured, by name and way; also in a file of JSON lines, if named."""

    def __init__(self, path: Path | None) -> None:
        super().__init__()
        self._path = path
        if path is not None and path.is_file():
            for line in path.read_text("utf-8").splitlines():
                *key, found = json.loads(line)
                super().__setitem__(tuple(key), found)

    def __setitem__(self, key: tuple[Any, ...], found: Any) -> None:
        super().__setitem__(key, found)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as lines:
                print(json.dumps([*key, found]), file=lines)


def in_child(
    *command: object, python: str = sys.executable, every: float | None = None
) -> dict[str, Any]:
    """JSON that a script prints last in a process of its own, and "watched" memory.

    That is the most that the process and all that it started had (proportional set
    size, bytes), looked at ``every`` so many seconds, or never.
    """
    child = subprocess.Popen(
        [python, *map(str, command)], stdout=subprocess.PIPE, text=True
    )
    with watched(child.pid, every) as peak:
        answer, _ = child.communicate()
    if child.returncode:
        raise SystemExit(child.returncode)
    return {"watched": peak[0]} | json.loads(answer.splitlines()[-1])


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """What a function returns, and its processor seconds."""
    before = time.process_time()
    found = function()
    return found, time.process_time() - before


@contextmanager
def watched(process: int, every: float | None) -> Iterator[list[int]]:
    """Most memory that a process has meanwhile, looked at every so many seconds."""
    peak, ended = [0], threading.Event()

    def watch() -> None:
        while not ended.wait(every):
            peak[0] = max(peak[0], memory_of(process))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        peak[0] = max(peak[0], memory_of(process))
        ended.set()
        watcher.join()


def memory_of(process: int) -> int:
    """Bytes of a process and all it started; what they share is divided by them."""
    with suppress(OSError, ValueError, IndexError):
        folder = Path(f"/proc/{process}")
        text = (folder / "smaps_rollup").read_text()
        own = 1024 * int(text.partition("\nPss:")[2].split()[0])
        started = (folder / "task" / str(process) / "children").read_text().split()
        return own + sum(memory_of(int(child)) for child in started)
    return 0


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Markdown: the first column to the left, numbers to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


class Report:
    """Text for standard output and, if asked, a file; figures for machines."""

    def __init__(self, path: Path | None) -> None:
        self.figures: dict[str, dict[str, float]] = {}
        self._path = path
        self._parts: list[str] = []

    def add(self, part: str) -> None:
        print(part, end="\n\n", flush=True)
        self._parts.append(part)

    def add_table(
        self, header: Sequence[str], rows: Sequence[Sequence[object]]
    ) -> None:
        if rows:
            self.add(table(header, rows))

    def write(self) -> None:
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text("\n\n".join(self._parts) + "\n", encoding="utf-8")


def say(message: str) -> None:
    """Tell how far we are, beside the results."""
    print(message, file=sys.stderr, flush=True)
