"""Public doors for files, each with a look at what comes out."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

import threecpo
from threecpo import ThreeCPO, distributed, report, results
from threecpo.io.blocks import open_blocks

if TYPE_CHECKING:
    from pathlib import Path

# A model of more columns is not used on counts, which would be slow.
_MOST_COLUMNS = 100_000


class WrongResultError(Exception):
    """What came out of a door cannot be right."""


def read_table(path: Path, **options: Any) -> None:
    """Read a file, and look at the table."""
    table = threecpo.read_counts(path, **options)
    check_matrix(table.X)
    for names, length in zip(
        (table.row_names, table.column_names), table.shape, strict=True
    ):
        if names is not None and len(names) != length:
            message = f"{len(names)} names for {length}"
            raise WrongResultError(message)
    if (table.X.data <= 0).any() or not np.isfinite(table.X.data).all():
        message = "the table holds values that are no counts"
        raise WrongResultError(message)


def read_metadata(path: Path) -> None:
    """Read labels beside counts whose rows they may name."""
    counts = path.with_name("counts.csv")
    names = ("row 0", "row 1", "row 2", "p1", "p2")
    counts.write_text("k,a\n" + "".join(f"{name},1\n" for name in names))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read_table(counts, metadata=path, labels="label")


def read_blocks(path: Path) -> None:
    """Read every block of a file or folder."""
    with open_blocks(path, block_counts=16) as source:
        for read in source.readers:
            check_matrix(read().matrix())


def check_matrix(X: Any) -> None:
    """Refuse a matrix whose arrays do not fit together."""
    ends = np.asarray(X.indptr)
    fits = (
        len(ends) == X.shape[0] + 1
        and ends[0] == 0
        and (np.diff(ends) >= 0).all()
        and ends[-1] == len(X.indices) == len(X.data)
        and (not len(X.indices) or 0 <= X.indices.min() <= X.indices.max() < X.shape[1])
    )
    if not fits:
        message = "the matrix has pointers or indices out of range"
        raise WrongResultError(message)


def use_model(path: Path) -> None:
    """Load a model, label some rows and summarise it."""
    model = threecpo.load(path)
    width = model.n_features_in_
    if width < _MOST_COLUMNS:
        labels = model.predict(np.arange(3 * width).reshape(3, width) % 7)
        if not ((labels >= -1) & (labels < model.n_clusters_)).all():
            message = f"labels {labels} of {model.n_clusters_} clusters"
            raise WrongResultError(message)
    if hasattr(model, "labels_"):
        report.summarise(model, results.row_table(model))


def blocks_of_rows() -> list[Any]:
    """Readers of the counts that checkpoints belong to."""
    rng = np.random.default_rng(0)
    scales = rng.gamma(1.0, 2.0, size=(40, 1))
    X = rng.poisson(scales * rng.gamma(2.0, 1.0, size=(40, 6)))
    return [lambda: X[:20], lambda: X[20:]]


def resume(path: Path, blocks: Any = None) -> None:
    """Fit with a checkpoint folder, and look at the result."""
    model = ThreeCPO(
        3,
        init="random-labels",
        n_init=3,
        column_penalty=None,
        random_state=0,
        n_jobs=1,
    )
    readers = blocks_of_rows() if blocks is None else blocks
    distributed.fit(model, readers, sample_rows=15, checkpoint=path)
    inside = (model.labels_ >= -1) & (model.labels_ < model.n_clusters_)
    if not inside.all() or not np.isfinite(model.loss_):
        message = f"a fit with loss {model.loss_} and labels {model.labels_[~inside]}"
        raise WrongResultError(message)
