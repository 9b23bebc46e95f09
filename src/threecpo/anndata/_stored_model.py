"""The model of a fit in ``uns``, as the bytes of a model file."""

from __future__ import annotations

import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from ._counts import check_anndata, check_key

if TYPE_CHECKING:
    from anndata import AnnData
    from numpy.typing import NDArray

    from ..cluster import ThreeCPO

_PLAIN = (str, int, float, tuple, list, np.ndarray, np.generic, type(None))


def model(adata: AnnData, *, key: str = "threecpo") -> ThreeCPO:
    """Return the model that :func:`cluster` stored in an AnnData.

    It comes back from h5ad files as well. Nothing in it is executed.

    Parameters
    ----------
    adata : AnnData
        Cells that :func:`cluster` was called on, also after more cells or genes were
        left out.
    key : str, default="threecpo"
        Name of the results: ``key_added`` of :func:`cluster`.

    Returns
    -------
    ThreeCPO
        The fitted model. Parameters that files cannot hold, such as functions, have
        their defaults.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> import threecpo.anndata
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> adata = AnnData(X.astype(np.float32))
    >>> threecpo.anndata.cluster(adata, 3)
    >>> threecpo.anndata.model(adata).n_clusters_
    3
    """
    check_anndata(adata, "model")
    check_key("key", key)
    facts = adata.uns.get(key)
    held = facts.get("model") if hasattr(facts, "get") else None
    if held is None:
        message = (
            f"This AnnData holds no model under uns[{key!r}]; "
            "call threecpo.anndata.cluster first, or pass key=."
        )
        raise ValueError(message)
    return _from_bytes(held, f"uns[{key!r}]['model']")


def to_bytes(fitted: ThreeCPO) -> NDArray[np.uint8]:
    """Model file as an array, which h5ad and zarr files hold."""
    from ..persistence import save

    with TemporaryDirectory() as folder:
        path = Path(folder, "model.npz")
        save(_with_plain_parameters(fitted), path)
        return np.frombuffer(path.read_bytes(), dtype=np.uint8).copy()


def _from_bytes(held: Any, place: str) -> ThreeCPO:
    from ..persistence import load

    content = np.asarray(held)
    if content.dtype != np.uint8:
        message = f"{place} is not a model that threecpo.anndata.cluster stored."
        raise ValueError(message)
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.npz")
        path.write_bytes(content.tobytes())
        try:
            return load(path)
        except ValueError as error:
            message = str(error).replace(str(path), place)
            raise ValueError(message) from error


def _with_plain_parameters(fitted: ThreeCPO) -> ThreeCPO:
    """Same fit with defaults for parameters that are functions, models or such."""
    defaults = type(fitted)(1).get_params(deep=False)
    other = {
        name: defaults[name]
        for name, value in fitted.get_params(deep=False).items()
        if not isinstance(value, _PLAIN)
    }
    return copy.copy(fitted).set_params(**other) if other else fitted
