"""HDF5 files of strangers: they read no other file, and do not hang or crash us."""

import numpy as np
import pytest
import scipy.sparse as sp

from threecpo import read_counts
from threecpo.io import DataFormatError
from threecpo.io.blocks import open_blocks

h5py = pytest.importorskip("h5py")

from hdf5_files import TEXT, Y, replace, write_h5ad, written  # noqa: E402

# A group, an array, names and what options ask for.
PLACES = [
    ("h5ad", "X", {}),
    ("h5ad", "X/data", {}),
    ("h5ad", "obs/_index", {}),
    ("h5ad", "layers/dense", {"layer": "dense"}),
    ("h5ad", "raw/var/_index", {"layer": "raw"}),
    ("h5ad", "obs/kind/codes", {"labels": "kind"}),
    ("biom", "sample/matrix/indptr", {}),
    ("biom", "observation/ids", {}),
]
ARRAYS = [
    ("h5ad", "X/indptr", {}),
    ("h5ad", "layers/dense", {"layer": "dense"}),
    ("biom", "sample/matrix/data", {}),
]
NAMES = [("h5ad", "obs/kind/categories", {"labels": "kind"})]


@pytest.fixture
def secret(tmp_path):
    """Another file of this machine, with the same objects and other counts."""
    path = tmp_path / "secret.h5"
    write_h5ad(path)
    with h5py.File(path, "r+") as file:
        file.move("raw", "kept")
        matrix = sp.csr_matrix(7 * Y)
        for part in ("data", "indices", "indptr"):
            file[f"sample/matrix/{part}"] = getattr(matrix, part)
        file["sample/ids"] = np.array(["t1", "t2"], dtype=TEXT)
        file["observation/ids"] = np.array(["t1", "t2", "t3"], dtype=TEXT)
        file.move("kept", "raw")
    return path


@pytest.mark.parametrize(("kind", "place", "options"), PLACES)
def test_links_to_other_files_are_refused(kind, place, options, tmp_path, secret):
    path = written(tmp_path, kind)
    assert read_counts(path, **options).shape == Y.shape

    def link(file, _):
        file[place] = h5py.ExternalLink(str(secret), f"/{place}")

    replace(path, place, link)
    with pytest.raises(DataFormatError, match=f"/{place}.*link to another file"):
        read_counts(path, **options)


def test_a_link_inside_to_a_link_outside_is_refused(tmp_path, secret):
    path = written(tmp_path, "h5ad")

    def link(file, _):
        file["door"] = h5py.ExternalLink(str(secret), "/")
        file["X"] = h5py.SoftLink("/door/X")

    replace(path, "X", link)
    with pytest.raises(DataFormatError, match="link to another file"):
        read_counts(path)


@pytest.mark.parametrize(("kind", "place", "options"), ARRAYS)
def test_values_in_other_files_are_refused(kind, place, options, tmp_path):
    path = written(tmp_path, kind)
    other = tmp_path / "other.bin"

    def outside(file, values):
        other.write_bytes(values.tobytes())
        stored = [(str(other), 0, h5py.h5f.UNLIMITED)]
        file.create_dataset(place, values.shape, values.dtype, external=stored)

    replace(path, place, outside)
    with pytest.raises(DataFormatError, match=f"/{place} holds its values in other"):
        read_counts(path, **options)


@pytest.mark.parametrize(("kind", "place", "options"), [*ARRAYS, *NAMES])
def test_virtual_data_sets_are_refused(kind, place, options, tmp_path, secret):
    path = written(tmp_path, kind)

    def virtual(file, values):
        dtype = values.dtype if values.dtype != object else TEXT
        layout = h5py.VirtualLayout(values.shape, dtype)
        layout[:] = h5py.VirtualSource(secret, place, values.shape, dtype)
        file.create_virtual_dataset(place, layout)

    replace(path, place, virtual)
    with pytest.raises(DataFormatError, match=f"/{place} holds its values in other"):
        read_counts(path, **options)


def test_links_inside_a_file_are_followed(tmp_path):
    path = written(tmp_path, "h5ad")
    with h5py.File(path, "r+") as file:
        file.move("X", "stored")
        file["X"] = h5py.SoftLink("/stored")
        file.move("obs/_index", "stored/names")
        file["obs/_index"] = h5py.SoftLink("/stored/names")
    table = read_counts(path)
    np.testing.assert_array_equal(table.X.toarray(), Y)
    assert table.row_names.tolist() == ["obs0", "obs1"]


@pytest.mark.parametrize("target", ["/Z", "/layers/../X", "nowhere"])
def test_links_in_circles_and_to_nowhere_are_refused(target, tmp_path):
    path = written(tmp_path, "h5ad")
    with h5py.File(path, "r+") as file:
        del file["X"]
        file["X"] = h5py.SoftLink(target)
        file["Z"] = h5py.SoftLink("/X")
    with pytest.raises(DataFormatError, match=r"too many links|it lacks /X"):
        read_counts(path)


def test_the_column_of_names_is_one_of_the_frame(tmp_path):
    path = written(tmp_path, "h5ad")
    for name in ("../var/_index", "/var/_index", "kind/categories", "", "x"):
        with h5py.File(path, "r+") as file:
            file["obs"].attrs["_index"] = name
        with pytest.raises(DataFormatError, match="which of its columns"):
            read_counts(path)


def test_blocks_follow_no_links_either(tmp_path, secret):
    path = written(tmp_path, "h5ad")
    with h5py.File(path, "r+") as file:
        del file["X"]
        file["X"] = h5py.ExternalLink(str(secret), "/X")
    with (
        pytest.raises(DataFormatError, match="link to another file"),
        open_blocks(path),
    ):
        pass
