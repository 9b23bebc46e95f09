"""What a fit tells of its rows: gathered, or written block by block."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from .._beside import replaced
from .._core.describe import describe, row_results
from .._core.workers import SERIAL

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from .._core.blocks import Engine
    from .._core.counts import Counts
    from .._core.describe import Fitted
    from .._core.loops.records import Profile

    Results = dict[str, NDArray[Any]]


def results_of_block(
    fitted: Fitted, profile: Profile, names: tuple[str, ...], _: int, counts: Counts
) -> list[Results]:
    """What is told of the rows of a block."""
    results = row_results(fitted, describe(counts, profile, SERIAL))
    return [{name: results[name] for name in names}]


def write_block(folder: Path, *rest: Any) -> int:
    """Write what is told of the rows of a block; return how many they are."""
    *_, index, _counts = rest
    (results,) = results_of_block(*rest)
    for name, values in results.items():
        # A block that is worked on a second time writes the same again.
        path = folder / f"{name}-{index:06d}.npy"
        try:
            with replaced(path) as beside, beside.open("xb") as file:
                np.save(file, values, allow_pickle=False)
        except OSError as error:
            message = (
                f"The results of the rows could not be written to {folder.parent}: "
                f"{error.strerror or error}. Nothing is left of them; the model is "
                "fitted."
            )
            raise OSError(error.errno, message) from error
    return len(values)


def gathered(engine: Engine, fitted: Fitted, names: tuple[str, ...]) -> Results:
    """All results as arrays."""
    work = partial(results_of_block, fitted, fitted.profile(), names)
    parts = engine.fold(work, list.__add__)
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def written(
    engine: Engine, fitted: Fitted, names: tuple[str, ...], folder: Path
) -> None:
    """All results as files, made where the blocks are read."""
    work = partial(write_block, folder, fitted, fitted.profile(), names)
    engine.fold(work, int.__add__)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a folder beside, which gets its name when all is in it."""
    beside = path.with_name(f".{path.name}-{uuid4().hex}.part")
    beside.mkdir(parents=True)
    try:
        yield beside
        beside.rename(path)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def check_new(path: Path) -> None:
    if path.exists():
        message = f"write_to={str(path)!r} exists; name a new folder."
        raise FileExistsError(message)


def read_rows(folder: str | os.PathLike[str], name: str = "labels") -> NDArray[Any]:
    """Read what ``fit(..., write_to=folder)`` has written, for all rows.

    Parameters
    ----------
    folder : str or path-like
        The folder. It holds files such as ``labels-000007.npy``, one for each block.
    name : str, default="labels"
        One of "labels", "nearest_labels", "outlier_scores", "margins", "row_scales".

    Returns
    -------
    ndarray of shape (n_rows,)
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
