"""Rows of an array, some megabytes and whole chunks at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .fences import timed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# Bytes, chunks and texts that one call of a library reads.
PIECE = 1 << 21
MOST_CHUNKS = 1 << 13
TEXTS = 1 << 13


class Values(NamedTuple):
    """An array on disk: what gives its rows, and how they are stored."""

    source: Any
    kind: str
    shape: tuple[int, ...]
    itemsize: int
    chunks: tuple[int, ...]
    # How many texts a call reads.
    texts: int = TEXTS


def send_rows(
    values: Values, start: int, stop: int, send: Callable[[Any], None]
) -> None:
    """Send rows: text as the lengths of strings and their letters.

    Numbers are sent some at a time, each time with the type that they are sent in.
    """
    send({"kind": values.kind})
    if values.kind == "text":
        for at in range(start, stop, values.texts):
            with timed():
                texts = _encoded(values.source[at : min(at + values.texts, stop)])
            send(np.array([len(text) for text in texts], dtype="<i8"))
            send(b"".join(texts))
        return
    row = values.itemsize * int(np.prod(values.shape[1:]))
    if row == 0:
        return
    deep = values.chunks[0]
    # Whole chunks, so that none is unpacked twice, unless these are huge.
    step = max(1, min(PIECE // row, MOST_CHUNKS * deep))
    if deep * row <= PIECE * 16:
        step = -(-step // deep) * deep
    while start < stop:
        end = min(stop, (start // step + 1) * step)
        piece = _narrow(_piece(values, start, end))
        send({"kind": piece.dtype.str})
        send(piece)
        start = end


def _encoded(texts: Any) -> list[bytes]:
    listed = texts.tolist()
    return [text if isinstance(text, bytes) else str(text).encode() for text in listed]


def _narrow(piece: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in fewer bytes if they are whole and none is negative.

    To make them narrow takes less time than to send them wide.
    """
    if piece.dtype.kind not in "iu" or not piece.size or piece.min() < 0:
        return piece
    return piece.astype(np.min_scalar_type(piece.max()))


def _piece(values: Values, start: int, end: int) -> NDArray[Any]:
    """Rows of an array; where chunks are deep columns, some of them a call."""
    across = (end - start) // values.chunks[0] + 2
    if len(values.shape) == 1:
        with timed(across * values.chunks[0] * values.itemsize):
            return np.asarray(values.source[start:end])
    n_columns, (deep, wide) = values.shape[1], values.chunks
    one = across * deep * wide * values.itemsize
    step = wide * max(1, min(PIECE * 4 // one, MOST_CHUNKS // across))
    if step >= n_columns:
        with timed(one * (n_columns // wide + 1)):
            return np.asarray(values.source[start:end])
    out = np.empty((end - start, n_columns), dtype=values.kind)
    for left in range(0, n_columns, step):
        part = slice(left, min(n_columns, left + step))
        with timed(one * step // wide):
            out[:, part] = values.source[start:end, part]
    return out
