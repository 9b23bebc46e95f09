"""Files that are read in blocks of rows during the fit."""

from __future__ import annotations

import logging
from contextlib import ExitStack, contextmanager
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .._extras import require
from ..io.formats import FORMATS, of_suffix
from ._input_file import METADATA, labels_of_rows, matched_rows
from ._options import BLOCKS, given
from ._printing import print_note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .._fit.plan import Progress
    from ..cluster import ThreeCPO
    from ..results import Table
    from ..select import KPath
    from ._input_file import GivenRows, InputFile

_NOTED = ("distributed", "io.blocks")
# Options of csv files that a fit over blocks does not take.
_NOT_IN_BLOCKS = ("triples", "text", "text_options")


class FileInBlocks:
    """A file whose counts stay on disk, with what results show of it."""

    citation = ""
    description = ""

    def __init__(
        self, given: BlockInput, labels: Mapping[str, Any], rows: Any = None
    ) -> None:
        self._given, self.labels = given, labels
        self._path = given.source.path
        self.name = self._path.stem
        self.source = str(self._path)
        self._stack = ExitStack()
        self._rows = rows
        self._opened: Any = None

    def fit(self, model: ThreeCPO, progress: Progress | None, rows: GivenRows) -> None:
        """Fit a model to the blocks of the file."""
        from .. import distributed

        # The table of rows reads the same blocks.
        with self._at_work(model.n_jobs, self._stack) as (self._opened, options):
            distributed.fit(model, self._opened, progress=progress, **rows, **options)

    def select(self, wanted: range, **options: Any) -> KPath:
        """Fit several numbers of clusters to the blocks of the file."""
        from .. import distributed

        n_jobs = options.get("n_jobs")
        with ExitStack() as stack, self._at_work(n_jobs, stack) as (source, more):
            return distributed.select_n_clusters(source, wanted, **options, **more)

    def predict(self, model: ThreeCPO, batch: Any, missing: str) -> Table:
        """Table of the rows of the file under a model."""
        from ..results import predicted_block_rows

        given: dict[str, Any] = {"batch": batch, "missing": missing}
        given["row_names"] = self._row_names()
        with ExitStack() as stack, self._at_work(model.n_jobs, stack) as (source, more):
            return predicted_block_rows(model, source, **given, **more)

    def row_table(self, model: ThreeCPO) -> Table:
        """Table of the rows of the fit, some of them with a place in the map."""
        from ..results import block_row_table

        memory, row_names = self._given.options.get("max_memory"), self._row_names()
        with self._stack:
            return block_row_table(
                model, self._opened, row_names=row_names, max_memory=memory
            )

    def _row_names(self) -> list[str] | None:
        """Names of the rows of an AnnData; those of other files come with blocks."""
        from ..io.blocks import read_row_names
        from ..io.files import is_zarr

        if not is_zarr(self._path) and self._path.suffix.lower() != ".h5ad":
            return None
        names = read_row_names(self._path)
        return names if self._rows is None else list(compress(names, self._rows))

    @contextmanager
    def _at_work(
        self, n_jobs: int | None, stack: ExitStack
    ) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Blocks that stay open until a stack is closed, and options of their users."""
        from .. import distributed
        from .._options import resolve_n_jobs

        options = dict(self._given.options)
        workers, layer = options.pop("workers", None), options.pop("layer", None)
        how = {"reading": self._given.reading, "rows": self._rows, "layer": layer}
        with _noted_waits(), _client(workers) as client:
            options["client"] = how["client"] = client
            jobs, memory = resolve_n_jobs(n_jobs), options.get("max_memory")
            opened = distributed.open_source(self._path, jobs, memory, **how)
            yield stack.enter_context(opened), options


class BlockInput(NamedTuple):
    """An input file that is read in blocks, and the options of such a fit.

    ``reading`` are options of a csv file.
    """

    source: InputFile
    options: dict[str, Any]
    reading: dict[str, Any]

    def read_rows(self) -> tuple[FileInBlocks, GivenRows]:
        """Return the file, which is read during the fit, and what is given of rows."""
        columns = self.source.row_columns.items()
        asked, rows = self.source.options.get("labels", ()), None
        if "only_matched" in self.source.options:
            wanted = [*asked, *self.source.row_columns.values()]
            rows = matched_rows(self._row_names(), wanted, self.source.options)
        with self.source.named_as_asked(tuple(self.source.row_columns.values())):
            given = {name: self._labels(column, rows) for name, column in columns}
        labels = {name: self._labels(name, rows) for name in asked}
        return FileInBlocks(self, labels, rows), given

    def _row_names(self) -> list[str]:
        from ..io.blocks import read_row_names

        return read_row_names(self.source.path, self.reading)

    def _labels(self, column: str, rows: Any) -> list[str | None]:
        """Labels of rows, from a column beside the counts or a table of its own."""
        from ..io.blocks import read_row_labels

        path, options = self.source.path, self.source.options
        if "metadata" not in options:
            return read_row_labels(path, column, self.reading)
        names = self._row_names()
        if rows is not None:
            names = list(compress(names, rows))
        found = labels_of_rows(names, [column], options)[column]
        if column == self.source.batch:
            self.source.check_batch(found, names)
        return found

    def facts(self) -> dict[str, Any]:
        """What a later reader needs to know about the file."""
        return self.source.facts()


def block_input(source: InputFile, values: dict[str, Any]) -> BlockInput | None:
    """Take the options of blocks out; return the source in blocks if one is set."""
    taken = {name: values.pop(name) for name in BLOCKS if name in values}
    options = given(taken)
    if not options:
        return None
    asked = ", ".join(f"--{name.replace('_', '-')}" for name in options)
    of_rows = ("labels", *METADATA, "only_matched")
    about_rows = source.row_columns or "labels" in source.options
    of_csv = FORMATS["csv"].options if of_suffix(source.path) == "csv" else ()
    reading: dict[str, Any] = {}
    for name, value in source.options.items():
        if name == "layer":
            options[name] = value
        elif name in of_csv and name not in (*_NOT_IN_BLOCKS, "labels"):
            reading[name] = value
        elif not ((about_rows or "only_matched" in source.options) and name in of_rows):
            message = f"--{name.replace('_', '-')} cannot be used with {asked}."
            raise click.UsageError(message)
    if of_csv and "metadata" not in source.options:
        # Columns of labels are not counted.
        columns = (*source.options.get("labels", ()), *source.row_columns.values())
        if columns:
            reading["labels"] = tuple(dict.fromkeys(columns))
    return BlockInput(source, options, reading)


class _Notes(logging.Handler):
    """Prints what is logged, as other notes."""

    def emit(self, record: logging.LogRecord) -> None:
        print_note(f"note: {record.getMessage()}")


@contextmanager
def _noted_waits() -> Iterator[None]:
    """Print what a fit waits for, and where it writes."""
    notes = _Notes()
    waits, unpacking = (logging.getLogger(f"threecpo.{name}") for name in _NOTED)
    before = unpacking.level
    unpacking.setLevel(logging.INFO)
    for logger in (waits, unpacking):
        logger.addHandler(notes)
    try:
        yield
    finally:
        unpacking.setLevel(before)
        for logger in (waits, unpacking):
            logger.removeHandler(notes)


@contextmanager
def _client(workers: str | None) -> Iterator[Any]:
    """So many processes, or the Dask scheduler of an address."""
    if workers is None:
        yield None
    elif workers.isdecimal() and int(workers):
        from ..distributed import local_client

        with local_client(int(workers)) as client:
            yield client
    elif ":" in workers:
        distributed = require("distributed", "dask", "Working on several processes")
        with distributed.Client(workers, timeout="10s") as client:
            yield client
    else:
        message = f"--workers {workers} is neither a number nor an address."
        raise click.UsageError(message)
