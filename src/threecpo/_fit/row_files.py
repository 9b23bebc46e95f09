"""Results of the rows of a fit over blocks, written block by block."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._writing import new_folder, replaced

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .engine import Engine
    from .row_results import RowDescriber, RowResults


def written(engine: Engine, describer: RowDescriber, target: Path) -> None:
    """All results as files of a new folder, made where the blocks are read."""
    with new_folder(target) as folder:
        engine.fold(partial(_write_block, folder, describer), int.__add__)


def _write_block(
    folder: Path, describer: RowDescriber, index: int, counts: Counts
) -> int:
    """Write the results of the rows of a block; return how many they are."""
    write_block(folder, index, describer(counts))
    return counts.n_rows


def write_block(folder: Path, index: int, results: RowResults) -> None:
    """Write the results of the rows of a block, a file of each kind."""
    # What was given of the rows is with those who gave it.
    for name, array in results.results().items():
        save_block(folder, name, index, array)


def save_block(folder: Path, name: str, index: int, values: NDArray[Any]) -> None:
    """Write one kind of results of the rows of a block."""
    # A block that is worked on a second time writes the same again.
    path = folder / f"{name}-{index:06d}.npy"
    try:
        with replaced(path, alone=True) as beside, beside.open("xb") as file:
            np.save(file, values, allow_pickle=False)
    except OSError as error:
        message = (
            f"The results of the rows could not be written to {folder.parent}: "
            f"{error.strerror or error}. Nothing is left of them; the model is "
            "fitted."
        )
        raise OSError(error.errno, message) from error


def target_of(write_to: str | os.PathLike[str] | None) -> Path | None:
    """The folder that ``write_to`` names, which must be new."""
    if write_to is None:
        return None
    path = Path(write_to)
    if path.exists():
        message = f"write_to={str(path)!r} exists; name a new folder."
        raise FileExistsError(message)
    return path


def read_rows(folder: str | os.PathLike[str], name: str = "labels") -> NDArray[Any]:
    """Read what ``fit(..., write_to=folder)`` has written, for all rows.

    Parameters
    ----------
    folder : str or path-like
        The folder. It holds files such as ``labels-000007.npy``, one for each block.
    name : str, default="labels"
        One of "labels", "nearest_labels", "outlier_scores", "margins", "row_scales";
        "scores" in a folder of :func:`row_scores`, "probabilities" in one of
        :func:`predict_proba`.

    Returns
    -------
    ndarray of shape (n_rows,) or, of scores, (n_rows, n_clusters)
        The values in the order of the rows.

    Examples
    --------
    >>> import tempfile
    >>> from threecpo import ThreeCPO, distributed
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = ThreeCPO(3, random_state=0)
    ...     model = distributed.fit(model, X, write_to=f"{folder}/rows")
    ...     labels = distributed.read_rows(f"{folder}/rows", "labels")
    >>> bool((labels == model.predict(X)).all())
    True
    """
    paths = sorted(Path(folder).glob(f"{name}-*.npy"))
    if not paths:
        message = f"{folder} holds no {name}; fit with write_to= writes such a folder."
        raise FileNotFoundError(message)
    return np.concatenate([np.load(path, allow_pickle=False) for path in paths])
