"""How many bytes a file may unpack to before it is refused.

A few bytes can claim, or unpack to, any number of them. What is read from a file of S
bytes is at most ``MULTIPLE`` x S, and never refused below ``SMALLEST``; whoever trusts
a file names another number, as ``max_unpacked`` or in the environment. Counts that are
written one by one compress 5 to 30 times, as text or in HDF5; full matrices that are
nearly empty compress several hundred times, and those need a larger number.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from .._errors import DataFormatError, parameter
from .._fit.budget import budget_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SMALLEST = 1 << 29
MULTIPLE = 100
# Processor seconds of a reader of its own process: for any file, and for each byte that
# a file of its size may unpack to.
SECONDS = 5.0
SECONDS_PER_BYTE = 5e-8
VARIABLE = "THREECPO_MAX_UNPACKED"


def parse_limit(given: Any, name: str = "max_unpacked") -> int | None:
    """Return a number of bytes, given as such or as text like "10GB"."""
    try:
        return budget_of(given).limit
    except ValueError:
        message = f"{name}={given!r} must be a size such as '10GB' or '500MB'."
        raise ValueError(message) from None


@contextmanager
def allowing(size: str | None) -> Iterator[None]:
    """Let all files unpack to this size, also in processes that are started here."""
    before = os.environ.get(VARIABLE)
    if size is not None:
        os.environ[VARIABLE] = size
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before


class Limits(NamedTuple):
    """Bytes that a file may unpack to, and processor seconds for its reader."""

    unpacked: int
    seconds: float


def limits_for(size: int, given: int | None = None) -> Limits:
    """Limits of a file or folder of this size; ``given`` bytes may be unpacked."""
    if given is None:
        try:
            given = parse_limit(os.environ.get(VARIABLE) or None, VARIABLE)
        except ValueError as error:  # the file is not to blame
            raise DataFormatError(str(error).rstrip(".")) from None
    unpacked = max(SMALLEST, MULTIPLE * size) if given is None else given
    more = max(MULTIPLE * size, unpacked - SMALLEST)
    return Limits(unpacked, SECONDS + SECONDS_PER_BYTE * more)


def limit_of(path: Path, given: int | None = None) -> int:
    """Bytes that a file may unpack to: those given, else by its size."""
    return limits_for(path.stat().st_size, given).unpacked


def check_unpacked(n_bytes: int, limit: int | None) -> None:
    """Refuse what takes more bytes than a file may unpack to, if there is a limit."""
    if limit is not None and n_bytes > limit:
        raise unpacks_too_far(limit)


def unpacks_too_far(limit: int) -> DataFormatError:
    """Error about a file that unpacks to more than that."""
    return DataFormatError(
        f"it unpacks to more than {limit} bytes; if it comes from somebody you trust, "
        f"allow more by {parameter('max_unpacked')} or {VARIABLE}"
    )
