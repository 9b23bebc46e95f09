"""Fitted models as one ``.npz`` file of arrays and a JSON header, without pickle."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from ._errors import DataFormatError, one_line
from ._writing import replaced, write_arrays
from .io.npz import open_npz

if TYPE_CHECKING:
    from .cluster import ThreeCPO
    from .cluster.fitting import PoissonClusterer

FORMAT = "threecpo-model"
VERSION = 5
_IN_ARRAYS = {"stored": "array"}
_LARGEST_HEADER = 1 << 24
_MOST_THREADS = 1 << 12
# What a header of other types than ours makes Python raise.
_DAMAGE = (
    *(KeyError, TypeError, ValueError, AttributeError, IndexError),
    *(OverflowError, RecursionError, MemoryError),
)


def save(
    model: PoissonClusterer, path: str | os.PathLike[str], *, rows: bool = True
) -> None:
    """Write a fitted model to one file, as ``ThreeCPO.save`` does."""
    from ._fit.record_files import record_to_arrays

    record, parameters = model.record_, model.get_params(deep=False)
    if not rows:
        record = record.without_rows()
        if not isinstance(parameters["init"], str):
            parameters["init"] = "merge"
    arrays, facts = record_to_arrays(record)
    header = {"format": FORMAT, "version": VERSION, "record": facts}
    header["parameters"] = _storable(parameters, arrays)
    arrays["header"] = np.array(json.dumps(header))
    with replaced(Path(path)) as beside, beside.open("xb") as file:
        write_arrays(file, arrays, packed=True)


def load(path: str | os.PathLike[str]) -> ThreeCPO:
    """Read a model that ``ThreeCPO.save`` wrote.

    Parameters
    ----------
    path : str or path-like
        The file. Nothing in it is executed, and it is refused if it unpacks to more
        than 100 times its size and 512 MiB (see ``threecpo.read_counts``).

    Returns
    -------
    ThreeCPO
        The fitted model.

    Raises
    ------
    ValueError
        If the file is not a model, damaged, or of another version.

    Examples
    --------
    >>> import tempfile, threecpo
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> model = threecpo.ThreeCPO(3, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.npz")
    ...     again = threecpo.load(f"{folder}/model.npz")
    >>> bool((again.predict(X) == model.labels_).all())
    True
    """
    from .cluster import ThreeCPO

    return load_plain(path, ThreeCPO)


def load_plain(
    path: Any, kind: type[Any] | None = None, *, computes: bool = True
) -> Any:
    """Read a model as one of a class, by default without scikit-learn, for commands.

    Parameters of one that ``computes`` are checked.
    """
    from ._fit.record_files import record_from_arrays
    from .cluster import plain
    from .cluster.fitting import keep

    arrays, header = _read(path)
    try:
        parameters = {**header["parameters"]}
        for name, value in parameters.items():
            if value == _IN_ARRAYS:
                parameters[name] = arrays[f"parameter_{name}"]
            elif isinstance(value, dict):
                parameters[name] = dict(value["pairs"])
        parameters["groups"] = tuple(parameters["groups"])
        record = record_from_arrays(arrays, header["record"])
        model = (kind or plain.ThreeCPO)(**parameters)
        if computes:
            _check_parameters(model, record.settings.n_clusters)
        return keep(model, record)
    except _DAMAGE as error:
        message = f"{path} is a damaged threecpo model: {one_line(error)}."
        raise ValueError(message) from error


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file is laid out as a model is; ``load`` may still refuse it."""
    try:
        if not Path(path).is_file():
            return False
        with ZipFile(path) as file:
            return {"header.npy", "groups.npy"} <= set(file.namelist())
    except (OSError, ValueError, NotImplementedError, BadZipFile, struct.error):
        return False


def _check_parameters(model: PoissonClusterer, n_clusters: int) -> None:
    """Refuse parameters that no fit takes."""
    from .cluster.fitting import copied, plan_of

    for name, value in model.get_params(deep=False).items():
        most = _MOST_THREADS if name == "n_jobs" else 2**63
        huge = isinstance(value, int) and abs(value) >= most and name != "random_state"
        if huge or (name == "verbose" and not isinstance(value, int)):
            message = f"{name} is {value!r}"
            raise ValueError(message)
    if model.n_clusters == "auto":
        model = copied(model, n_clusters=n_clusters)
    plan_of(model)


def _storable(parameters: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Parameters as JSON; arrays go beside it; what is neither is refused."""
    out = {}
    for name, value in parameters.items():
        if name in ("init", "column_init") and not isinstance(value, str):
            array = np.asarray(value)
            if array.dtype.kind in "iu":
                arrays[f"parameter_{name}"] = array
                out[name] = _IN_ARRAYS
                continue
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, dict):  # JSON would turn numbers of columns into text
            plain = {"pairs": [list(pair) for pair in plain.items()]}
        try:
            json.dumps(plain)
        except TypeError:
            message = (
                f"{name}={value!r} cannot be stored in a model file; "
                f"use set_params({name}=...) to put a plain value there before saving."
            )
            raise ValueError(message) from None
        out[name] = plain
    return out


def _read(path: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and header of a model file of a version that we know."""
    if not isinstance(path, str | os.PathLike):
        message = f"load takes the name of a file, not {type(path).__name__}."
        raise TypeError(message)
    if Path(path).is_dir():
        inside = Path(path, "model.npz")
        advice = f"; load {inside}" if inside.is_file() else ""
        message = f"{path} is a folder, not a model file{advice}."
        raise IsADirectoryError(message)
    if not Path(path).exists():
        message = f"{path} does not exist; load reads files that ThreeCPO.save wrote."
        raise FileNotFoundError(message)
    try:
        with open_npz(Path(path)) as file:
            file.check_size("header", _LARGEST_HEADER)
            # JSON that we write is ASCII; numpy lets codes pass that are not text.
            header = json.loads(file["header"].astype("S").item())
            known = header["format"] == FORMAT
            version = int(header["version"])
            arrays = {name: file[name] for name in file if known}
    except OSError as error:
        if isinstance(error, PermissionError):
            raise
        raise _not_a_model(path) from error
    except DataFormatError as error:
        raise _not_a_model(path, f": {one_line(error)}") from error
    except Exception as error:
        raise _not_a_model(path) from error
    if not known or version < 1:
        raise _not_a_model(path)
    if version != VERSION:
        remedy = "Update threecpo to load it" if version > VERSION else "Fit again"
        message = (
            f"{path} has model format {version}; this threecpo reads format {VERSION}. "
            f"{remedy}."
        )
        raise ValueError(message)
    return arrays, header


def _not_a_model(path: str | os.PathLike[str], why: str = "") -> ValueError:
    return DataFormatError(f"{path} is not a model file written by ThreeCPO.save{why}.")
