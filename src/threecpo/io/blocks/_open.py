"""Opens all that can be cut into blocks of rows."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._errors import DataFormatError
from ..._validation import check_counts
from ...table import CountTable
from .. import formats
from ..errors import block_errors
from ..regular_files import is_zarr
from ._chunks import is_dask_array, of_dask_array
from .block_source import BlockSource, HeldBlock, counts_of, largest_of, row_cuts
from .store import RowStream, Scratch, stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..._core.counts import Counts

BLOCK_COUNTS = 1 << 22


@contextmanager
def open_blocks(
    blocks: Any,
    *,
    layer: str | None = None,
    block_counts: int = BLOCK_COUNTS,
    scratch: str | os.PathLike[str] | None = None,
    shared: bool = False,
) -> Iterator[BlockSource]:
    """Open rows in memory, on disk or of Dask as blocks.

    Parameters
    ----------
    blocks : str, path-like, Dask array, list of functions, or counts in memory
        A file ``.h5ad``, an AnnData as zarr, a 10x file ``.h5`` or folder, a
        MatrixMarket file or a folder of parquet or compressed npz files, which are
        read once into a scratch store; a folder of npz files as ``write_blocks`` writes
        them, which are read where they are; a Dask array cut along rows; functions
        that return one block each; a CountTable, array, frame or sparse matrix; or
        what this function yields, which stays open.
    layer : str, default=None
        Matrix of an AnnData or of a 10x file, as in ``threecpo.read_counts``.
    block_counts : int
        About how many stored counts a block has, where that can be chosen.
    scratch : str or path-like, default=None
        Existing folder for the scratch store, which takes about 1.5 bytes a stored
        count (more for large values) and is removed at the end. None takes the
        system's folder for temporary files.
    shared : bool, default=False
        Whether other processes read the blocks. They must see the folder of the store;
        files of a folder are read where they are.

    Yields
    ------
    BlockSource
        Readers of the blocks; valid inside the ``with`` statement.
    """
    if layer is not None and not isinstance(blocks, str | os.PathLike):
        message = f"layer={layer!r} chooses a matrix of a file; blocks is none."
        raise ValueError(message)
    if isinstance(blocks, str | os.PathLike):
        if scratch is not None and not Path(scratch).is_dir():
            message = f"scratch={os.fspath(scratch)!r} must be an existing folder."
            raise ValueError(message)
        folder = Path(tempfile.gettempdir() if scratch is None else scratch)
        place = Scratch(folder, shared)
        found = _on_disk(Path(blocks), layer, block_counts, place)
        if isinstance(found, RowStream):
            with stored(found, place, block_counts) as source:
                yield source
        else:
            yield found
    elif isinstance(blocks, BlockSource):
        yield blocks
    elif is_dask_array(blocks):
        yield of_dask_array(blocks)
    elif isinstance(blocks, list | tuple) and all(map(callable, blocks)):
        yield _of_readers(blocks)
    else:
        yield _in_memory(blocks, block_counts)


def are_blocks(X: Any) -> bool:
    """Whether X is a path, a Dask array or a list of functions, not counts in memory.

    Parameters
    ----------
    X : object
        What somebody passes for counts.

    Returns
    -------
    bool
        Whether it is to be read in blocks.
    """
    readers = isinstance(X, list | tuple) and bool(X) and all(map(callable, X))
    return isinstance(X, str | os.PathLike | BlockSource) or is_dask_array(X) or readers


def _on_disk(
    path: Path, layer: str | None, block_counts: int, scratch: Scratch
) -> BlockSource | RowStream:
    from ._folder import SUFFIXES, files_of, of_files
    from ._streams import of_anndata, of_market, of_tenx

    if not path.exists():
        message = f"{path} does not exist; check the name and the folder."
        raise DataFormatError(message)
    if is_zarr(path) or path.suffix.lower() == ".h5ad":
        return of_anndata(path, layer, block_counts, scratch)
    if formats.of_suffix(path) == "10x-h5":
        return of_tenx(path, layer, block_counts)
    if layer is not None:
        message = f"layer={layer!r} is for AnnData and 10x files; {path} is none."
        raise DataFormatError(message)
    if path.is_file() and path.suffix in SUFFIXES:
        return of_files([path], str(path), block_counts, scratch)
    if path.is_dir():
        files = files_of(path)
        if files:
            return of_files(files, str(path), block_counts, scratch)
    if _is_market(path):
        return of_market(path, block_counts, scratch)
    message = (
        f"{path} cannot be read in blocks: that is for h5ad, zarr, 10x, MatrixMarket "
        "and folders of npz or parquet files; make it one by `threecpo convert` or "
        "threecpo.write_counts, or read all of it by threecpo.read_counts."
    )
    raise DataFormatError(message)


def _is_market(path: Path) -> bool:
    if path.is_dir():
        return any("matrix.mtx" in entry.name.lower() for entry in path.iterdir())
    return formats.of_suffix(path) == "mtx"


@dataclass(frozen=True)
class _Called:
    """What a function of the user returns, as counts."""

    number: int
    read: Callable[[], Any]

    def __call__(self) -> Counts:
        block = self.read()
        with block_errors(f"Block {self.number}"):
            return counts_of(block)


def _in_memory(X: Any, block_counts: int) -> BlockSource:
    named = isinstance(X, CountTable)
    names = X.column_names if named else getattr(X, "columns", None)
    counts = check_counts(X)
    cuts = row_cuts(counts.indptr, block_counts)
    if names is not None and not all(isinstance(name, str) for name in names):
        names = None
    return BlockSource(
        tuple(HeldBlock(counts.between(*cut)) for cut in cuts),
        "X",
        None if names is None else np.array(list(names), dtype=object),
        largest=largest_of(counts.indptr, cuts),
        row_names=X.row_names if named else None,
    )


def _of_readers(readers: Sequence[Callable[[], Any]]) -> BlockSource:
    return BlockSource(
        tuple(_Called(i, read) for i, read in enumerate(readers)), "blocks"
    )
