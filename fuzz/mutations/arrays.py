"""Changes of numpy arrays and of the npz archives that hold them."""

from __future__ import annotations

import ast
import io
import warnings
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from . import json_values, plain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from numpy.typing import NDArray

_DTYPES = (
    *("i1", "i2", "i4", "i8", "u1", "u4", "u8", "f2", "f4", "f8", "c16", "?", "S3"),
    *("U2", ">i4", ">f8", "M8[s]", "V4"),
)
_ODD = (0, 1, -1, 3, 1000, -1000, (1 << 31) - 1, (1 << 32) + 1, 1 << 40, -(1 << 63))
_ODD_FLOATS = (np.nan, np.inf, -np.inf, -1.0, 0.5, 1e308, 2.0**53, 5e-324, -0.0)
_HEADERS = (
    *("|O", "<f8", "<i4", ">i8", "|S0", "<U1000000000", "|V8", "zz", "<f16", "<c16"),
    *([("a", "<i4")], [("a", "|O")], [("a", "<f8", (1 << 40,))], ("<f8", (3,))),
)
_METHODS = (
    *(zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED),
    *(zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA),
)
_WHEN = (2020, 1, 1, 0, 0, 0)


def mutated(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Change bytes of an archive, or what its members hold."""
    if rng.random() < 0.15:
        return plain.mutated(rng, content, others)
    members = members_of(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if members:
            _change(rng, members, others)
    method = zipfile.ZIP_STORED if rng.random() < 0.8 else rng.choice(_METHODS)
    return archive_of(members, method)


def members_of(content: bytes) -> list[tuple[str, bytes]]:
    """Names and contents of the members of an archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(info.filename, archive.read(info)) for info in archive.infolist()]


def archive_of(members: list[tuple[str, bytes]], method: int) -> bytes:
    """Write an archive, the same bytes for the same members."""
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore")
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name, _WHEN), content, method)
    return file.getvalue()


def _change(
    rng: Random, members: list[tuple[str, bytes]], others: Sequence[bytes]
) -> None:
    at = rng.randrange(len(members))
    headers = [i for i, (name, _) in enumerate(members) if name == "header.npy"]
    if headers and rng.random() < 0.25:
        at = headers[0]
    name, content = members[at]
    change = rng.random()
    if change < 0.6:
        members[at] = name, other_values(rng, content)
    elif change < 0.75:
        members[at] = name, other_header(rng, content)
    elif change < 0.83:
        members[at] = name, plain.mutated(rng, content, [c for _, c in members])
    elif change < 0.87:
        del members[at]
    elif change < 0.91 and others:
        donors = dict(members_of(rng.choice(others)))
        members[at] = name, donors.get(name, content)
    elif change < 0.95:
        members[at] = rng.choice(members)[0], content
    else:
        odd = ("../evil.npy", "x.npy", "readme.txt", "x" * 300, "", "a/b.npy", "x")
        members.append((rng.choice(odd), rng.choice(members)[1]))


def other_values(rng: Random, content: bytes) -> bytes:
    """Change values, type or shape of an array."""
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:  # noqa: BLE001 - an earlier change may have made anything of it
        return plain.mutated(rng, content, [])
    if array.dtype.kind == "U" and array.ndim == 0 and str(array).startswith("{"):
        content = str(array).encode("utf-8", "surrogatepass")
        text = json_values.mutated(rng, content, [])
        return _npy(np.array(text.decode("utf-8", "surrogateescape")))
    return _npy(changed(rng, array))


def changed(rng: Random, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array with other values, another type or another shape."""
    if rng.random() < 0.65 and array.size and array.dtype.kind in "biuf":
        return _with_odd_values(rng, array)
    choice = rng.randrange(8)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            if choice < 3:
                return array.astype(rng.choice(_DTYPES))
            shapes: tuple[Any, ...] = (
                array.reshape(-1)[: rng.randrange(array.size + 1)],
                np.append(array, array),
                array[None],
                array.reshape(-1)[:1].reshape(()),
                array.reshape(-1)[::-1],
            )
            return shapes[choice - 3]
        except (ValueError, TypeError):
            return array[:0] if array.ndim else array


def _with_odd_values(rng: Random, array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind == "f" or rng.random() < 0.1:
        array = array.astype(np.float64)
    if array.dtype.kind == "i" and rng.random() < 0.3:
        array = array.astype(np.int64)
    flat = array.copy().reshape(-1)
    start = rng.randrange(len(flat))
    stop = rng.choice((start + 1, start + 1, start + 3, len(flat)))
    values = (*_ODD_FLOATS, *_ODD) if flat.dtype.kind == "f" else (*_ODD, len(flat))
    value = np.array(rng.choice(values))
    with np.errstate(all="ignore"):
        flat[start:stop] = value.astype(flat.dtype)
    return flat.reshape(array.shape)


def other_header(rng: Random, content: bytes) -> bytes:
    """Change what the header of an npy file says, but not the bytes behind it."""
    if content[:6] != b"\x93NUMPY" or content[6] != 1:
        return plain.mutated(rng, content, [])
    end = 10 + int.from_bytes(content[8:10], "little")
    try:
        header = ast.literal_eval(content[10:end].decode("latin-1"))
        shape = list(header["shape"])
    except (ValueError, SyntaxError, KeyError, TypeError):
        return plain.mutated(rng, content, [])
    change = rng.randrange(4)
    if change == 0:
        header["descr"] = rng.choice(_HEADERS)
    elif change == 1:
        header["fortran_order"] = rng.choice((True, False, None, 1))
    elif shape and change == 2:
        shape[rng.randrange(len(shape))] = rng.choice(_ODD)
        header["shape"] = tuple(shape)
    else:
        header["shape"] = tuple(rng.choice(_ODD) for _ in range(rng.randrange(4)))
    text = repr(header).encode("latin-1") + b"\n"
    version = b"\x93NUMPY" + bytes((1, 0)) + len(text).to_bytes(2, "little")
    return version + text + content[end:]


def _npy(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()
