"""Opens all that can be cut into blocks of rows, and writes folders of blocks."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._errors import parameter, refuse
from ..._validation import check_counts, proportion_total, proportions_message
from ..._writing import new_folder, write_arrays
from ...table import CountTable
from .. import npz, parquet
from ..errors import block_errors
from ..files import is_zarr
from ..formats import ReadOptions, of_suffix
from ..tenx import holds_matrix
from .store import (
    BlockSource,
    HeldBlock,
    RowStream,
    Scratch,
    counts_of,
    row_cuts,
    stored,
)
from .streams import of_anndata, of_csv, of_market, of_tenx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from ..._core.counts import Counts

BLOCK_COUNTS = 1 << 22

SUFFIXES = (".npz", ".parquet", ".pq")
# A block has whole rows; triples would have parts of them.
_WIDE = ReadOptions(triples=False)


@contextmanager
def open_blocks(
    blocks: Any,
    *,
    layer: str | None = None,
    block_counts: int = BLOCK_COUNTS,
    scratch: str | os.PathLike[str] | None = None,
    shared: bool = False,
    reading: Mapping[str, Any] | None = None,
    rows: NDArray[np.bool_] | None = None,
) -> Iterator[BlockSource]:
    """Open rows in memory, on disk or of Dask as blocks.

    Parameters
    ----------
    blocks : str, path-like, Dask array, list of functions, or counts in memory
        A csv file with one row per line, a file ``.h5ad``, an AnnData as zarr, a 10x
        file ``.h5`` or folder, a MatrixMarket file or a folder of parquet or compressed
        npz files, which are read once into a scratch store; a folder of npz files as
        ``write_blocks`` writes them, which are read where they are; a Dask array cut
        along rows; functions that return one block each; a CountTable, array, frame or
        sparse matrix; or what this function yields, which stays open.
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
    reading : mapping, default=None
        Options of ``threecpo.read_counts`` for a csv file.
    rows : array of bool, default=None
        Which rows of a file to keep, if not all.

    Yields
    ------
    BlockSource
        Readers of the blocks; valid inside the ``with`` statement.
    """
    if layer is not None and not isinstance(blocks, str | os.PathLike):
        message = f"layer={layer!r} selects a matrix of a file; blocks is not a file."
        raise ValueError(message)
    if isinstance(blocks, str | os.PathLike):
        if scratch is not None and not Path(scratch).is_dir():
            message = f"scratch={os.fspath(scratch)!r} must be an existing folder."
            raise ValueError(message)
        folder = Path(tempfile.gettempdir() if scratch is None else scratch)
        place = Scratch(folder, shared)
        path = Path(blocks)
        found = _on_disk(path, layer, reading or {}, block_counts, place)
        if isinstance(found, RowStream):
            with stored(found, place, block_counts, rows) as source:
                yield source
        elif rows is not None:
            refuse(f"{path} has no names of rows to choose from.")
        else:
            yield found
    elif isinstance(blocks, BlockSource):
        yield blocks
    elif is_dask_array(blocks):
        yield _of_dask_array(blocks)
    elif isinstance(blocks, list | tuple) and all(map(callable, blocks)):
        readers = tuple(partial(_called, i, read) for i, read in enumerate(blocks))
        yield BlockSource(readers, "blocks")
    else:
        yield _in_memory(blocks, block_counts)


def are_blocks(X: Any) -> bool:
    """Whether X is a path, a Dask array or a list of functions, not held counts."""
    readers = isinstance(X, list | tuple) and bool(X) and all(map(callable, X))
    return isinstance(X, str | os.PathLike | BlockSource) or is_dask_array(X) or readers


def _on_disk(
    path: Path,
    layer: str | None,
    reading: Mapping[str, Any],
    block_counts: int,
    scratch: Scratch,
) -> BlockSource | RowStream:
    if of_suffix(path) == "csv" and path.is_file():
        asked = ReadOptions(**{"layer": layer, **reading})
        with block_errors(path):
            asked.check("csv", transpose=False)
        return of_csv(path, asked, block_counts)
    if not path.exists():
        refuse(f"{path} does not exist; check the name and the folder.")
    if is_zarr(path) or path.suffix.lower() == ".h5ad":
        return of_anndata(path, layer, block_counts, scratch)
    if of_suffix(path) == "10x-h5":
        return of_tenx(path, layer, block_counts)
    if layer is not None:
        refuse(f"{parameter('layer', layer)} is for AnnData and 10x files, not {path}.")
    if path.is_file() and path.suffix in SUFFIXES:
        return _of_files([path], str(path), block_counts, scratch)
    if path.is_dir() and (files := _files_of(path)):
        return _of_files(files, str(path), block_counts, scratch)
    if holds_matrix(path) if path.is_dir() else of_suffix(path) == "mtx":
        return of_market(path, block_counts, scratch)
    refuse(
        f"{path} cannot be read in blocks: that is for csv, h5ad, zarr, 10x, "
        "MatrixMarket and folders of npz or parquet; make it one by `threecpo convert` "
        "or threecpo.write_counts, or read all of it by threecpo.read_counts."
    )


def _called(number: int, read: Callable[[], Any]) -> Counts:
    """What a function of the user returns, as counts."""
    block = read()
    with block_errors(f"Block {number}"):
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
        largest=max(int(counts.indptr[b] - counts.indptr[a]) for a, b in cuts),
        row_names=X.row_names if named else None,
    )


class _Chunk:
    """One chunk by the tasks that make it, which run wherever it is read.

    What was persisted on a cluster stands among them as futures. These do not travel
    inside of other things: a reader that is sent gets their ``values`` beside it.
    """

    def __init__(self, number: int, tasks: dict[Any, Any], key: Any) -> None:
        futures = {name: task for name, task in tasks.items() if _is_future(task)}
        self.futures, self._names = [*futures.values()], [*futures]
        self.n_values = len(futures)
        self._tasks = {n: task for n, task in tasks.items() if n not in futures}
        self._number, self._key = number, key

    def __getstate__(self) -> dict[str, Any]:
        kept = ("_names", "_tasks", "_number", "_key", "n_values")
        return {name: getattr(self, name) for name in kept} | {"futures": []}

    def __call__(self, *values: Any) -> Counts:
        from dask.local import get_sync

        if not values:
            values = tuple(future.result() for future in self.futures)
        known = dict(zip(self._names, values, strict=True))
        block = known.get(self._key)
        if block is None:
            block = get_sync(self._tasks | known, self._key)
        with block_errors(f"Chunk {self._number}"):
            return counts_of(block)


def _is_future(task: Any) -> bool:
    if "distributed" not in sys.modules:
        return False
    from distributed import Future

    return isinstance(task, Future)


def is_dask_array(X: Any) -> bool:
    """Whether X is a Dask array, without importing Dask."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "numblocks")


def _of_dask_array(X: Any) -> BlockSource:
    from dask.optimization import cull

    if X.ndim != 2 or X.numblocks[1] > 1:
        refuse(
            f"The Dask array has {X.ndim} dimensions and {X.numblocks} chunks; it must "
            "be a table cut along its rows alone: X.rechunk({1: -1})."
        )
    keys = [row[0] for row in X.__dask_keys__()]
    graph = dict(X.__dask_graph__())
    chunks = [_Chunk(i, cull(graph, [key])[0], key) for i, key in enumerate(keys)]
    return BlockSource(tuple(chunks), "the Dask array")


def _in_file(path: Path) -> Counts:
    """The block that is in a file."""
    with block_errors(path):
        if path.suffix != ".npz":
            return counts_of(parquet.read(path, _WIDE).X)
        with npz.open_npz(path) as arrays:
            return counts_of(npz.matrix_of(arrays))


def _files_of(folder: Path) -> list[Path]:
    """Blocks of a folder; numbers in their names count as numbers."""
    found = [path for path in folder.iterdir() if path.suffix in SUFFIXES]
    if len({path.suffix == ".npz" for path in found}) > 1:
        refuse(f"{folder} holds both npz and parquet files; keep one kind there.")
    return sorted(found, key=_natural)


def _of_files(
    paths: Sequence[Path], name: str, block_counts: int, scratch: Scratch
) -> BlockSource | RowStream:
    """Open files, all of which have the same columns.

    What takes time to unpack comes once, unless many processes share the work, or a
    file is too large to be cut into blocks.
    """
    first, *others = paths
    header, *facts = _facts(first)
    for path in others:
        names, *more = _facts(path)
        if names != header:
            refuse(f"{path} has other column names than {first.name}.")
        facts = list(map(max, facts, more))
    readers = [partial(_in_file, path) for path in paths]
    largest: int | None
    largest, compressed = facts
    with block_errors(first):
        if first.suffix == ".npz":
            block = readers[0]()
        else:
            content, largest = parquet.read(first, _WIDE), None
            block, header = counts_of(content.X), content.column_names
    columns = None if header is None else np.array(list(header), dtype=object)
    if total := proportion_total(block):
        refuse(f"{name}: {proportions_message(total)}.")
    if scratch.shared or not compressed or (largest or 0) > 2 * block_counts:
        return BlockSource(tuple(readers), name, columns, largest=largest)
    sizes = [path.stat().st_size for path in paths]
    n_blocks = sum(sizes) / max(1, sizes[0])
    return RowStream(name, (read() for read in readers), n_blocks, columns)


def _facts(path: Path) -> tuple[Sequence[str] | None, int, bool]:
    """Column names of a file, how many counts are stored, and if it is compressed."""
    with block_errors(path):
        if path.suffix != ".npz":
            return parquet.column_names(path), 0, True
        with npz.open_npz(path) as arrays:
            names = npz.names_of(arrays, "feature_names")
            return names, max(0, *arrays.shape("data")), arrays.compressed


def _natural(path: Path) -> list[tuple[int, int, str]]:
    """Sort block-2 before block-10."""
    return [
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in re.split(r"(\d+)", path.name)
        if part
    ]


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
            n_columns = canonical.shape[1]
            if column_names is not None and len(column_names) != n_columns:
                n_names = len(column_names)
                message = f"column_names has {n_names} names for {n_columns} columns."
                raise ValueError(message)
            _save_block(canonical, beside / f"{i:06d}.npz", column_names)
        if i < 0:
            message = "There are no blocks to write."
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
