"""write_counts: a table of counts to a file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import DataFormatError, refuse
from .._writing import put_in_place, refuse_existing
from ..table import CountTable
from .formats import FORMATS, WriteOptions, of_suffix

if TYPE_CHECKING:
    import os

__all__ = ["write_counts"]


def write_counts(
    table: Any,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    labels: str | None = None,
    triples: bool = False,
    force: bool = False,
) -> None:
    """Write counts and their names to a file that ``read_counts`` reads.

    The file is written beside its place and then renamed, so that there is never half
    a file. All formats but "mtx" keep the names; where a table has none, all but "npz"
    and "mtx" number rows and columns from 0. Labels are kept by "npz" and, as a column
    to be named by ``read_counts(labels=...)``, by "csv", "parquet" and "h5ad".

    Parameters
    ----------
    table : CountTable
        What to write.
    path : str or path-like
        The new file; its suffix says which format. ``.gz`` compresses csv and mtx.
    format : {"csv", "parquet", "npz", "mtx", "10x", "h5ad"}, default=None
        The format, if the suffix does not say it. "10x" makes a folder.
    labels : str, default=None
        Name of the column of labels; by default the kind that they are of. Columns of
        other labels are called by their kinds.
    triples : bool, default=False
        Write csv or parquet as triples of row, column and count, without labels.
    force : bool, default=False
        Write over a file, or a 10x folder, that exists.

    Raises
    ------
    FileExistsError
        If the file exists and ``force`` does not allow to write over it.
    DataFormatError
        If the format cannot hold the table.

    Examples
    --------
    >>> import tempfile, threecpo
    >>> table = threecpo.CountTable([[3, 0], [0, 5]], column_names=["ants", "bees"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     threecpo.write_counts(table, f"{folder}/plots.tsv.gz")
    ...     threecpo.read_counts(f"{folder}/plots.tsv.gz").X.toarray()
    array([[3., 0.],
           [0., 5.]])
    """
    if not isinstance(table, CountTable):
        message = f"table must be a CountTable, not {type(table).__name__}."
        raise TypeError(message)
    target = Path(path)
    module = check_target(target, format, triples=triples, force=force)
    is_ours = getattr(module, "is_ours", None)
    with put_in_place(target, force=force, is_ours=is_ours) as beside:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                module.write(table, beside, WriteOptions(labels, triples))
        except DataFormatError as error:
            message = f"{target} cannot be written: {error.marked}."
            raise DataFormatError(message) from error


def check_target(target: Path, name: str | None, *, triples: bool, force: bool) -> Any:
    """Refuse what cannot be written there; return the module of its format."""
    name = name or of_suffix(target)
    writers = [key for key, kind in FORMATS.items() if kind.writes]
    if name not in writers:
        refuse(
            f"{target} cannot be written: the format is not one of "
            f"{', '.join(writers)}; choose another suffix, or name one of these "
            "(write_counts by format, threecpo convert by --to)."
        )
    if triples and "triples" not in FORMATS[name].options:
        kinds = [key for key in writers if "triples" in FORMATS[key].options]
        refuse(
            f"{target} cannot be written: {name} does not hold lines of row, column, "
            f"count, only {' and '.join(kinds)} do."
        )
    module = FORMATS[name].load()
    refuse_existing(target, getattr(module, "is_ours", None), force=force)
    return module
