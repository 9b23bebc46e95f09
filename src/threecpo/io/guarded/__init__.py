"""HDF5 files, zarr folders and workbooks, read by a process that can be ended.

A damaged file can make libhdf5 work for ever, where not even Ctrl-C reaches it, crash,
or unpack without end. So a process of its own reads, and sends what it finds over a
pipe; the system ends it after some seconds of processor time in one call of the
library, bounds its memory and keeps it from writing files. A second parser of HDF5
would be large and no safer; the process costs 0.15 s once, and is used again.

``serving``, ``fences``, ``pieces``, ``hdf5_objects``, ``zarr_objects`` and
``sheet_objects`` run there. They import each other, numpy and the library, and nothing
else of this package.
"""

from .file import Array, Group, open_hdf5, open_sheets, open_zarr

__all__ = ["Array", "Group", "open_hdf5", "open_sheets", "open_zarr"]
