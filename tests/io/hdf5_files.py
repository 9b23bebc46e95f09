"""Small files of AnnData and BIOM, as strangers might change them."""

import numpy as np
import pytest
import scipy.sparse as sp

h5py = pytest.importorskip("h5py")

Y = np.array([[3.0, 0, 1], [0, 5, 0]], dtype=np.float32)
TEXT = h5py.string_dtype()


def encoded(item, kind, version):
    item.attrs["encoding-type"] = kind
    item.attrs["encoding-version"] = version
    return item


def write_frame(file, name, size, categories=None):
    frame = encoded(file.create_group(name), "dataframe", "0.2.0")
    frame.attrs["_index"] = "_index"
    frame.attrs["column-order"] = np.array(["kind"] if categories else [], dtype=TEXT)
    frame["_index"] = np.array([f"{name}{i}" for i in range(size)], dtype=TEXT)
    encoded(frame["_index"], "string-array", "0.2.0")
    if categories:
        group = encoded(frame.create_group("kind"), "categorical", "0.2.0")
        group.attrs["ordered"] = False
        group["codes"] = np.zeros(size, dtype=np.int8)
        group["categories"] = np.array(categories, dtype=TEXT)
        encoded(group["categories"], "string-array", "0.2.0")


def write_sparse(file, name):
    matrix = sp.csr_matrix(Y)
    group = encoded(file.create_group(name), "csr_matrix", "0.1.0")
    group.attrs["shape"] = Y.shape
    for part in ("data", "indices", "indptr"):
        group[part] = getattr(matrix, part)


def write_h5ad(path):
    """A file as anndata writes it, with every object that may be read."""
    with h5py.File(path, "w") as file:
        for name in ("X", "layers/more", "raw/X"):
            write_sparse(file, name)
        file["layers/dense"] = Y
        write_frame(file, "obs", 2, ["a", "b"])
        write_frame(file, "var", 3)
        write_frame(file, "raw/var", 3)


def write_biom(path):
    matrix = sp.csr_matrix(Y)
    with h5py.File(path, "w") as file:
        for part in ("data", "indices", "indptr"):
            file[f"sample/matrix/{part}"] = getattr(matrix, part)
        file["sample/ids"] = np.array(["s1", "s2"], dtype=TEXT)
        file["observation/ids"] = np.array(["o1", "o2", "o3"], dtype=TEXT)


def written(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    (write_h5ad if kind == "h5ad" else write_biom)(path)
    return path


def replace(path, place, make):
    with h5py.File(path, "r+") as file:
        old = file[place]
        attributes = dict(old.attrs)
        is_group = isinstance(old, h5py.Group)
        values = None if is_group else old[:]
        del file[place]
        make(file, values)
        if not is_group and place in file and isinstance(file[place], h5py.Dataset):
            file[place].attrs.update(attributes)
