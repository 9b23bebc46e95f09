"""Valid files to begin with: tables in many formats, models and checkpoints."""

from __future__ import annotations

import contextlib
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

import threecpo
from threecpo import ThreeCPO
from threecpo.io.blocks import write_blocks

from .doors import blocks_of_rows, resume
from .target import Tree, tree_of

if TYPE_CHECKING:
    from collections.abc import Callable


def table(n_rows: int = 6, n_columns: int = 5) -> threecpo.CountTable:
    """Counts with names and labels."""
    rng = np.random.default_rng(n_rows)
    return threecpo.CountTable(
        rng.poisson(1.5, (n_rows, n_columns)),
        row_names=[f"row {i}" for i in range(n_rows)],
        column_names=[f"c{j}" for j in range(n_columns)],
        labels=[(0, 1, 1, 0, -1, 1)[i % 6] for i in range(n_rows)],
        label_names=["u", "v"],
    )


def made(write: Callable[..., Any], *given: Any) -> Tree:
    """Return the files that a function of a folder, and of more, writes there."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), *given)
        return tree_of(Path(folder))


def written(name: str, **options: Any) -> list[Tree]:
    """Files of ``write_counts``, of two sizes."""

    def write(folder: Path, given: threecpo.CountTable) -> None:
        threecpo.write_counts(given, folder / name, **options)

    return [made(write, given) for given in (table(), table(9, 3))]


def scipy_npz(layout: str) -> list[Tree]:
    """Matrices of ``scipy.sparse.save_npz``, packed and not."""
    X: Any = table().X
    matrix = X.asformat(layout)

    def write(folder: Path, packed: bool) -> None:  # noqa: FBT001
        sp.save_npz(folder / "t.npz", matrix, compressed=packed)

    return [made(write, packed) for packed in (True, False)]


def plain_files(*contents: dict[str, str]) -> list[Tree]:
    """Texts as files."""
    return [
        {name: text.encode() for name, text in content.items()} for content in contents
    ]


def block_folders(suffix: str) -> list[Tree]:
    """Folders of two blocks each, of npz or parquet files."""
    if suffix == "npz":
        parts = [table().X[:4], table().X[4:]]
        names = [f"c{j}" for j in range(5)]
        return [
            made(lambda folder: write_blocks(parts, folder / "t", column_names=names)),
            made(lambda folder: write_blocks(parts[:1], folder / "t")),
        ]

    def write(folder: Path) -> None:
        (folder / "t").mkdir()
        for i in range(2):
            threecpo.write_counts(table(4 + i, 4), folder / "t" / f"b{i}.parquet")

    # Labels would be a column of text.
    return [_without_labels(write)]


def _without_labels(write: Callable[[Path], Any]) -> Tree:
    import io

    import pyarrow.parquet as pq

    out = {}
    for name, content in made(write).items():
        file = io.BytesIO()
        pq.write_table(pq.read_table(io.BytesIO(content)).drop(["label"]), file)
        out[name] = file.getvalue()
    return out


def parquet_of_texts() -> list[Tree]:
    """Tables whose counts are text as people write numbers, some of them missing."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "k": ["x", "y", "z"],
        "label": ["u", None, "v"],
        "a": ["1.234,5 €", "NA", "7"],
        "b": [1.5, None, 2.0],
        "c": [True, False, None],
    }

    def write(folder: Path, given: dict[str, Any]) -> None:
        pq.write_table(pa.table(given), folder / "t.parquet", row_group_size=2)

    few = {name: columns[name] for name in ("k", "label", "a")}
    return [made(write, given) for given in (columns, few)]


def mtx_variants() -> list[Tree]:
    """MatrixMarket in all the forms that are read."""
    banner = "%%MatrixMarket matrix"
    return [
        *written("t.mtx"),
        *plain_files(
            {"t.mtx": f"{banner} coordinate real general\n%\n2 3 2\n1 2 1.5\n2 3 4\n"},
            {"t.mtx": f"{banner} coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n"},
        ),
    ]


class _StopError(Exception):
    """Ends a fit between two passes."""


def models() -> list[Tree]:
    """Models with and without names, outliers and labels to start from."""
    given = table(12, 5)
    ways: tuple[dict[str, Any], ...] = (
        {"X": given},
        {"X": given.X, "outliers": "iterative", "column_penalty": None},
        {"X": given.X, "init": [0, 1] * 6, "prior": 0.5},
    )
    return [_model(**way) for way in ways]


def _model(X: Any, **options: Any) -> Tree:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ThreeCPO(2, random_state=0, n_init=2, n_jobs=1, **options).fit(X)
    return made(lambda folder: model.save(folder / "t.npz"))


def checkpoints() -> list[Tree]:
    """Folders of a fit that was stopped early, later, and not at all."""
    return [made(_stopped, n_reads) for n_reads in (4, 6, 10, 10**6)]


def _stopped(folder: Path, n_reads: int) -> None:
    done = iter(range(n_reads))

    def counted(read: Callable[[], Any]) -> Callable[[], Any]:
        def reading() -> Any:
            if next(done, None) is None:
                raise _StopError
            return read()

        return reading

    with contextlib.suppress(_StopError):
        resume(folder / "t", blocks=[counted(read) for read in blocks_of_rows()])
