"""read_counts: a table of counts from a file of any known kind."""

from __future__ import annotations

import os
import warnings
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.counts import EXACT, Counts, first_bad_entry
from .._core.matrices import from_sparse
from .._errors import AdviceWarning, DataFormatError, parameter, refuse
from .._validation import proportion_total, proportions_message
from ..table import CountTable
from .content import called_at, check_names, check_size, no_count
from .errors import file_errors
from .formats import FORMATS, ReadOptions, find_format
from .limits import check_unpacked, limit_of, parse_limit
from .metadata import read_metadata
from .roles import UnknownColumnError, place_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .content import FileContent
    from .formats import Format
    from .metadata import Metadata

__all__ = ["read_counts"]

_OF_POINTER = 8


def read_counts(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    layer: str | None = None,
    labels: str | Sequence[str] = (),
    index: str | int | bool | None = None,
    drop: str | Sequence[str] = (),
    header: bool | None = None,
    delimiter: str | None = None,
    triples: bool | Sequence[str] | None = None,
    transpose: bool = False,
    decimal: str | None = None,
    thousands: str | None = None,
    empty: str | None = None,
    text: str | Sequence[str] | None = None,
    sheet: str | None = None,
    metadata: str | os.PathLike[str] | None = None,
    metadata_index: str | None = None,
    only_matched: bool = False,
    encoding: str | None = None,
    text_options: Mapping[str, Any] | None = None,
    max_unpacked: int | str | None = None,
) -> CountTable:
    r"""Read counts and their names from a file or folder.

    ========== ======================================================================
    format     what is read
    ========== ======================================================================
    "csv"      csv or tsv: one row per line, triples of row, column, count, or texts
    "xlsx"     the same kinds of tables in a sheet of Excel
    "ods"      the same in one of OpenDocument
    "parquet"  the same kinds of tables
    "npz"      what ``scipy.sparse.save_npz`` or ``write_counts`` wrote
    "mtx"      MatrixMarket
    "10x"      a folder of matrix.mtx, features.tsv (or genes.tsv) and barcodes.tsv
    "10x-h5"   the .h5 file of Cell Ranger 2 or 3, or of CellBender
    "h5ad"     AnnData
    "zarr"     AnnData in a zarr folder
    "biom"     BIOM in HDF5 or JSON; samples become rows
    "texts"    a folder of .txt files; folders inside are labels
    "jsonl"    a text a line, as a string or a field of an object; or objects of counts
    ========== ======================================================================

    Text files may be compressed (gzip, bzip2, xz). Nothing is made dense, and nothing
    in a file is executed.

    Parameters
    ----------
    path : str or path-like
        The file or folder.
    format : str, default=None
        One of the formats above; by default that of the suffix and of the content.
    layer : str, default=None
        Matrix of an h5ad file or zarr folder: the name of a layer, or "X" or "raw". By
        default the layer "counts", or else X if it holds integers. Of a 10x file
        in HDF5: the genome, or the kind of features, such as "Gene Expression"; all by
        default.
    labels : str or sequence of str, default=()
        Columns with labels of the rows, such as ``["cell_type", "donor"]``: of the
        table itself, of ``obs`` (h5ad, zarr), of the metadata of samples (biom) or of
        ``metadata``. They are not counted among the columns. The first becomes
        ``labels`` of the table, and all are in its ``label_kinds``.
    index : str, int or False, default=None
        Name or place of the column with the names of rows; False if there is none. By
        default the first column if it has no name, is called "index" or "id" or ends
        like "sample_id", or holds text.
    drop : str or sequence of str, default=()
        Columns to leave out: of the file, or of the counts that are made of it, as the
        words of texts; of a matrix without names by their numbers from 1.
    header : bool, default=None
        Whether the first line of a csv file names the columns. By default it does,
        and a first line of numbers is an error.
    delimiter : str, default=None
        Character between the fields of a csv file; by default the one of tab, comma,
        semicolon and bar that is most frequent in the first line.
    triples : bool or two or three str, default=None
        Whether each line is a row, a column and a count; or the names of the columns
        that have them. With two names, or two columns, each line counts one. Counts of
        the same row and column are added. By default a table of three columns is one of
        triples if the second holds text and the third numbers, or if the third is
        called "count".
    transpose : bool, default=False
        Turn the table round: for files with the columns of ``X`` as their rows.
    decimal : "." or ",", default=None
        What stands before fractions in text; by default a point, or a comma where
        ``thousands`` is a point.
    thousands : ".", ",", " " or "'", default=None
        What stands between thousands in text; nothing by default.
    empty : "zero", default=None
        Take empty cells, and words such as NA, for 0; by default they are an error.
    text : str or sequence of str, default=None
        Columns or fields of text, whose words are counted together; other columns but
        ``labels`` and ``index`` are excluded, and one called "title" shows what each
        row is. By default a column of sentences, if there is one in a table of few
        numbers.
    sheet : str, default=None
        Sheet of an xlsx or ods file; by default the first that is visible and not
        empty.
    metadata : str or path-like, default=None
        A csv, tsv, xlsx, ods or parquet file with a row for each row of the counts, in
        any order, found by the names in its first column; ``labels`` are taken from
        there where it has them. A warning counts rows without metadata, and metadata
        without rows.
    metadata_index : str, default=None
        Column of ``metadata`` with the names of rows; by default the first, or the
        index that pandas wrote.
    only_matched : bool, default=False
        Leave out rows that ``metadata`` lacks, such as cells that were sorted out.
    encoding : str, default=None
        Encoding of a text file, such as "cp1252"; UTF-8 by default.
    text_options : dict, default=None
        Options of ``threecpo.text.count_terms`` for texts.
    max_unpacked : int or str, default=None
        How many bytes a file may unpack to, such as "10GB", for files that you trust.
        By default 100 times its size, or 512 MiB if that is more; the environment
        variable ``THREECPO_MAX_UNPACKED`` names another default.

    Returns
    -------
    CountTable
        Counts with names and, where there are some, true labels.

    Raises
    ------
    DataFormatError
        If the file is missing, damaged, of another kind or no table of counts; one
        line says where and what to do. It is a ValueError.
    ImportError
        If a library for this format is not installed; it says which extra has it.

    Examples
    --------
    >>> import pathlib, tempfile, threecpo
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "plots.csv")
    >>> _ = path.write_text("plot,habitat,ants,bees\np1,wood,3,0\np2,field,0,5\n")
    >>> table = threecpo.read_counts(path, labels="habitat")
    >>> table
    CountTable('plots': 2 rows x 2 columns, 2 clusters)
    >>> list(table.row_names), list(table.label_names)
    (['p1', 'p2'], ['field', 'wood'])
    >>> folder.cleanup()
    """
    given = _checked(path)
    options = ReadOptions(
        layer=layer,
        labels=_listed(labels),
        index=index,
        drop=_listed(drop),
        header=header,
        delimiter=delimiter,
        triples=triples,
        decimal=decimal,
        thousands=thousands,
        empty=empty,
        text=_listed(text),
        sheet=sheet,
        metadata=metadata,
        metadata_index=metadata_index,
        encoding=encoding,
        text_options=text_options,
        max_unpacked=parse_limit(max_unpacked),
    )
    beside = None
    if metadata is not None:
        beside = read_metadata(metadata, options.labels, options)
        rest = [name for name in options.labels if name not in beside.labels]
        inside = replace(options, labels=rest)
    elif metadata_index is not None or only_matched:
        in_vain = parameter("only_matched" if only_matched else "metadata_index")
        refuse(f"{in_vain} is about {parameter('metadata')}, which is not given.")
    else:
        inside = options
    with file_errors(given):
        name = find_format(given, format)
        inside.check(name, transpose=transpose)
        table = _read_without(FORMATS[name], given, inside, transpose=transpose)
    if beside is not None and only_matched:
        table = _matched(table, beside)
    if not options.labels:
        return table
    return _labelled(table, options.labels, beside)


def _matched(table: CountTable, beside: Metadata) -> CountTable:
    """The rows that a table of metadata has."""
    beside.of_rows(table.row_names)  # says why there are none
    assert table.row_names is not None
    kept = beside.has(table.row_names)
    kinds = {name: texts[kept] for name, texts in table.label_kinds.items()}
    titles = None if table.row_titles is None else table.row_titles[kept]
    rows: dict[str, Any] = {"X": table.counts.rows(np.flatnonzero(kept))}
    rows |= {"row_names": table.row_names[kept], "row_titles": titles}
    return replace(table.with_labels({}), **rows).with_labels(kinds)


def _labelled(
    table: CountTable, names: Sequence[str], beside: Metadata | None
) -> CountTable:
    """The table with the labels that are asked for, in this order."""
    kinds: dict[str, Any] = dict(table.label_kinds)
    if beside is not None:
        found, unmatched = beside.of_rows(table.row_names)
        kinds |= found
        if table.row_names is not None and not beside.has(table.row_names).all():
            only = parameter("only_matched", value=True)
            advice = f"leave rows without metadata out by {only}"
            unmatched = f"{unmatched.removesuffix('.')}; {advice}."
        if unmatched:
            warnings.warn(AdviceWarning(unmatched), stacklevel=3)
    elif list(kinds) == list(names):
        return table
    with file_errors(Path(table.source)):
        for name in names:
            place_of(list(kinds), name, "labels")
    return table.with_labels({name: kinds[name] for name in names})


def _listed(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Names of columns, each once."""
    given = (names,) if isinstance(names, str) else names or ()
    return tuple(dict.fromkeys(given))


def _checked(path: Any) -> Path:
    """Refuse tables in memory."""
    if isinstance(path, str | os.PathLike):
        return Path(path)
    message = (
        f"read_counts reads files, not a {type(path).__name__}: a table in memory goes "
        "to fit, or to CountTable, as it is."
    )
    raise ValueError(message)


def _read_without(
    kind: Format, path: Path, options: ReadOptions, *, transpose: bool
) -> CountTable:
    """Read a table without the columns of ``options.drop``.

    Of triples, texts and transposed tables these are columns of counts,
    which no line of the file names.
    """
    read, drop = getattr(kind.load(), kind.reader), list(options.drop)
    # Columns that are not in the file, with what it says of each.
    unknown: dict[str, UnknownColumnError | None] = {}
    if "index" not in kind.options:
        # All that it holds by columns are counts.
        unknown = dict.fromkeys(drop)
    while True:
        try:
            limit = options.max_unpacked
            table = to_table(
                read(path, options), path, transpose=transpose, limit=limit
            )
            return _kept(table, list(unknown)) if unknown else table
        except UnknownColumnError as error:
            if error.option != "drop" or error.name in unknown:
                raise unknown.get(error.name) or error from None
            unknown[error.name] = error
            options = replace(options, drop=[n for n in drop if n not in unknown])


def _kept(table: CountTable, drop: Sequence[str]) -> CountTable:
    """The table without these columns; those without names are numbered from 1."""
    names, n_columns = table.column_names, table.shape[1]
    called = list(names if names is not None else map(str, range(1, n_columns + 1)))
    kept = np.ones(n_columns, dtype=bool)
    kept[[place_of(called, name, "drop") for name in drop]] = False
    if not kept.any():
        refuse(f"{parameter('drop')} leaves no column")
    left: dict[str, Any] = {"X": table.counts.columns(kept)}
    if names is not None:
        left["column_names"] = names[kept]
    return replace(table, **left)


def to_table(
    parts: FileContent, path: Path, *, transpose: bool, limit: int | None
) -> CountTable:
    """Make the table, after all checks that name a row and a column."""
    X, rows, columns = parts.X, parts.row_names, parts.column_names
    if transpose:
        if parts.labels is not None:
            turned = parameter("transpose", value=True)
            refuse(f"{turned} cannot be combined with labels of rows")
        X, rows, columns = (X.matrix() if isinstance(X, Counts) else X).T, columns, rows
        parts = replace(parts, row_titles=None)
    check_size(X.shape, len(X.data))
    check_unpacked(_OF_POINTER * sum(X.shape), limit_of(path, limit))
    check_names(rows, X.shape[0], "row")
    check_names(columns, X.shape[1], "column")
    if X.data.dtype.kind not in "biuf":
        refuse(f"its values are of type {X.data.dtype}, not numbers")
    counts = X if isinstance(X, Counts) else from_sparse(X)
    bad = first_bad_entry(counts, below=EXACT)
    if bad is not None:
        row, column, value = bad
        where = f"{called_at('row', rows, row)}, {called_at('column', columns, column)}"
        raise no_count(where, value)
    if total := proportion_total(counts):
        raise DataFormatError(proportions_message(total))
    parts = replace(parts, X=counts, row_names=rows, column_names=columns)
    about: dict[str, Any] = {
        each.name: getattr(parts, each.name) for each in fields(parts)
    }
    return CountTable(**about, name=_title(path), source=str(path))


def _title(path: Path) -> str:
    name = path.resolve().name
    for suffix in (".gz", ".bz2", ".xz"):
        name = name.removesuffix(suffix)
    return name if path.is_dir() else name.rpartition(".")[0] or name
