"""Files that are read in blocks of rows during the fit."""

from __future__ import annotations

import logging
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import compress
from typing import TYPE_CHECKING, Any

import click

from .._extras import require
from ..io.formats import FORMATS, of_suffix
from ._input_file import METADATA, labels_of_rows, metadata_of
from ._options import BLOCKS, given
from ._printing import fail, flag_of, print_note

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from .._fit.plan import Progress
    from ..cluster import ThreeCPO
    from ..results import Table
    from ..select import KPath
    from ._input_file import GivenRows, InputFile

_NOTED = ("distributed", "io.blocks")
# Options of csv files that a fit over blocks does not take.
_NOT_IN_BLOCKS = ("triples", "text", "text_options")


class FileInBlocks:
    """A file whose counts stay on disk, and what is known of its rows.

    ``options`` are those of fits over blocks, ``reading`` those of a csv file.
    """

    def __init__(
        self, file: InputFile, options: dict[str, Any], reading: dict[str, Any]
    ) -> None:
        self._file, self._options, self._reading = file, options, reading
        self._path = file.path
        self.name = self._path.stem
        self.source = str(self._path)
        self.label_kinds: dict[str, list[str | None]] = {}
        self._stack = ExitStack()
        self._rows: Any = None
        self._opened: Any = None

    def read_rows(self) -> tuple[FileInBlocks, GivenRows]:
        """Return the file, which is read during the fit, and what is given of rows."""
        asked, columns = self._file.options.get("labels", ()), self._file.row_columns
        if "only_matched" in self._file.options:
            if "metadata" not in self._file.options:
                fail("--only-matched is about --metadata, which is not given.")
            beside = metadata_of(self._file.options, [*asked, *columns.values()])
            names = self._chosen_names()
            beside.of_rows(names)  # says why there are none
            self._rows = beside.has(names)
        with self._file.named_as_asked(tuple(columns.values())):
            given = {name: self._labels_of(column) for name, column in columns.items()}
        self.label_kinds = {name: self._labels_of(name) for name in asked}
        return self, given

    def fit(self, model: ThreeCPO, progress: Progress | None, rows: GivenRows) -> None:
        from .. import distributed

        # The table of rows reads the same blocks.
        with self._at_work(model.n_jobs, self._stack) as (self._opened, options):
            distributed.fit(model, self._opened, progress=progress, **rows, **options)

    def select(self, wanted: range, **options: Any) -> KPath:
        from .. import distributed

        with ExitStack() as stack, self._at_work(None, stack) as (source, more):
            return distributed.select_n_clusters(source, wanted, **options, **more)

    def predict(self, model: ThreeCPO, batch: Any, missing: str) -> Table:
        """Table of the rows of the file under a model."""
        from ..results import predicted_block_rows

        more: dict[str, Any] = {"batch": batch, "row_names": self._row_names()}
        with ExitStack() as stack, self._at_work(model.n_jobs, stack) as (source, how):
            return predicted_block_rows(model, source, missing=missing, **more, **how)

    def row_table(self, model: ThreeCPO) -> Table:
        """Table of the rows of the fit, some of them with a place in the map."""
        from ..results import block_row_table

        memory = self._options.get("max_memory")
        more: dict[str, Any] = {"row_names": self._row_names(), "max_memory": memory}
        with self._stack:
            return block_row_table(model, self._opened, **more)

    def _row_names(self) -> list[str] | None:
        """Names of the rows of an AnnData; those of other files come with blocks."""
        from ..io.files import is_zarr

        if not is_zarr(self._path) and self._path.suffix.lower() != ".h5ad":
            return None
        return self._chosen_names()

    def _chosen_names(self) -> list[str]:
        """Names of the rows that are read."""
        from ..io.blocks import read_row_names

        names = read_row_names(self._path, self._reading)
        return names if self._rows is None else list(compress(names, self._rows))

    def _labels_of(self, column: str) -> list[str | None]:
        """Labels of rows, from a column beside the counts or a table of its own."""
        from ..io.blocks import read_row_labels

        if "metadata" not in self._file.options:
            return read_row_labels(self._path, column, self._reading)
        names = self._chosen_names()
        found = labels_of_rows(names, [column], self._file.options)[column]
        if column == self._file.batch:
            self._file.check_batch(found, names)
        return found

    @contextmanager
    def _at_work(
        self, n_jobs: int | None, stack: ExitStack
    ) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Blocks that stay open until a stack is closed, and options of their users."""
        from .. import distributed
        from .._options import resolve_n_jobs

        options = dict(self._options)
        workers, layer = options.pop("workers", None), options.pop("layer", None)
        how = {"reading": self._reading, "rows": self._rows, "layer": layer}
        with _noted_waits(), _client(workers) as client:
            options["client"] = how["client"] = client
            jobs, memory = resolve_n_jobs(n_jobs), options.get("max_memory")
            opened = distributed.open_source(self._path, jobs, memory, **how)
            yield stack.enter_context(opened), options


def block_input(source: InputFile, values: dict[str, Any]) -> FileInBlocks | None:
    """Take the options of blocks out; return the source in blocks if one is set."""
    taken = {name: values.pop(name) for name in BLOCKS if name in values}
    options = given(taken)
    if not options:
        return None
    asked = ", ".join(map(flag_of, options))
    columns = (*source.options.get("labels", ()), *source.row_columns.values())
    of_rows = ("labels", *METADATA, "only_matched")
    takes_rows = columns or "only_matched" in source.options
    of_csv = FORMATS["csv"].options if of_suffix(source.path) == "csv" else ()
    reading: dict[str, Any] = {}
    for name, value in source.options.items():
        if name == "layer":
            options[name] = value
        elif name in of_csv and name not in (*_NOT_IN_BLOCKS, "labels"):
            reading[name] = value
        elif not (takes_rows and name in of_rows):
            message = f"{flag_of(name)} cannot be used with {asked}."
            raise click.UsageError(message)
    if of_csv and columns and "metadata" not in source.options:
        # Columns of labels are not counted.
        reading["labels"] = tuple(dict.fromkeys(columns))
    return FileInBlocks(source, options, reading)


class _Notes(logging.Handler):
    """Prints what is logged, as other notes."""

    def emit(self, record: logging.LogRecord) -> None:
        print_note(f"note: {record.getMessage()}")


@contextmanager
def _noted_waits() -> Iterator[None]:
    """Print what a fit waits for, and where it writes."""
    notes = _Notes()
    loggers = [logging.getLogger(f"threecpo.{name}") for name in _NOTED]
    before = loggers[-1].level
    loggers[-1].setLevel(logging.INFO)
    for logger in loggers:
        logger.addHandler(notes)
    try:
        yield
    finally:
        loggers[-1].setLevel(before)
        for logger in loggers:
            logger.removeHandler(notes)


def _client(workers: str | None) -> AbstractContextManager[Any]:
    """So many processes, or the Dask scheduler of an address."""
    if workers is None:
        return nullcontext()
    if workers.isdecimal() and int(workers):
        from ..distributed import local_client

        return local_client(int(workers))
    if ":" in workers:
        distributed = require("distributed", "dask", "Working on several processes")
        client: AbstractContextManager[Any] = distributed.Client(workers, timeout="10s")
        return client
    message = f"--workers {workers} is neither a number nor an address."
    raise click.UsageError(message)
