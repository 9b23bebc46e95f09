"""The files of a data set: on this machine or downloaded, and parsed once if slow."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from threecpo._core.counts import Counts
from threecpo._core.matrices import from_sparse
from threecpo._writing import replaced, write_arrays
from threecpo.io import DataFormatError

from .archives import DAMAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .registry import DatasetSource, Published

    Home = str | os.PathLike[str] | None
    Parsed = dict[str, Any]

RETRIES = 2
TIMEOUT = 30
# Of what was parsed; counted up whenever a rule of a data set changes.
VERSION = 2
_NAMES = ("row_names", "column_names", "label_names", "row_titles")


class DataNotFoundError(OSError):
    """A data set is neither on this machine nor to be had from its home."""


@contextmanager
def source_files(source: DatasetSource, data_home: Home) -> Iterator[list[Path]]:
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
            here = [_downloaded(folder, file)]
            new += here
        found += here
    try:
        yield found
    except DAMAGE as error:
        for path in new:
            path.unlink(missing_ok=True)
        raise _damaged(source, found, error) from error


def home(data_home: Home) -> Path:
    """Folder of data sets: the one given, or THREECPO_DATA, or the user's cache."""
    given = data_home or os.environ.get("THREECPO_DATA")
    return Path(given).expanduser() if given else Path(_pooch().os_cache("threecpo"))


def missing_files(source: DatasetSource) -> list[str]:
    """Names of the files of a data set that would have to be downloaded."""
    try:
        folder = home(None)
    except ImportError:
        return [file.name for file in source.files]
    return [file.name for file in source.files if not _local(folder, file)]


def _local(folder: Path, file: Published) -> list[Path]:
    """Paths of the file, or of those that may stand instead, if all are there."""
    for names in ((file.name,), file.instead):
        paths = [folder / name for name in names]
        if paths and all(path.is_file() for path in paths):
            return paths
    return []


def _downloaded(folder: Path, file: Published) -> Path:
    pooch = _pooch()
    store = pooch.create(
        path=folder,
        base_url="",
        registry={file.name: file.sha256},
        urls={file.name: file.url},
        retry_if_failed=RETRIES,
    )
    try:
        hooks = {"response": _close_if_failed}
        downloader = pooch.HTTPDownloader(timeout=TIMEOUT, hooks=hooks)
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


def _pooch() -> Any:
    try:
        import pooch
    except ImportError as error:
        message = (
            "Downloading data sets needs pooch: pip install --group paper. Or name a "
            "folder of the files by data_home or THREECPO_DATA."
        )
        raise ImportError(message, name="pooch") from error
    return pooch


def _damaged(
    source: DatasetSource, paths: list[Path], error: Exception
) -> DataFormatError:
    names = " or ".join(str(path) for path in paths)
    urls = " and ".join(file.url for file in source.files)
    return DataFormatError(
        f"{names} cannot be read as {source.paper_name}: {error}. Delete it and get it "
        f"again from {urls}."
    )


def remembered(
    name: str, paths: list[Path], options: dict[str, Any], parse: Callable[[], Parsed]
) -> Parsed:
    """Return what ``parse`` returned before for these files, options and version."""
    kept = paths[0].with_name(f"{name}.parsed.npz")
    stamps = [[path.name, *_size_and_time(path)] for path in paths]
    key = json.dumps([VERSION, stamps, options])
    parsed = _read(kept, key)
    if parsed is None:
        parsed = parse()
        if not isinstance(parsed["X"], Counts):
            parsed["X"] = from_sparse(parsed["X"])
        _write(kept, key, parsed)
    return parsed


def _size_and_time(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _read(path: Path, key: str) -> Parsed | None:
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            header = json.loads(file["header"].tobytes())
            if header["key"] != key:
                return None
            parts = (file["data"], file["indices"], file["indptr"])
            X = from_sparse(sp.csr_array(parts, shape=tuple(header["shape"])))
            names = {field: header["names"].get(field) for field in _NAMES}
            return {"X": X, "labels": file["labels"], **names}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        # Whatever is wrong with it, the data set itself is still there.
        return None


def _write(path: Path, key: str, parsed: Parsed) -> None:
    """Write beside, then rename; a folder that is not for writing stays as it is."""
    # Root may write everywhere, so the folder's own mode decides.
    if not path.parent.stat().st_mode & 0o222:
        return
    X: Counts = parsed["X"]
    names = {field: list(parsed[field]) for field in _NAMES if field in parsed}
    header = json.dumps({"key": key, "shape": X.shape, "names": names}).encode()
    arrays = {
        "header": np.frombuffer(header, dtype=np.uint8),
        "data": X.values(),
        "indices": X.indices,
        "indptr": X.indptr,
        "labels": parsed["labels"],
    }
    # What cannot be kept is parsed all the same.
    with suppress(OSError), replaced(path) as beside, beside.open("xb") as file:
        write_arrays(file, arrays)
