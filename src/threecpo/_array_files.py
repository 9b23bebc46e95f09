"""Arrays in a file of numpy's kind npz."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping


def write_arrays(
    file: IO[bytes], arrays: Mapping[str, Any], *, packed: bool = False
) -> None:
    """Write arrays, none of them of objects: those would be pickled.

    The oldest numpy that is allowed takes ``allow_pickle`` for the name of an array.
    """
    for name, array in arrays.items():
        if np.asarray(array).dtype.hasobject:
            message = f"{name} holds objects, which no file may hold."
            raise TypeError(message)
    save = np.savez_compressed if packed else np.savez
    save(file, **arrays)
