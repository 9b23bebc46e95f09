"""Names of rows, columns and clusters as files hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .stored import DamagedFieldError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from .._core.batch_sums import BatchSums
    from .stored import Arrays


def names_to_arrays(field: str, names: Iterable[str] | None) -> Arrays:
    """Names as bytes and where each ends: a long one does not widen the others."""
    if names is None:
        return {}
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    return {
        field: np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{field}_ends": np.cumsum([len(name) for name in encoded], dtype=np.int64),
    }


def names_from_arrays(
    field: str, arrays: Mapping[str, Any], length: int
) -> NDArray[np.object_] | None:
    """Names again, None where there are none."""
    if field not in arrays:
        return None
    content, ends = arrays[field], arrays[f"{field}_ends"]
    if content.dtype != np.uint8 or content.ndim != 1:
        message = f"{field} is no text"
        raise DamagedFieldError(message)
    if ends.shape != (length,) or ends.dtype != np.int64:
        message = f"{field} has {ends.shape} names, not {length}"
        raise DamagedFieldError(message)
    bounds = np.concatenate([[0], ends])
    if (np.diff(bounds) < 0).any() or bounds[-1] != len(content):
        message = f"{field} has ends that do not fit"
        raise DamagedFieldError(message)
    text = content.tobytes()
    names = np.empty(length, dtype=object)
    names[:] = [
        text[start:end].decode("utf-8", "surrogatepass")
        for start, end in zip(bounds[:-1].tolist(), ends.tolist(), strict=True)
    ]
    return names


def cluster_names_from_arrays(
    arrays: Mapping[str, Any], n_clusters: int
) -> tuple[str, ...] | None:
    """Names that were given to clusters, which tell them apart."""
    names = names_from_arrays("cluster_names", arrays, n_clusters)
    if names is None:
        return None
    given = [name for name in names if name]
    if len(set(given)) < len(given):
        message = "cluster_names has a name twice"
        raise DamagedFieldError(message)
    return tuple(names)


def batch_names_from(given: Any, batches: BatchSums | None) -> tuple[str, ...]:
    """Names of the batches of a file, as many as the sums have."""
    names = tuple(map(str, given)) if isinstance(given, list) else ()
    n_batches = 1 if batches is None else batches.n_batches
    if len(names) > n_batches or len(names) < n_batches > 1:
        message = f"batches has {len(names)} names for {n_batches} batches"
        raise DamagedFieldError(message)
    return names


def of_known(
    numbers: NDArray[np.intp], known: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Names of known clusters, by the numbers that they had; None without any."""
    names = tuple(known[k] if k < len(known) else "" for k in numbers.tolist())
    return names if any(names) else None
