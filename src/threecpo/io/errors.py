"""Errors of reading, as one DataFormatError that names the file."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .._core.matrices import DamagedMatrixError
from .._errors import DataFormatError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LONGEST_REASON = 200


@contextmanager
def file_errors(path: Path | str) -> Iterator[None]:
    """Report any error of reading a file by one that names it; silence warnings."""
    with warnings.catch_warnings(), block_errors(path):
        warnings.simplefilter("ignore")
        yield


@contextmanager
def block_errors(path: Path | str) -> Iterator[None]:
    """Report any error of reading a block by one that names it.

    Unlike that of whole files this leaves warnings alone: it runs in many threads.
    """
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        if isinstance(error, DataFormatError) and str(error).startswith(str(path)):
            raise
        raise DataFormatError(_message(path, error)) from error


def _message(path: Path | str, error: Exception) -> str:
    """What to say of an error, with the name of the file."""
    if isinstance(error, DataFormatError):
        return f"{path}: {one_line(error)}."
    if isinstance(error, FileNotFoundError):
        missing = error.filename or path
        return f"{missing} does not exist; check the name and the folder."
    if isinstance(error, PermissionError):
        return f"{path} may not be read by this user; change its permissions."
    if isinstance(error, MemoryError):
        return f"{path} asks for more memory than there is; it is damaged or too large."
    described = error.reason if isinstance(error, DamagedMatrixError) else error
    reason = one_line(described)[:_LONGEST_REASON].rstrip(".") or type(error).__name__
    return f"{path} cannot be read; it is damaged or in another format: {reason}."
