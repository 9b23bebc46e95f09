"""Counts with planted clusters, and every container that may hold counts."""

import base64

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp


def planted(n_clusters=3, n_rows=40, n_background=0, seed=0):
    """Counts and true clusters: two C1 columns a cluster, two of C0, two of C-.

    Clusters have different sizes; background rows (label -1) mix all clusters.
    """
    rng = np.random.default_rng(seed)
    sizes = n_rows + 5 * np.arange(n_clusters)[::-1]
    labels = np.repeat(np.arange(-1, n_clusters), [n_background, *sizes])
    rates = np.kron(np.eye(n_clusters), [[13.0, 13.0]]) + 2.0
    rates = np.vstack([rates, rates.mean(axis=0)])
    scales = rng.integers(1, 5, size=(len(labels), 1))
    parts = [
        rng.poisson(scales * rates[labels]),
        rng.poisson(scales * np.array([[6.0, 9.0]])),
        rng.poisson(4.0, size=(len(labels), 2)),
    ]
    return np.hstack(parts), labels


def scattered(shape, n_counts, seed=0):
    """Counts of 1 to 5 at random places; scipy names the seed of its own by version."""
    rng = np.random.default_rng(seed)
    places = tuple(rng.integers(size, size=n_counts) for size in shape)
    counts = rng.integers(1, 6, n_counts).astype(float)
    return sp.csr_array((counts, places), shape=shape)


def names(array):
    return [f"column {j}" for j in range(array.shape[1])]


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def read_only_csr(array):
    matrix = sp.csr_array(array)
    parts = (matrix.data, matrix.indices, matrix.indptr)
    out = sp.csr_array(matrix.shape, dtype=matrix.dtype)
    out.data, out.indices, out.indptr = map(read_only, parts)
    return out


def read_only_unsorted_csr(array):
    matrix = unsorted_csr(array)
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


def indexed(array, indices, indptr, make=sp.csr_array):
    """A matrix whose two index arrays have these types, which scipy would unify."""
    matrix = make(array)
    matrix.indices = matrix.indices.astype(indices)
    matrix.indptr = matrix.indptr.astype(indptr)
    return matrix


def wide_coo(array):
    matrix = sp.coo_array(array)
    matrix.coords = tuple(part.astype(np.int64) for part in matrix.coords)
    return matrix


def duplicated_coo(array, dtype=np.float64):
    """Every count above 1 as two entries; their sum may exceed a narrow type."""
    matrix = sp.coo_array(array)
    half = matrix.data // 2
    data = np.concatenate([half, matrix.data - half]).astype(dtype)
    row, column = (np.tile(part, 2) for part in matrix.coords)
    return sp.coo_array((data, (row, column)), shape=array.shape)


def duplicated_csr(array, dtype=np.float64, make=sp.csr_array):
    """Every entry twice in a row, as a caller's own arrays may have it."""
    matrix = make(array)
    half = matrix.data // 2
    data = np.stack([half, matrix.data - half], axis=1).ravel().astype(dtype)
    parts = (data, np.repeat(matrix.indices, 2), 2 * matrix.indptr)
    return make(parts, shape=array.shape)


def unsorted_csr(array, make=sp.csr_array):
    matrix = make(array)
    for start, stop in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        for part in (matrix.indices, matrix.data):
            part[start:stop] = part[start:stop][::-1].copy()
    parts = (matrix.data, matrix.indices, matrix.indptr)
    return make(parts, shape=array.shape)


def with_explicit_zeros(array, make=sp.csr_array):
    matrix = make(np.ones_like(array))
    order = "C" if matrix.format == "csr" else "F"
    matrix.data = array.ravel(order=order).astype(np.float64)
    return matrix


def with_spare_room(array):
    """Index and data arrays that are longer than the last row pointer says."""
    matrix = sp.csr_array(array)
    matrix.data = np.append(matrix.data, [7, 7, 7])
    matrix.indices = np.append(matrix.indices, [0, 0, 0])
    return matrix


def sparse_frame(array):
    matrix = sp.csc_matrix(array)
    return pd.DataFrame.sparse.from_spmatrix(matrix, columns=names(array))


DENSE = {
    "C order": np.ascontiguousarray,
    "F order": np.asfortranarray,
    "every second row": lambda array: np.repeat(array, 2, axis=0)[::2],
    "uint8": lambda array: array.astype(np.uint8),
    "int16": lambda array: array.astype(np.int16),
    "uint16": lambda array: array.astype(np.uint16),
    "int32": lambda array: array.astype(np.int32),
    "int64": lambda array: array.astype(np.int64),
    "uint64": lambda array: array.astype(np.uint64),
    "float16": lambda array: array.astype(np.float16),
    "float32": lambda array: array.astype(np.float32),
    "float64": lambda array: array.astype(np.float64),
    "longdouble": lambda array: array.astype(np.longdouble),
    "big-endian": lambda array: array.astype(">i4"),
    "object": lambda array: array.astype(object),
    "read-only": read_only,
    "list": lambda array: array.tolist(),
    "tuple of arrays": tuple,
}
FRAMES = {
    "pandas": lambda array: pd.DataFrame(array, columns=names(array)),
    "pandas nullable": lambda array: pd.DataFrame(array, columns=names(array)).astype(
        "Int64"
    ),
    "pandas sparse": sparse_frame,
    "polars": lambda array: pl.DataFrame(array, schema=names(array)),
}
SPARSE = {
    "csr array": sp.csr_array,
    "csr matrix": sp.csr_matrix,
    "csc array": sp.csc_array,
    "csc matrix": sp.csc_matrix,
    "coo array": sp.coo_array,
    "coo matrix": sp.coo_matrix,
    "lil array": sp.lil_array,
    "bsr array": sp.bsr_array,
    "dok array": sp.dok_array,
    "csr uint8": lambda array: sp.csr_array(array.astype(np.uint8)),
    "csr float32": lambda array: sp.csr_matrix(array.astype(np.float32)),
    "csr 64-bit": lambda array: indexed(array, np.int64, np.int64),
    "csr 32/64-bit": lambda array: indexed(array, np.int32, np.int64),
    "csr 64/32-bit": lambda array: indexed(array, np.int64, np.int32),
    "csr matrix 32/64-bit": lambda array: indexed(
        array, np.int32, np.int64, sp.csr_matrix
    ),
    "csc 64-bit": lambda array: indexed(array, np.int64, np.int64, sp.csc_array),
    "csc 32/64-bit": lambda array: indexed(array, np.int32, np.int64, sp.csc_array),
    "coo 64-bit": wide_coo,
    "csr read-only": read_only_csr,
    "csr read-only unsorted": read_only_unsorted_csr,
    "coo duplicates": duplicated_coo,
    "coo uint8 duplicates": lambda array: duplicated_coo(array, np.uint8),
    "csr duplicates": duplicated_csr,
    "csr uint8 duplicates": lambda array: duplicated_csr(array, np.uint8),
    "csc uint8 duplicates": lambda array: duplicated_csr(array, np.uint8, sp.csc_array),
    "csr unsorted": unsorted_csr,
    "csc unsorted": lambda array: unsorted_csr(array, sp.csc_array),
    "csr explicit zeros": with_explicit_zeros,
    "csc explicit zeros": lambda array: with_explicit_zeros(array, sp.csc_matrix),
}
CONTAINERS = DENSE | FRAMES | SPARSE

# Types that cannot hold a count above 255 whole.
NARROW = {"uint8", "csr uint8", "float16"}


def buffers(container):
    """The arrays that a container consists of."""
    if isinstance(container, np.ndarray):
        return [container]
    if isinstance(container, list | tuple):
        return [np.array(container)]
    if isinstance(container, pd.DataFrame | pl.DataFrame):
        return [container.to_numpy()]
    if container.format in ("lil", "dok"):
        return [container.toarray()]
    if container.format == "coo":
        return [container.data, *container.coords]
    return [container.data, container.indices, container.indptr]


def snapshot(container):
    """Type, dtypes and bytes of all that a caller could see changed."""
    kinds = [(part.dtype.str, part.shape) for part in buffers(container)]
    contents = [part.tolist() for part in buffers(container)]
    return type(container), getattr(container, "format", None), kinds, contents


def write_matrix(path, n_rows=60, n_columns=64, *, names=True):
    """An .npz file of three clusters of counts."""
    rng = np.random.default_rng(0)
    labels = np.arange(n_rows) % 3
    rates = rng.gamma(1.0, 4.0, size=(3, n_columns))
    X = sp.csr_array(rng.poisson(rates[labels]))
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    if names:
        parts["feature_names"] = np.array([f"word {j}" for j in range(n_columns)])
        parts["label_names"] = np.array(["first", "second", "third"])
    np.savez(path, shape=np.array(X.shape), labels=labels, **parts)
    return path


def kinds_of(table):
    """Types of the columns of a table, as ``read_table`` takes them."""
    return {name: np.asarray(table[name]).dtype for name in table}


def unpacked(text):
    """Numbers of a report, as its scripts read them; NaN for no number."""
    codes = np.frombuffer(base64.b64decode(text), dtype="<u2").tolist()
    return np.array(
        [
            np.nan if code == 0xFFFF else float(f"{code >> 6}e{(code & 63) - 32}")
            for code in codes
        ]
    )
