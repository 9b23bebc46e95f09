"""Sparse matrices whose arrays contradict each other or their shape.

scipy checks arrays when a matrix is made, so most of these are changed afterwards, as a
careless program, a foreign library or a file may leave them.
"""

import numpy as np
import scipy.sparse as sp

N_ROWS, N_COLUMNS = 30, 8
WRAPS_TO_ONE = (1 << 32) + 1
BEYOND = 50_000_000


def sound():
    """Counts of two clusters, in which every row has several columns."""
    rng = np.random.default_rng(0)
    rates = np.where(np.arange(N_ROWS)[:, None] % 2 == np.arange(N_COLUMNS) % 2, 9, 1)
    return rng.poisson(rates) + 1.0 * (rng.random((N_ROWS, N_COLUMNS)) < 0.5)


def made(kind, bits, **changes):
    """A matrix of 32-bit or 64-bit indices with some of its arrays changed."""
    matrix = kind(sound())
    index = {32: np.int32, 64: np.int64}[bits]
    names = ("row", "col") if matrix.format == "coo" else ("indptr", "indices")
    arrays = {name: getattr(matrix, name).astype(index) for name in names}
    arrays["data"] = matrix.data.copy()
    for name, change in changes.items():
        changed = change(arrays[name])
        arrays[name] = arrays[name] if changed is None else changed
    if matrix.format == "coo":
        matrix.coords = (arrays.pop("row"), arrays.pop("col"))
    for name, array in arrays.items():
        setattr(matrix, name, array)
    return matrix


def put(place, value):
    """Change one entry of an array."""

    def change(array):
        array[place] = value

    return change


def cut(length):
    return lambda array: array[:length]


def zeros_from(place):
    """Pointers that end in 0, for which scipy checks no indices."""

    def change(array):
        array[place:] = 0

    return change


def one_turn_more(place):
    """An index that cut to 32 bits is the right one."""

    def change(array):
        array[place] += 1 << 32

    return change


POINTERS = {
    "fall": {"indptr": put(3, 200)},
    "fall below 0": {"indptr": put(3, -7)},
    "start at 2": {"indptr": put(0, 2)},
    "start below 0": {"indptr": put(0, -5)},
    "end beyond the arrays": {"indptr": put(-1, BEYOND)},
    "end below 0": {"indptr": put(-1, -1)},
    "lie in the middle and end in 0": {"indptr": zeros_from(4)},
    "lie far out and end in 0": {
        "indptr": lambda array: np.r_[0, BEYOND, 0 * array[2:]].astype(array.dtype)
    },
    "are one too few": {"indptr": cut(-1)},
    "are none": {"indptr": cut(0)},
}
INDICES = {
    "negative": {"indices": put(5, -1)},
    "far below 0": {"indices": put(5, -BEYOND)},
    "one too large": {"indices": put(5, N_ROWS)},
    "far too large": {"indices": put(5, BEYOND)},
    "last one too large": {"indices": put(-1, BEYOND)},
    "too few": {"indices": cut(20)},
    "of two dimensions": {"indices": lambda array: array[:, None]},
}
WIDE_INDICES = {
    "wrap round to 1": {"indices": put(5, WRAPS_TO_ONE)},
    "wrap round from below": {"indices": put(5, 1 - (1 << 32))},
    "wrap round to where they were": {"indices": one_turn_more(5)},
}
VALUES = {
    "too few values": {"data": cut(20)},
    "NaN": {"data": put(7, np.nan)},
    "infinity": {"data": put(7, np.inf)},
    "minus infinity": {"data": put(7, -np.inf)},
}
ENTRIES = {
    "row below 0": {"row": put(5, -1)},
    "row too large": {"row": put(5, BEYOND)},
    "column below 0": {"col": put(5, -BEYOND)},
    "column too large": {"col": put(5, N_COLUMNS)},
    "too few rows": {"row": cut(20)},
    "too few columns": {"col": cut(20)},
    **VALUES,
}
WIDE_ENTRIES = {
    "row wraps round": {"row": put(5, WRAPS_TO_ONE)},
    "column wraps round": {"col": put(5, WRAPS_TO_ONE)},
    "row wraps round to where it was": {"row": one_turn_more(5)},
}


def _cases():
    compressed = {**POINTERS, **INDICES, **VALUES}
    kinds = {"csr": sp.csr_array, "csr matrix": sp.csr_matrix, "csc": sp.csc_array}
    for name, kind in kinds.items():
        for bits in (32, 64):
            more = WIDE_INDICES if bits == 64 else {}
            for case, changes in {**compressed, **more}.items():
                yield f"{name} of {bits} bits, {case}", (kind, bits, changes)
    for bits in (32, 64):
        more = WIDE_ENTRIES if bits == 64 else {}
        for case, changes in {**ENTRIES, **more}.items():
            yield f"coo of {bits} bits, {case}", (sp.coo_matrix, bits, changes)


CASES = dict(_cases())


def damaged(case):
    kind, bits, changes = CASES[case]
    return made(kind, bits, **changes)


def _blocks():
    matrix = sp.bsr_array(sound(), blocksize=(2, 2))
    matrix.indptr[3] = 1000
    return matrix


def _lists():
    matrix = sp.lil_array(sound())
    matrix.data[2] = [*matrix.data[2], 1.0, 2.0, 3.0]
    return matrix


def _list_beyond():
    matrix = sp.lil_array(sound())
    matrix.rows[2][0] = BEYOND
    return matrix


def _shape():
    matrix = sp.csr_array(sound())
    matrix._shape = (N_ROWS, 2)
    return matrix


def _more_rows():
    matrix = sp.csr_array(sound())
    matrix._shape = (N_ROWS * 1000, N_COLUMNS)
    return matrix


def _dia(**changes):
    matrix = sp.dia_array(sound())
    for name, change in changes.items():
        setattr(matrix, name, change(getattr(matrix, name)))
    return matrix


def _dok(place):
    matrix = sp.dok_array(sound())
    matrix._dict[place] = 1.0
    return matrix


def _list_wraps():
    matrix = sp.lil_array(sound())
    matrix.rows[2][0] = WRAPS_TO_ONE
    return matrix


OTHERS = {
    "dia, fewer diagonals than offsets": lambda: _dia(data=cut(2)),
    "dia, offsets of two dimensions": lambda: _dia(offsets=lambda a: a[:, None]),
    "dia, diagonals of one dimension": lambda: _dia(data=np.ravel),
    "dok, column wraps round": lambda: _dok((0, WRAPS_TO_ONE)),
    "dok, row below 0": lambda: _dok((-1, 0)),
    "lil, column wraps round": _list_wraps,
    "bsr, pointers fall": _blocks,
    "lil, other numbers of columns and values": _lists,
    "lil, column too large": _list_beyond,
    "csr, fewer columns": _shape,
    "csr, more rows": _more_rows,
}
