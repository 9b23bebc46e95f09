"""Readers of strangers' bytes that run in a process of their own, with limits.

Compiled parsers can crash, never return or unpack without end on a damaged file: HDF5,
the codecs of zarr, spreadsheets. The whole reader of such a file runs in a child, which
sends what it found over a pipe and ends. ``process`` is the caller's side; all other
modules run in the child and import nothing but each other, numpy, ``threecpo._errors``
and their library, so that a child starts in 0.15 s.
"""

from .process import gathered, isolated

__all__ = ["gathered", "isolated"]
