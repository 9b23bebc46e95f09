"""HDF5 files and zarr folders of strangers: they lead nowhere else and run nothing."""

import json
import os
import pickle
import struct
import warnings

import anndata
import h5py
import numpy as np
import pytest
import scipy.sparse as sp
from odd_readers import end_processes
from tables import refused

from model_files import Planted
from threecpo import read_counts
from threecpo.io import DataFormatError, limits
from threecpo.io import isolated as process
from threecpo.io.blocks import open_blocks

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
    refused(path, f"/{place}.*link to another file", **options)


def test_a_link_inside_to_a_link_outside_is_refused(tmp_path, secret):
    path = written(tmp_path, "h5ad")

    def link(file, _):
        file["door"] = h5py.ExternalLink(str(secret), "/")
        file["X"] = h5py.SoftLink("/door/X")

    replace(path, "X", link)
    refused(path, "link to another file")


@pytest.mark.parametrize(("kind", "place", "options"), ARRAYS)
def test_values_in_other_files_are_refused(kind, place, options, tmp_path):
    path = written(tmp_path, kind)
    other = tmp_path / "other.bin"

    def outside(file, values):
        other.write_bytes(values.tobytes())
        stored = [(str(other), 0, h5py.h5f.UNLIMITED)]
        file.create_dataset(place, values.shape, values.dtype, external=stored)

    replace(path, place, outside)
    refused(path, f"/{place} holds its values in other", **options)


@pytest.mark.parametrize(("kind", "place", "options"), [*ARRAYS, *NAMES])
def test_virtual_data_sets_are_refused(kind, place, options, tmp_path, secret):
    path = written(tmp_path, kind)

    def virtual(file, values):
        dtype = values.dtype if values.dtype != object else TEXT
        layout = h5py.VirtualLayout(values.shape, dtype)
        layout[:] = h5py.VirtualSource(secret, place, values.shape, dtype)
        file.create_virtual_dataset(place, layout)

    replace(path, place, virtual)
    refused(path, f"/{place} holds its values in other", **options)


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
    refused(path, r"too many links|it lacks /X")


def test_the_column_of_names_is_one_of_the_frame(tmp_path):
    path = written(tmp_path, "h5ad")
    for name in ("../var/_index", "/var/_index", "kind/categories", "", "x"):
        with h5py.File(path, "r+") as file:
            file["obs"].attrs["_index"] = name
        refused(path, "which of its columns")


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


def test_a_file_that_makes_libhdf5_spin_ends_in_our_error(tmp_path, monkeypatch):
    path = written(tmp_path, "h5ad")
    content = bytearray(path.read_bytes())
    # The size of the first text, behind the head of the list and its own number:
    # libhdf5 (2.0) walks such a list for ever.
    struct.pack_into("<q", content, content.index(b"GCOL") + 16 + 8, 2600)
    path.write_bytes(content)
    monkeypatch.setattr(limits, "SECONDS", 0.5)
    refused(path, r"t\.h5ad.*damaged")
    monkeypatch.undo()
    assert read_counts(written(tmp_path, "h5ad")).shape == Y.shape


def test_the_file_is_not_kept_open(tmp_path):
    path = written(tmp_path, "h5ad")
    read_counts(path)
    with h5py.File(path, "r+") as file:
        file["X/data"][0] = 9
    assert read_counts(path).X[0, 0] == 9


def written_zarr(folder, zarr_format=2):
    zarr_path = folder / "t.zarr"
    with (
        warnings.catch_warnings(action="ignore"),
        anndata.settings.override(zarr_write_format=zarr_format),
    ):
        anndata.AnnData(sp.csr_matrix(Y)).write_zarr(zarr_path)
    # Each object then says itself what it is.
    (zarr_path / ".zmetadata").unlink(missing_ok=True)
    root = zarr_path / "zarr.json"
    if root.exists():
        about = json.loads(root.read_text())
        about.pop("consolidated_metadata", None)
        root.write_text(json.dumps(about))
    return zarr_path


@pytest.fixture(params=[2, 3])
def zarr_path(request, tmp_path):
    return written_zarr(tmp_path, request.param)


def read_all(zarr_path):
    with open_blocks(zarr_path) as source:
        return np.vstack([read().matrix().toarray() for read in source.readers])


def refused_in_blocks(zarr_path, reason):
    with pytest.raises(DataFormatError, match=reason):
        read_all(zarr_path)


def test_links_in_zarr_are_refused(zarr_path, tmp_path):
    place = "X/data"
    np.testing.assert_array_equal(read_all(zarr_path), Y)
    (zarr_path / place).rename(tmp_path / "elsewhere")
    (zarr_path / place).symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    refused_in_blocks(zarr_path, f"{place} is a link or a device")


@pytest.mark.parametrize(
    ("place", "length"), [("var/_index", 1 << 53), ("X/indptr", 1 << 20)]
)
def test_many_chunks_that_lack_are_refused(place, length, zarr_path, monkeypatch):
    monkeypatch.setattr(limits, "SECONDS", 0.5)
    name = next(n for n in ("zarr.json", ".zarray") if (zarr_path / place / n).exists())
    about = json.loads((zarr_path / place / name).read_text())
    about["shape"] = [length]
    (zarr_path / place / name).write_text(json.dumps(about))
    refused_in_blocks(zarr_path, r"unpacks to more|processor time")


@pytest.mark.parametrize("what", ["link", "pipe"])
def test_chunks_are_files(what, zarr_path, tmp_path):
    chunk = max(
        (file for file in (zarr_path / "X" / "data").rglob("*") if file.is_file()),
        key=lambda file: file.name.isdecimal(),
    )
    chunk.rename(tmp_path / "chunk")
    if what == "link":
        chunk.symlink_to(tmp_path / "chunk")
    else:
        os.mkfifo(chunk)
    refused_in_blocks(zarr_path, "is a link or a device")


@pytest.mark.parametrize(
    ("codec", "place"), [("filters", "var/_index"), ("compressor", "X/data")]
)
def test_no_codec_unpickles(codec, place, tmp_path, monkeypatch):
    # Earlier versions of numcodecs allow it without being asked.
    monkeypatch.setenv("NUMCODECS_ALLOW_UNSAFE_PICKLE_DECODE", "1")
    end_processes()
    zarr_path, mark = written_zarr(tmp_path), tmp_path / "mark"
    about = json.loads((zarr_path / place / ".zarray").read_text())
    planted = {"id": "pickle"}
    about["compressor"] = None if codec == "filters" else planted
    if codec == "filters":
        about["filters"] = [*(about["filters"] or []), planted]
    (zarr_path / place / ".zarray").write_text(json.dumps(about))
    (zarr_path / place / "0").write_bytes(pickle.dumps(Planted(mark)))
    refused_in_blocks(zarr_path, r"t\.zarr")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("shape", "chunks"), [([10**12], [10**12]), ([-5], [3]), ([3], [0])]
)
def test_metadata_that_lies_is_refused(shape, chunks, tmp_path):
    zarr_path = written_zarr(tmp_path)
    for name in ("data", "indices"):
        file = zarr_path / "X" / name / ".zarray"
        about = json.loads(file.read_text()) | {"shape": shape, "chunks": chunks}
        file.write_text(json.dumps(about))
    refused_in_blocks(zarr_path, r"t\.zarr")


def test_large_metadata_are_refused(zarr_path):
    name = "zarr.json" if (zarr_path / "zarr.json").exists() else ".zgroup"
    with (zarr_path / name).open("a") as file:
        file.truncate(1 << 27)
    refused_in_blocks(zarr_path, "unpacks to more than 67108864 bytes")


def test_the_limit_of_one_file_does_not_hinder_the_next(zarr_path, monkeypatch):
    end_processes()
    with monkeypatch.context() as patch:
        patch.setattr(process, "SPARE_ROOM", 1 << 22)
        patch.setenv("THREECPO_MAX_UNPACKED", "1MB")
        # This is too little for most files, and for h5py to be loaded.
        refused_in_blocks(zarr_path, "unpacks to more than")
    read_all(zarr_path)


def test_a_table_is_looked_at_before_anything_is_opened(zarr_path, tmp_path):
    refused(zarr_path, "unpacks to more than 10 bytes", max_unpacked=10)
    (zarr_path / "link").symlink_to(tmp_path)
    refused(zarr_path, "link is a link or a device")
