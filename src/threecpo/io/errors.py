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
def file_errors(path: Path) -> Iterator[None]:
    """Report any error of reading a file by one that names it; silence warnings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except ImportError:
        raise
    except DataFormatError as error:
        message = f"{path}: {one_line(error)}."
        raise DataFormatError(message) from error
    except FileNotFoundError as error:
        missing = error.filename or path
        message = f"{missing} does not exist; check the name and the folder."
        raise DataFormatError(message) from error
    except PermissionError as error:
        message = f"{path} may not be read by this user; change its permissions."
        raise DataFormatError(message) from error
    except MemoryError as error:
        raise _too_large(path) from error
    except Exception as error:
        raise _unreadable(path, error) from error


@contextmanager
def block_errors(path: Path | str) -> Iterator[None]:
    """Report any error of reading a block by one that names it.

    Unlike that of whole files this leaves warnings alone: it runs in many threads.
    """
    try:
        yield
    except ImportError:
        raise
    except DataFormatError as error:
        if str(error).startswith(str(path)):
            raise
        message = f"{path}: {one_line(error)}."
        raise DataFormatError(message) from error
    except MemoryError as error:
        raise _too_large(path) from error
    except Exception as error:
        raise _unreadable(path, error) from error


def _too_large(path: Path | str) -> DataFormatError:
    return DataFormatError(
        f"{path} asks for more memory than there is; it is damaged or too large."
    )


def _unreadable(path: Path | str, error: Exception) -> DataFormatError:
    described = error.reason if isinstance(error, DamagedMatrixError) else error
    reason = one_line(described)[:_LONGEST_REASON] or type(error).__name__
    return DataFormatError(
        f"{path} cannot be read, it is damaged or of another kind: {reason}."
    )
