"""Fitted models as one ``.npz`` file of arrays and a JSON header, without pickle."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .cluster import ThreeCPO

__all__ = ["load"]

FORMAT = "threecpo-model"
VERSION = 1

_ARRAYS = (
    "labels_",
    "nearest_labels_",
    "outlier_scores_",
    "margins_",
    "column_groups_",
    "column_scores_",
    "cluster_rates_",
    "shared_rates_",
    "noise_rates_",
    "row_scales_",
    "restart_losses_",
)
_NUMBERS = ("loss_", "n_iter_", "n_clusters_", "n_features_in_", "_price")
_STATISTICS = ("statistics", "profile_statistics")


def save(model: ThreeCPO, path: str | os.PathLike[str]) -> None:
    """Write a fitted model beside the target, then rename it into place."""
    arrays: dict[str, Any] = {name: getattr(model, name) for name in _ARRAYS}
    fitted = model._fitted
    for name in _STATISTICS:
        arrays[f"{name}_sums"] = getattr(fitted, name).sums
        arrays[f"{name}_sizes"] = getattr(fitted, name).sizes
    arrays["totals"] = fitted.statistics.totals
    arrays["ranks"] = fitted.ranks
    for name, values in model.history_.items():
        arrays[f"history_{name}"] = values
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
    target = Path(path)
    handle, beside = tempfile.mkstemp(
        dir=target.parent, prefix=target.name, suffix=".part"
    )
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        Path(beside).replace(target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


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
    >>> (again.predict(X) == model.labels_).all()
    np.True_
    """
    from ._core.rows import Fitted
    from ._core.statistics import Statistics
    from .cluster import ThreeCPO

    arrays, header = _read(path)
    try:
        stored = header["parameters"]
        parameters = {
            name: arrays[f"parameter_{name}"] if value == _IN_ARRAYS else value
            for name, value in stored.items()
        }
        parameters["groups"] = tuple(parameters["groups"])
        model = ThreeCPO(**parameters)
        for name in _ARRAYS:
            setattr(model, name, arrays[name])
        for name in _NUMBERS:
            setattr(model, name, header["numbers"][name])
        if "feature_names_in_" in arrays:
            model.feature_names_in_ = arrays["feature_names_in_"].astype(object)
        model.history_ = {name: arrays[f"history_{name}"] for name in header["history"]}
        final, behind = (
            Statistics(
                sums=arrays[f"{name}_sums"],
                sizes=arrays[f"{name}_sizes"],
                log_scales=np.zeros(model.n_features_in_),
                totals=arrays["totals"],
                n_rows=header["n_rows"],
            )
            for name in _STATISTICS
        )
        model._fitted = Fitted(
            final,
            behind,
            model.column_groups_,
            arrays["ranks"],
            header["prior"],
            header["exact"],
            header["threshold"],
            header["outliers"],
        )
    except (KeyError, TypeError, AttributeError) as error:
        message = f"{path} is a damaged threecpo model: {error} is missing or wrong."
        raise ValueError(message) from error
    return model


_IN_ARRAYS = {"stored": "array"}


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
        with np.load(path, allow_pickle=False) as file:
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
