"""Files as streams of rows: AnnData, 10x and MatrixMarket, stored by rows or not."""

from __future__ import annotations

from collections import deque
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..._core.matrices import from_sparse
from ..._errors import parameter, refuse
from .. import h5ad, mtx, tenx
from ..content import check_names
from ..delimited import row_blocks
from ..errors import block_errors
from ..files import is_zarr
from ..formats import ReadOptions, of_suffix
from ..hierarchies import asked, labels_found, lines_of
from .store import PackedFile, RowStream, read_ahead, row_cuts

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ..._core.counts import Counts
    from ..content import FileContent
    from ..delimited import WideRows
    from ..hierarchies import Lines
    from .store import Scratch

    # Rows, columns and counts of some entries.
    Entries = Lines

# Bytes of an entry until it is sorted, rather too many.
_OF_ENTRY = 4


def of_anndata(
    path: Path, layer: str | None, block_counts: int, scratch: Scratch
) -> RowStream:
    """Choose the matrix as ``read_counts`` does; one by columns is sorted into rows."""
    with block_errors(path):
        found = asked(h5ad.describe, path, layer=layer)
        shape, names = tuple(found["shape"]), found["columns"]
        if shape[1] != len(names):
            what = f"{found['called']} has {shape[1]} columns"
            refuse(f"{what} for {len(names)} names")
        ends = found.get("indptr")
        if ends is None:
            ends = np.arange(shape[0] + 1, dtype=np.int64) * shape[1]
    cuts, place = row_cuts(ends, block_counts), found["place"]
    if found["by_rows"]:
        blocks = _blocks(path, place, cuts, shape[1])
    else:
        entries = _entries(path, place, cuts, shape[0])
        sizes = shape, int(ends[-1]), block_counts
        blocks = sorted_blocks(entries, *sizes, scratch, str(path))
    not_whole = None if found["asked"] else f"{path}: {h5ad.fractional_x(found)}."
    columns = np.array(names, dtype=object)
    return RowStream(str(path), blocks, len(cuts), columns, None, not_whole)


def of_tenx(path: Path, layer: str | None, block_counts: int) -> RowStream:
    """Cells of a 10x matrix in HDF5."""
    with block_errors(path):
        found = asked(tenx.describe, path, layer=layer)
        shape, taken = found["shape"], found["taken"]
        check_names(found["rows"], shape[0], "row")
    genes = np.array(tenx.gene_names(found["ids"], found["symbols"]), dtype=object)
    cuts = row_cuts(found["indptr"], block_counts)
    blocks = _blocks(path, found["place"], cuts, shape[1], taken)
    columns = genes if taken is None else genes[taken]
    cells = np.array(found["rows"], dtype=object)
    return RowStream(str(path), blocks, len(cuts), columns, cells)


def _lines(path: Path, place: str, cuts: list[tuple[int, int]]) -> Generator[Lines]:
    """Rows, or columns, between cuts, unpacked by two processes in turns.

    Zarr has threads of its own.
    """
    n_readers = 1 if path.is_dir() else min(2, len(cuts))
    with ExitStack() as stack:
        readers = []
        for i in range(n_readers):
            lines = lines_of(path, place, cuts[i::n_readers])
            stack.enter_context(closing(lines))
            readers.append(stack.enter_context(closing(read_ahead(lines))))
        for number in range(len(cuts)):
            yield next(readers[number % n_readers])


def _blocks(
    path: Path,
    place: str,
    cuts: list[tuple[int, int]],
    n_columns: int,
    taken: Sequence[int] | None = None,
) -> Generator[Counts]:
    """Rows between cuts, of these columns if not of all."""
    with block_errors(path), closing(_lines(path, place, cuts)) as lines:
        for lengths, indices, data in lines:
            indptr = np.concatenate([[0], np.cumsum(lengths)])
            parts = (data, indices, indptr)
            counts = from_sparse(sp.csr_array(parts, (len(lengths), n_columns)))
            # Selecting columns trusts indices.
            chosen = None if taken is None else counts.matrix()[:, taken]
            yield counts if chosen is None else from_sparse(chosen)


def _entries(
    path: Path, place: str, cuts: list[tuple[int, int]], n_rows: int
) -> Iterator[Entries]:
    """Entries of a matrix that is stored by columns, some of these at a time."""
    with block_errors(path), closing(_lines(path, place, cuts)) as lines:
        for (start, stop), (lengths, rows, data) in zip(cuts, lines, strict=True):
            if len(rows) and not 0 <= rows.min() <= rows.max() < n_rows:
                refuse(f"its matrix has an index beyond its {n_rows} rows")
            yield rows, np.repeat(np.arange(start, stop), lengths), data


def of_market(path: Path, block_counts: int, scratch: Scratch) -> RowStream:
    """Rows of a file whose entries come in any order.

    The names and the orientation of 10x folders are those of ``read_counts``.
    """
    with block_errors(path):
        matrix = tenx.matrix_file(path)
        with mtx.open_matrix(matrix) as (header, _):
            shape, n_entries = header.shape, header.n_entries
        rows, columns, turned = None, None, False
        if path.is_dir() or tenx.is_part(path):
            cells, genes, turned = tenx.names_beside(matrix, shape)
            rows, columns = (np.array(names, dtype=object) for names in (cells, genes))
    if turned:
        shape = shape[::-1]

    def entries() -> Iterator[Entries]:
        with block_errors(path), mtx.open_matrix(matrix) as (_, parts):
            for lines, places, counts in parts:
                yield (places, lines, counts) if turned else (lines, places, counts)

    # A header may claim anything: gzip packs 1030 bytes into one, an entry takes four.
    n_entries = min(n_entries, 300 * matrix.stat().st_size)
    sizes = n_entries, block_counts
    blocks = sorted_blocks(entries(), shape, *sizes, scratch, str(path))
    n_blocks = -(-n_entries // block_counts)
    return RowStream(str(path), blocks, n_blocks, columns, rows)


def of_csv(path: Path, options: ReadOptions, block_counts: int) -> RowStream:
    """Rows of a table with one row per line; their names are known at the end."""
    blocks = row_blocks(path, options, block_counts)
    with block_errors(path):
        rows: WideRows = next(blocks)
    columns = rows.content().column_names

    def read() -> Generator[Counts]:
        with block_errors(path), closing(blocks):
            yield from blocks

    def row_names() -> Any:
        names = rows.content().row_names
        return None if names is None else np.array(names, dtype=object)

    # A stored count takes about four letters beside its zeros.
    n_blocks = max(1.0, path.stat().st_size / (8 * block_counts))
    names = None if columns is None else np.array(columns, dtype=object)
    return RowStream(str(path), read(), n_blocks, names, row_names)


def sorted_blocks(
    parts: Iterable[Entries],
    shape: tuple[int, int],
    n_entries: int,
    block_counts: int,
    scratch: Scratch,
    name: str,
) -> Generator[Counts]:
    """Rows of a matrix of this shape, about so many counts at a time.

    A part is sorted into rows in memory; what it has for each block waits in a file.
    """
    n_rows, n_columns = shape
    n_blocks = max(1, min(n_rows, -(-n_entries // block_counts)))
    step = max(1, -(-n_rows // n_blocks))
    scratch.check_room(n_entries * _OF_ENTRY, name)
    starts = range(0, n_rows, step)
    waiting: list[list[Any]] = [[] for _ in starts]
    with closing(PackedFile(scratch._replace(shared=False))) as file:
        for part in _gathered(parts, block_counts):
            rows, columns, values = part
            counts = from_sparse(sp.coo_array((values, (rows, columns)), shape=shape))
            for start, chunks in zip(starts, waiting, strict=True):
                chunk = counts.between(start, min(n_rows, start + step))
                if len(chunk.data):
                    chunks.append(file.add(chunk))
        for start, chunks in zip(starts, waiting, strict=True):
            block_shape = min(n_rows, start + step) - start, n_columns
            yield _added([read() for read in chunks], block_shape)


def _gathered(parts: Iterable[Entries], n_wanted: int) -> Iterator[Entries]:
    """Entries of several parts at a time, about as many as a block has."""
    begun: list[Entries] = []
    for part in parts:
        begun.append(part)
        if sum(len(rows) for rows, *_ in begun) >= n_wanted:
            yield _together(begun)
            begun = []
    if begun:
        yield _together(begun)


def _together(parts: Sequence[Entries]) -> Entries:
    rows, columns, values = (np.concatenate(each) for each in zip(*parts, strict=True))
    return rows, columns, values


def _added(chunks: Sequence[Counts], shape: tuple[int, int]) -> Counts:
    """Counts of chunks of the same rows; those of the same place are added."""
    if len(chunks) == 1:
        return chunks[0]
    numbers = np.arange(shape[0], dtype=np.int32)
    none = numbers[:0], numbers[:0], np.empty(0)
    each = [
        (np.repeat(numbers, np.diff(chunk.indptr)), chunk.indices, chunk.data)
        for chunk in chunks
    ]
    rows, columns, values = _together([none, *each])
    return from_sparse(sp.coo_array((values, (rows, columns)), shape=shape))


def read_row_labels(
    path: Path, column: str, reading: Mapping[str, Any] | None = None
) -> list[str | None]:
    """Labels of the rows of an AnnData or csv, of a column of obs or of the table."""
    if of_suffix(path) == "csv":
        options = dict(reading or {})
        options["labels"] = list(dict.fromkeys([column, *options.get("labels", ())]))
        content = _csv_rows(path, options)
        names, labels = content.label_names, content.labels
    else:
        _check_has_rows(path)
        with block_errors(path):
            obs = asked(h5ad.read_obs, path, labels=[column])
            found = labels_found(obs, [column], "obs")
        names, labels = found["label_names"], found["labels"]
    known, codes = names or (), np.asarray(labels).tolist()
    return [None if code < 0 else str(known[code]) for code in codes]


def _csv_rows(path: Path, reading: Mapping[str, Any]) -> FileContent:
    """Names and labels of the rows of a table; its counts are passed over."""
    blocks = row_blocks(path, ReadOptions(**reading), 1)
    with block_errors(path):
        rows: WideRows = next(blocks)
        deque(blocks, maxlen=0)
        return rows.content()


def read_row_names(path: Path, reading: Mapping[str, Any] | None = None) -> list[str]:
    """Names of the rows of an AnnData, 10x or csv; the counts stay there."""
    with block_errors(path):
        if of_suffix(path) == "csv":
            found = _csv_rows(path, reading or {}).row_names
            if found is None:
                refuse(f"it has no names of rows; pass {parameter('index')}")
            names = found
        elif path.suffix.lower() == ".h5":
            names = asked(tenx.describe, path, layer=None)["rows"]
        elif tenx.holds_matrix(path) if path.is_dir() else tenx.is_part(path):
            names = tenx.read_cell_names(tenx.matrix_file(path))
        else:
            _check_has_rows(path)
            names = asked(h5ad.read_obs, path, labels=[])["rows"]
    return list(names)


def _check_has_rows(path: Path) -> None:
    """Refuse what has nothing but counts in its blocks."""
    if not is_zarr(path) and path.suffix.lower() != ".h5ad":
        refuse(
            f"{path} has no columns of labels or batches. Take those of 10x files from "
            "a table of cells with --metadata; other counts must be csv, h5ad or zarr "
            "to be read in blocks with them."
        )
