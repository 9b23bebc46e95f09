"""Changes of parquet files: bytes, and columns of other kinds."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from . import plain, text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

_PACKINGS = ("none", "snappy", "gzip", "zstd", "brotli")


def mutated(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Change bytes anywhere, bytes of the footer, or columns."""
    change = rng.random()
    if change < 0.4:
        return plain.mutated(rng, content, others)
    if change < 0.6:
        length = int.from_bytes(content[-8:-4], "little")
        start = max(0, len(content) - 8 - length)
        return content[:start] + plain.mutated(rng, content[start:], [])
    return columns(rng, content)


def columns(rng: Random, content: bytes) -> bytes:
    """Write the table again with other columns."""
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(content), use_threads=False)
    for _ in range(rng.choice((1, 1, 2, 3))):
        table = _edited(rng, table)
    file = io.BytesIO()
    size = rng.choice((1, 3, 1000))
    pq.write_table(table, file, row_group_size=size, compression=rng.choice(_PACKINGS))
    return file.getvalue()


def _edited(rng: Random, table: Any) -> Any:
    if not table.num_columns:
        return table
    at = rng.randrange(table.num_columns)
    change = rng.randrange(8)
    if change == 0:
        return table.remove_column(at)
    if change == 1:
        names = list(table.column_names)
        odd = (*names, "", "x", "label", "count", "a\nb", "__index_level_0__", "\0")
        names[at] = rng.choice(odd)
        return table.rename_columns(names)
    if change == 2:
        return table.slice(rng.randrange(table.num_rows + 1))
    name = table.column_names[at]
    return table.set_column(at, name, _column(rng, table.num_rows))


def _column(rng: Random, length: int) -> Any:
    """Values of one odd kind."""
    import pyarrow as pa

    numbers = [rng.choice((0, 1, 5, 1 << 40)) for _ in range(length)]
    odd = [float(rng.choice(("nan", "inf", "-1", "1e308", "0.5"))) for _ in numbers]
    texts = [rng.choice((*text.ODD_NUMBERS[:30], "a", "b")) for _ in numbers]
    kinds = (
        lambda: pa.array(odd),
        lambda: pa.array([None if rng.random() < 0.3 else n for n in numbers]),
        lambda: pa.array([None] * length, rng.choice((pa.int32(), pa.null()))),
        lambda: pa.array(texts),
        lambda: pa.array(texts).dictionary_encode(),
        lambda: pa.array([text.encode() for text in texts], pa.binary()),
        lambda: pa.array([[n] for n in numbers]),
        lambda: pa.array([{"a": n} for n in numbers]),
        lambda: pa.array(numbers, pa.timestamp("us")),
        lambda: pa.array([n % 2 == 0 for n in numbers]),
        lambda: pa.array(numbers, pa.decimal128(38, 2)),
        lambda: pa.array(numbers, pa.uint64()),
        lambda: pa.array([n % 100 for n in numbers], pa.int8()),
        lambda: pa.array([1.5] * length, pa.float16()),
    )
    return rng.choice(kinds)()
