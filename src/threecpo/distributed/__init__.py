"""Fits of rows that come in blocks: from disk, from Dask, with a memory budget."""

from .._fit.row_files import read_rows
from ._dask import local_client
from ._door import fit
from ._patience import ClusterLostError

__all__ = ["ClusterLostError", "fit", "local_client", "read_rows"]
