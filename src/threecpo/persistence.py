"""Fitted models as one ``.npz`` file of arrays and a JSON header, without pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._writing import replaced

if TYPE_CHECKING:
    import os

    from .cluster import ThreeCPO

__all__ = ["load"]

FORMAT = "threecpo-model"
VERSION = 1

# Type and shape of each array: n rows, m columns, k clusters, r runs, i iterations.
# A model whose rows were written block by block has none of the first.
_OF_ROWS = {
    "labels_": ("i4", "n"),
    "nearest_labels_": ("i4", "n"),
    "outlier_scores_": ("f8", "n"),
    "margins_": ("f8", "n"),
    "row_scales_": ("f8", "n"),
}
_ATTRIBUTES = _OF_ROWS | {
    "column_groups_": ("i1", "m"),
    "column_scores_": ("f8", "m3"),
    "cluster_rates_": ("f8", "km"),
    "shared_rates_": ("f8", "m"),
    "noise_rates_": ("f8", "m"),
    "restart_losses_": ("f8", "r"),
}
_SUMS = {
    "sums": ("f8", "om"),
    "sizes": ("i8", "o"),
    "profile_sums": ("f8", "om"),
    "profile_sizes": ("i8", "o"),
    "totals": ("f8", "m"),
    "ranks": ("i4", "k"),
}
_NUMBERS = ("loss_", "n_iter_", "n_clusters_", "n_features_in_", "_price")
_IN_ARRAYS = {"stored": "array"}


def save(model: ThreeCPO, path: str | os.PathLike[str]) -> None:
    """Write a fitted model beside the target, then rename it into place."""
    fitted = model._fitted
    arrays: dict[str, Any] = {
        name: getattr(model, name) for name in _attributes(vars(model))
    }
    arrays |= {
        "sums": fitted.statistics.sums,
        "sizes": fitted.statistics.sizes,
        "profile_sums": fitted.profile_statistics.sums,
        "profile_sizes": fitted.profile_statistics.sizes,
        "totals": fitted.statistics.totals,
        "ranks": fitted.ranks,
    }
    arrays |= {f"history_{name}": values for name, values in model.history_.items()}
    if hasattr(model, "feature_names_in_"):
        arrays["feature_names_in_"] = model.feature_names_in_.astype(str)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "parameters": _storable(model.get_params(deep=False), arrays),
        "numbers": {name: getattr(model, name) for name in _NUMBERS},
        "history": list(model.history_),
        "n_rows": fitted.statistics.n_rows,
        "prior": fitted.prior,
        "exact": fitted.exact,
        "threshold": fitted.threshold,
        "outliers": fitted.outliers,
    }
    arrays["header"] = np.array(json.dumps(header))
    with replaced(Path(path)) as beside, beside.open("xb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def load(path: str | os.PathLike[str]) -> ThreeCPO:
    """Read a model that ``ThreeCPO.save`` wrote.

    Parameters
    ----------
    path : str or path-like
        The file. Nothing in it is executed.

    Returns
    -------
    ThreeCPO
        The fitted model.

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
    arrays, header = _read(path)
    try:
        _check_shapes(arrays, header)
        return _restored(arrays, header)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        message = f"{path} is a damaged threecpo model: {error}."
        raise ValueError(message) from error


def _restored(arrays: dict[str, Any], header: dict[str, Any]) -> ThreeCPO:
    from ._core.rows import Fitted
    from ._core.statistics import Statistics
    from .cluster import ThreeCPO

    parameters = {
        name: arrays[f"parameter_{name}"] if value == _IN_ARRAYS else value
        for name, value in header["parameters"].items()
    }
    parameters["groups"] = tuple(parameters["groups"])
    model = ThreeCPO(**parameters)
    for name in _attributes(arrays):
        setattr(model, name, arrays[name])
    for name in _NUMBERS:
        setattr(model, name, header["numbers"][name])
    if "feature_names_in_" in arrays:
        model.feature_names_in_ = arrays["feature_names_in_"].astype(object)
    model.history_ = {name: arrays[f"history_{name}"] for name in header["history"]}
    final, behind = (
        Statistics(
            sums=arrays[f"{prefix}sums"],
            sizes=arrays[f"{prefix}sizes"],
            log_scales=np.zeros((model.n_features_in_ + 1, 2)),
            totals=arrays["totals"],
            n_rows=header["n_rows"],
        )
        for prefix in ("", "profile_")
    )
    model._fitted = Fitted(
        final,
        behind,
        model.column_groups_,
        arrays["ranks"],
        float(header["prior"]),
        bool(header["exact"]),
        float(header["threshold"]),
        header["outliers"],
    )
    return model


def _attributes(held: Any) -> dict[str, tuple[str, str]]:
    """Attributes of a model: what is told of its rows is all there, or not at all."""
    without = {} if any(name in held for name in _OF_ROWS) else _OF_ROWS
    return {n: shape for n, shape in _ATTRIBUTES.items() if n not in without}


def _check_shapes(arrays: dict[str, Any], header: dict[str, Any]) -> None:
    """Refuse arrays that do not fit together: compiled loops trust them."""
    numbers = header["numbers"]
    sizes = {"3": 3, "n": int(header["n_rows"]), "m": int(numbers["n_features_in_"])}
    sizes["k"], sizes["i"] = int(numbers["n_clusters_"]), int(numbers["n_iter_"])
    sizes |= {"o": sizes["k"] + 1, "r": len(arrays["restart_losses_"])}
    expected = _attributes(arrays) | _SUMS
    for name in header["history"]:
        expected[f"history_{name}"] = ("f8" if name == "loss" else "i8", "i")
    for name, (kind, letters) in expected.items():
        array, shape = arrays[name], tuple(sizes[letter] for letter in letters)
        if array.shape != shape or array.dtype != np.dtype(kind):
            message = f"{name} is {array.dtype} {array.shape}, not {kind} {shape}"
            raise ValueError(message)
    if not np.isin(arrays["column_groups_"], (1, 0, -1)).all():
        message = "column_groups_ holds more than 1, 0 and -1"
        raise ValueError(message)


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


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and header of a model file of a version that we know."""
    try:
        with (
            Path(path).open("rb") as opened,
            np.load(opened, allow_pickle=False) as file,
        ):
            arrays = {name: file[name] for name in file.files}
        header = json.loads(str(arrays["header"]))
        known = header["format"] == FORMAT
        version = int(header["version"])
    except OSError as error:
        if isinstance(error, FileNotFoundError | IsADirectoryError | PermissionError):
            raise
        raise _not_a_model(path) from error
    except Exception as error:
        raise _not_a_model(path) from error
    if not known:
        raise _not_a_model(path)
    if version > VERSION:
        message = (
            f"{path} has model format {version}; this threecpo reads up to {VERSION}. "
            "Update threecpo to load it."
        )
        raise ValueError(message)
    return arrays, header


def _not_a_model(path: str | os.PathLike[str]) -> ValueError:
    return ValueError(f"{path} is not a model file written by ThreeCPO.save.")
