"""The files of a data set: on this machine, or downloaded from their home."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import DataFormatError, DataNotFoundError
from .._extras import require
from .._progress import progress as show_progress
from ..io.archives import DAMAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._registry import DatasetSource, Published

RETRIES = 2
TIMEOUT = 30


@contextmanager
def files(
    source: DatasetSource, data_home: str | os.PathLike[str] | None, *, progress: bool
) -> Iterator[list[Path]]:
    """Paths of a data set's files, for reading inside the ``with``.

    Anything wrong with their content becomes a DataFormatError that names the file;
    what was downloaded only now does not stay behind then.
    """
    folder = home(data_home)
    new: list[Path] = []
    found: list[Path] = []
    for file in source.files:
        here = _local(folder, file)
        if not here:
            here = [_downloaded(folder, file, progress=progress)]
            new += here
        found += here
    try:
        yield found
    except DAMAGE as error:
        for path in new:
            path.unlink(missing_ok=True)
        raise _damaged(source, found, error) from error


def home(data_home: str | os.PathLike[str] | None) -> Path:
    """Folder of data sets: the one given, or THREECPO_DATA, or the user's cache."""
    given = data_home or os.environ.get("THREECPO_DATA")
    return Path(given).expanduser() if given else Path(_pooch().os_cache("threecpo"))


def _local(folder: Path, file: Published) -> list[Path]:
    """Paths of the file, or of those that may stand instead, if all are there."""
    for names in ((file.name,), file.instead):
        paths = [folder / name for name in names]
        if paths and all(path.is_file() for path in paths):
            return paths
    return []


def _downloaded(folder: Path, file: Published, *, progress: bool) -> Path:
    pooch = _pooch()
    store = pooch.create(
        path=folder,
        base_url="",
        registry={file.name: file.sha256},
        urls={file.name: file.url},
        retry_if_failed=RETRIES,
    )
    try:
        with ExitStack() as shown:
            downloader = pooch.HTTPDownloader(
                progressbar=_Bar(file.name, shown) if progress else False,
                timeout=TIMEOUT,
                hooks={"response": _close_if_failed},
            )
            return Path(store.fetch(file.name, downloader=downloader))
    except OSError as error:
        # Connections that fail are OSErrors, and so are folders that cannot be written.
        message = (
            f"{file.name} is not in {folder} and cannot be downloaded from {file.url}: "
            f"{error}. Put the file there, or name its folder by THREECPO_DATA."
        )
        raise DataNotFoundError(message) from error
    except ValueError as error:
        message = (
            f"{file.name} from {file.url} is not the file that is expected: its "
            "checksum differs. Try again later, or put the published file in "
            f"{folder} yourself."
        )
        raise DataFormatError(message) from error


def _close_if_failed(response: Any, *_: object, **__: object) -> None:
    """Close a connection that nobody will read from."""
    if not response.ok:
        response.close()


class _Bar:
    """What pooch moves on while it downloads; each try sets ``total``."""

    def __init__(self, name: str, shown: ExitStack) -> None:
        self._name, self._shown = name, shown
        self._advance: Any = None
        self._left = 0

    @property
    def total(self) -> int:
        return self._left

    @total.setter
    def total(self, size: int) -> None:
        self._shown.close()
        self._left = size
        bar = show_progress("Bytes", size, shown=True)
        self._advance = self._shown.enter_context(bar)

    def update(self, size: int) -> None:
        # pooch counts full chunks, and all of it once more at the end.
        steps = min(size, self._left)
        self._left -= steps
        self._advance(steps, self._name)

    def reset(self) -> None:
        """Stay: the last update fills the bar."""

    def close(self) -> None:
        self._shown.close()


def _pooch() -> Any:
    purpose = (
        "Downloading data sets (data_home or THREECPO_DATA may name a folder of files)"
    )
    return require("pooch", "datasets", purpose)


def _damaged(
    source: DatasetSource, paths: list[Path], error: Exception
) -> DataFormatError:
    names = " or ".join(str(path) for path in paths)
    urls = " and ".join(file.url for file in source.files)
    return DataFormatError(
        f"{names} cannot be read as {source.paper_name}: {error}. Delete it and get it "
        f"again from {urls}."
    )
