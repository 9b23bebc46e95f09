"""Changes of HDF5 files: bytes of their headers, and objects edited by h5py."""

from __future__ import annotations

import io
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arrays, plain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

_SIGNATURES = re.compile(rb"\x89HDF|OHDR|OCHK|SNOD|TREE|HEAP|GCOL|FRHP|FHDB|BTHD|BTLF")
_SHAPES = ((1 << 40,), (1 << 31, 1 << 31), (0,), (3, 0), (10, 10), ())
_ATTRIBUTES: tuple[Any, ...] = (
    *(0, -1, 1 << 40, 1.5, "", "x", "csc_matrix", "csr_matrix", "array", "dataframe"),
    *("categorical", "0.9.9", "_index", "../obs", "string-array", "nullable-integer"),
    *([], [1], [1, 2, 3], [-1, 5], [1 << 40, 1 << 40], [1.5, 2.5], ["a", "b"]),
    *(b"\xff\xfe", float("nan"), True, "X", "/", "raw"),
)
_MOST_READ = 1 << 16


def mutated(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Change bytes anywhere, bytes of headers, or objects."""
    change = rng.random()
    if change < 0.25:
        return plain.mutated(rng, content, others)
    if change < 0.55:
        return header_bytes(rng, content, others)
    return objects(rng, content)


def header_bytes(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Change some bytes behind one of the signatures of HDF5."""
    starts = [match.start() for match in _SIGNATURES.finditer(content)]
    if not starts:
        return plain.mutated(rng, content, others)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.choice(starts)
        end = at + rng.choice((16, 64, 256))
        change = rng.choice((plain.flip, plain.number, plain.overwrite, plain.fill))
        piece = change(rng, content[at:end], [])
        content = content[:at] + piece[: end - at] + content[end:]
    return content


def objects(rng: Random, content: bytes) -> bytes:
    """Edit one to three objects of the file."""
    import h5py

    file = io.BytesIO(content)
    with h5py.File(file, "r+") as opened:
        for _ in range(rng.choice((1, 1, 2, 3))):
            # An earlier edit may have made this one impossible.
            with suppress(KeyError, ValueError, OSError, RuntimeError, TypeError):
                _edit(rng, opened)
    return file.getvalue()


def _edit(rng: Random, file: Any) -> None:
    names = _names(file)
    datasets = [name for name in names if hasattr(file[name], "dtype")]
    change = rng.random()
    if datasets and change < 0.45:
        _edit_dataset(rng, file, rng.choice(datasets))
    elif change < 0.7:
        _edit_attributes(rng, file[rng.choice(["/", *names])])
    elif names and change < 0.8:
        del file[rng.choice(names)]
    elif names:
        _edit_links(rng, file, rng.choice(names), names)


def _names(file: Any) -> list[str]:
    """Paths of all objects that links lead to, each once."""
    found: list[str] = []
    file.visit(found.append)
    return [name for name in found if name in file]


def _edit_dataset(rng: Random, file: Any, name: str) -> None:
    old = file[name]
    attributes = dict(old.attrs)
    change = rng.random()
    # One that an earlier edit made claim much is not read.
    if old.shape is None or old.size > _MOST_READ or change > 0.85:
        _claim(rng, file, name)
    elif old.dtype.kind in "biuf":
        new = arrays.changed(rng, old[()])
        new = new.astype("i8" if new.dtype.kind == "M" else new.dtype)
        new = new.astype("S4") if new.dtype.kind == "U" else new
        _replace(file, name, new)
    else:
        _replace(file, name, _odd_text(rng, old[()]))
    for key, value in attributes.items():
        file[name].attrs[key] = value


def _odd_text(rng: Random, values: Any) -> Any:
    choice = rng.randrange(6)
    if choice == 0:
        return np.arange(np.size(values))
    if choice == 1:
        return np.array([b"\xff\xfe"] * np.size(values), dtype="S3")
    flat = np.array(values, dtype=object).reshape(-1)
    if choice == 2:
        return flat[: rng.randrange(len(flat) + 1)].astype("S5")
    if choice == 3:
        return np.full(len(flat), b"same")
    if choice == 4:
        return np.array(b"x")
    return np.array([b"x" * 5000] * len(flat))


def _claim(rng: Random, file: Any, name: str) -> None:
    """A dataset that claims much and stores little, or is of an odd type."""
    import h5py

    del file[name]
    choice = rng.randrange(6)
    shape = rng.choice(_SHAPES)
    if choice < 3 and shape:
        dtype = rng.choice(("f8", "i4", "u1", "S100", "i8"))
        options = {"compression": "gzip"} if rng.random() < 0.5 else {}
        chunks = tuple(max(1, min(size, 1 << rng.choice((4, 10)))) for size in shape)
        limits = (None,) * len(shape)
        file.create_dataset(
            name, shape, dtype, chunks=chunks, maxshape=limits, **options
        )
    elif choice == 3:
        file.create_dataset(name, data=h5py.Empty("f8"))
    elif choice == 4:
        packed = {"compression": "gzip", "chunks": (1 << 16,)}
        file.create_dataset(name, data=np.zeros(1 << 22), **packed)
    else:
        compound = np.zeros(3, dtype=[("index", "S5"), ("a", "f4")])
        file.create_dataset(name, data=compound)


def _replace(file: Any, name: str, value: Any) -> None:
    del file[name]
    file.create_dataset(name, data=value)


def _edit_attributes(rng: Random, element: Any) -> None:
    keys = list(element.attrs)
    key = rng.choice([*keys, "shape", "encoding-type", "_index", "column-order"])
    if key in element.attrs and rng.random() < 0.2:
        del element.attrs[key]
    else:
        element.attrs[key] = rng.choice(_ATTRIBUTES)


def _edit_links(rng: Random, file: Any, name: str, names: list[str]) -> None:
    import h5py

    other = rng.choice(names)
    choice = rng.randrange(6)
    if choice == 0:
        file.move(name, f"{name}-moved")
        return
    target = file[other]
    del file[name]
    if choice == 1:
        file[name] = h5py.SoftLink(rng.choice((f"/{name}", f"/{other}", "/no", "/")))
    elif choice == 2:
        file[name] = target
    elif choice == 3:
        file[name] = h5py.ExternalLink(rng.choice(("/etc/passwd", "t.h5", ".")), "/X")
    elif choice == 4:
        storage = [("/etc/passwd", 0, 80)]
        file.create_dataset(name, (10,), "f8", external=storage)
    else:
        _make_virtual(file, name)


def _make_virtual(file: Any, name: str) -> None:
    """A dataset of another file's values; without the time, which differs."""
    import h5py

    options = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    options.set_obj_track_times(False)
    space = h5py.h5s.create_simple((10,))
    options.set_virtual(space, b"/no/such.h5", b"X", space)
    h5py.h5d.create(file.id, name.encode(), h5py.h5t.IEEE_F64LE, space, options)
