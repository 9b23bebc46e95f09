"""Blocks of rows as npz files, uncompressed: reading them is what a pass waits for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._writing import new_folder, write_arrays
from .block_source import counts_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    import scipy.sparse as sp


def write_blocks(
    blocks: Iterable[Any],
    folder: str | os.PathLike[str],
    *,
    column_names: Sequence[str] | None = None,
) -> None:
    """Write blocks of rows to a new folder, for ``threecpo.distributed.fit``.

    Parameters
    ----------
    blocks : iterable of sparse matrices or arrays
        Rows below each other, all with the same columns. They are taken one by one, so
        a generator can make more of them than memory holds.
    folder : str or path-like
        Folder to make. It appears when it is complete.
    column_names : sequence of str, default=None
        Names of the columns.

    Examples
    --------
    >>> import tempfile
    >>> from threecpo import ThreeCPO, distributed
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.io.blocks import write_blocks
    >>> X, _ = make_synth(random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_blocks((X[i : i + 100] for i in range(0, 1000, 100)), f"{folder}/X")
    ...     model = distributed.fit(ThreeCPO(3, random_state=0), f"{folder}/X")
    >>> model.column_groups_
    array([ 1,  1,  0,  0, -1, -1], dtype=int8)
    """
    with new_folder(Path(folder)) as beside:
        i = -1
        for i, block in enumerate(blocks):
            # As a fit wants them, once: what it would have to sort at every reading.
            canonical = counts_of(block).matrix()
            _check_names(column_names, canonical.shape[1])
            _save_block(canonical, beside / f"{i:06d}.npz", column_names)
        if i < 0:
            message = "There are no blocks to write."
            raise ValueError(message)


def _check_names(names: Sequence[str] | None, n_columns: int) -> None:
    if names is not None and len(names) != n_columns:
        message = f"column_names has {len(names)} names for {n_columns} columns."
        raise ValueError(message)


def _save_block(
    block: sp.csr_array, path: Path, column_names: Sequence[str] | None
) -> None:
    """Write one block in the form of scipy.sparse.save_npz, names beside."""
    data = block.data
    whole = data.min(initial=0) >= 0 and np.array_equal(data, np.floor(data))
    if whole and data.max(initial=0) <= np.iinfo(np.int32).max:
        data = data.astype(np.int32)
    arrays: dict[str, Any] = {
        "format": np.array(b"csr"),
        "shape": np.array(block.shape),
        "data": data,
        "indices": block.indices,
        "indptr": block.indptr,
    }
    if column_names is not None:
        arrays["feature_names"] = np.array(column_names, dtype=str)
    with path.open("xb") as file:
        write_arrays(file, arrays)
