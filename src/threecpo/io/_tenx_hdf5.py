"""10x matrices in HDF5: of Cell Ranger 2 and 3, and as CellBender writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core.matrices import from_sparse
from ._file_content import FileContent
from ._h5ad import matrix_of
from ._tenx import gene_names
from .isolated import gathered, isolated, tenx
from .regular_files import limits_of

if TYPE_CHECKING:
    from pathlib import Path

    from .format_options import ReadOptions


def read(path: Path, options: ReadOptions) -> FileContent:
    limits = limits_of(path, options.max_unpacked)
    found = gathered(isolated(tenx.read, path, limits, "h5py", layer=options.layer))
    X, taken = matrix_of(found), found["taken"]
    genes = gene_names(found["ids"], found["symbols"])
    if taken is not None:
        # Selecting columns trusts indices, which are checked on the way.
        X, genes = from_sparse(X).matrix()[:, taken], [genes[j] for j in taken]
    return FileContent(X, found["rows"], genes, description=found["called"])
