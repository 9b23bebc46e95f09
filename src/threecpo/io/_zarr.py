"""zarr: one matrix of an AnnData in a folder; the others stay on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _anndata_elements as elements
from ._h5ad import content_of
from .guarded import open_zarr
from .limits import limit_for
from .zarr_folders import size_of_folder

if TYPE_CHECKING:
    from pathlib import Path

    from ._file_content import FileContent
    from .format_options import ReadOptions


def read(path: Path, options: ReadOptions) -> FileContent:
    limit = limit_for(size_of_folder(path), options.max_unpacked)
    with open_zarr(path, limit) as file:
        elements.check_anndata(file)
        return content_of(file, elements.choose_matrix(file, options.layer), options)
