"""parquet: what a file will take in memory, by its own account, before it is read.

A few bytes say "this value, a billion times", of numbers and, by a dictionary, of text.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from .._extras import require
from .limits import check_unpacked
from .regular_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Bytes of a number once read, and of a text besides its letters.
_OF_NUMBER = 8
_OF_TEXT = 64


@contextmanager
def opened_table(path: Path, limit: int) -> Iterator[Any]:
    """Open a file whose columns take no more than so many bytes.

    Text that the file holds once, for many rows, stays like that.
    """
    parquet = require("pyarrow.parquet", "io", "Reading and writing parquet files")
    with open_regular(path) as opened, parquet.ParquetFile(opened) as file:
        metadata = file.metadata
        _check_claims(metadata, limit)
        names = _text_columns(file.schema_arrow)
    with (
        open_regular(path) as opened,
        parquet.ParquetFile(opened, metadata=metadata, read_dictionary=names) as file,
    ):
        yield file


def _check_claims(metadata: Any, limit: int) -> None:
    unpacked = 0
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        check_unpacked(_OF_NUMBER * group.num_rows * group.num_columns, limit)
        unpacked += max(
            group.total_byte_size, _OF_NUMBER * group.num_rows * group.num_columns
        )
        check_unpacked(unpacked, limit)


def _text_columns(schema: Any) -> list[str]:
    return [field.name for field in schema if _is_text(field.type)]


@cache
def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_binary(kind))


class Texts:
    """Values of columns as Python has them, and how many bytes they may take."""

    def __init__(self, limit: int) -> None:
        self._limit, self._taken = limit, 0

    def listed(self, values: Any) -> list[Any]:
        """Values of a column, one by one."""
        from pyarrow import types

        self.check(values)
        kind = values.type
        if types.is_dictionary(kind) and types.is_string(kind.value_type):
            # Texts that are held once are made faster at once than one by one.
            values = values.cast(kind.value_type)
            return list(values.to_numpy(zero_copy_only=False))
        listed: list[Any] = values.to_pylist()
        return listed

    def check(self, values: Any) -> None:
        """Count the bytes of a column before all of them are made."""
        chunks = values.chunks if hasattr(values, "chunks") else [values]
        for chunk in chunks:
            self._taken += _OF_TEXT * len(chunk) + _letters(chunk)
        check_unpacked(self._taken, self._limit)


def _letters(values: Any) -> int:
    """Bytes of the texts of an array, each as often as it occurs."""
    import pyarrow as pa
    from pyarrow import compute

    if not pa.types.is_dictionary(values.type):
        return int(values.nbytes)
    if pa.types.is_primitive(values.type.value_type):
        return _OF_NUMBER * len(values)
    lengths = compute.binary_length(values.dictionary)
    return compute.sum(lengths.take(values.indices)).as_py() or 0
