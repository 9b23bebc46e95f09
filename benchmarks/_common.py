"""What the benchmarks share: data, Markdown tables, where output goes."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from threecpo.datasets import make_synth

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

SYNTH = "synth"
# Synth and the sets of the paper's kind.
DATA = (
    SYNTH,
    "wholesales",
    "sporta",
    "optdigits",
    "bbcsports",
    "bbcnews",
    "webkb",
    "reuters",
    "newsgroups20",
    "tcga5",
    "celllines_li",
    "pbmc_kang",
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
    with np.load(folder / f"{name}.npz", allow_pickle=False) as stored:
        parts = (
            stored["data"].astype(np.float64),
            stored["indices"].astype(np.int32),
            stored["indptr"].astype(np.int32),
        )
        matrix = sp.csr_array(parts, shape=tuple(stored["shape"]))
        return DataSet(name, matrix, stored["labels"])


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
