"""Files that are read in blocks of rows during the fit."""

from __future__ import annotations

import logging
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .._extras import require
from ._input_file import METADATA, labels_of_rows
from ._options import BLOCKS, given
from ._printing import print_note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from .._fit.plan import Progress
    from ..cluster import ThreeCPO
    from ..results import Table
    from ..select import KPath
    from ._input_file import GivenRows, InputFile

_NOTED = ("distributed", "io.blocks")


class FileInBlocks:
    """A file whose counts stay on disk, with what results show of it."""

    citation = ""
    description = ""

    def __init__(
        self, path: Path, options: dict[str, Any], labels: Mapping[str, Any]
    ) -> None:
        self._path, self._options, self.labels = path, options, labels
        self.name = path.stem
        self.source = str(path)
        self._stack = ExitStack()
        self._opened: Any = path

    def fit(self, model: ThreeCPO, progress: Progress | None, rows: GivenRows) -> None:
        """Fit a model to the blocks of the file."""
        from .. import distributed
        from .._options import resolve_n_jobs

        given: dict[str, Any] = {"progress": progress, **rows}
        with self._at_work() as options:
            # The table of rows reads the same blocks.
            names = ("layer", "max_memory")
            how = {name: options[name] for name in names if name in options}
            how |= {"client": options["client"], "n_jobs": resolve_n_jobs(model.n_jobs)}
            opened = distributed.open_source(self._path, **how)
            self._opened = self._stack.enter_context(opened)
            given |= {n: v for n, v in options.items() if n != "layer"}
            distributed.fit(model, self._opened, **given)

    def select(self, wanted: range, **options: Any) -> KPath:
        """Fit several numbers of clusters to the blocks of the file."""
        from .. import distributed

        with self._at_work() as more:
            return distributed.select_n_clusters(self._path, wanted, **options, **more)

    def predict(self, model: ThreeCPO, batch: Any, missing: str) -> Table:
        """Table of the rows of the file under a model."""
        from ..results import predicted_block_rows

        given: dict[str, Any] = {"batch": batch, "missing": missing}
        given["row_names"] = self._row_names()
        with self._at_work() as options:
            return predicted_block_rows(model, self._path, **given, **options)

    def row_table(self, model: ThreeCPO) -> Table:
        """Table of the rows of the fit, some of them with a place in the map."""
        from ..results import block_row_table

        memory, row_names = self._options.get("max_memory"), self._row_names()
        with self._stack:
            return block_row_table(
                model, self._opened, row_names=row_names, max_memory=memory
            )

    def _row_names(self) -> list[str] | None:
        """Names of the rows of an AnnData; those of 10x come with its blocks."""
        from ..io.blocks import read_row_names
        from ..io.files import is_zarr

        named = is_zarr(self._path) or self._path.suffix.lower() == ".h5ad"
        return read_row_names(self._path) if named else None

    @contextmanager
    def _at_work(self) -> Iterator[dict[str, Any]]:
        """Options of doors, with the client to work on."""
        options = dict(self._options)
        workers = options.pop("workers", None)
        with _noted_waits(), _client(workers) as client:
            yield options | {"client": client}


class BlockInput(NamedTuple):
    """An input file that is read in blocks, and the options of such a fit."""

    source: InputFile
    options: dict[str, Any]

    def read_rows(self) -> tuple[FileInBlocks, GivenRows]:
        """Return the file, which is read during the fit, and what is given of rows."""
        columns = self.source.row_columns.items()
        with self.source.named_as_asked(tuple(self.source.row_columns.values())):
            given = {name: self._labels(column) for name, column in columns}
        asked = self.source.options.get("labels", ())
        labels = {name: self._labels(name) for name in asked}
        return FileInBlocks(self.source.path, self.options, labels), given

    def _labels(self, column: str) -> list[str | None]:
        """Labels of rows, from a column beside the counts or a table of its own."""
        from ..io.blocks import read_row_labels, read_row_names

        path, options = self.source.path, self.source.options
        if "metadata" not in options:
            return read_row_labels(path, column)
        names = read_row_names(path)
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
    of_rows = ("labels", *METADATA)
    about_rows = source.row_columns or "labels" in source.options
    for name in source.options:
        if name != "layer" and not (about_rows and name in of_rows):
            message = f"--{name.replace('_', '-')} cannot be used with {asked}."
            raise click.UsageError(message)
    layer = {name: source.options[name] for name in source.options if name == "layer"}
    return BlockInput(source, options | layer)


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
