"""Arrays in HDF5 files, before anybody asks for their memory."""

from __future__ import annotations

from typing import Any

from .._errors import DataFormatError

_SMALL = 1 << 26
_BEST_COMPRESSION = 5000


def check_stored(element: Any) -> None:
    """Refuse an array, or a group of arrays, that claims far more than is stored."""
    if not hasattr(element, "dtype"):
        for name in element:
            check_stored(element[name])
        return
    stored = element.id.get_storage_size()
    if element.nbytes > _SMALL and element.nbytes > _BEST_COMPRESSION * stored:
        message = (
            f"{element.name} claims {element.nbytes} bytes but has {stored}; "
            "the file is damaged"
        )
        raise DataFormatError(message)
