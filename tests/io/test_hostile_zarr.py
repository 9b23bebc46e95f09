"""zarr folders of strangers: they lead nowhere else and run nothing."""

import json
import os
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from odd_readers import end_processes
from tables import Planted

from threecpo.io import DataFormatError, limits
from threecpo.io import isolated as process
from threecpo.io.blocks import open_blocks

zarr = pytest.importorskip("zarr")
anndata = pytest.importorskip("anndata")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")

Y = np.array([[3.0, 0, 1], [0, 5, 0]], dtype=np.float32)


@pytest.fixture(params=[2, 3])
def path(request, tmp_path, monkeypatch):
    path = tmp_path / "t.zarr"
    with anndata.settings.override(zarr_write_format=request.param):
        anndata.AnnData(sp.csr_matrix(Y)).write_zarr(path)
    # Each object then says itself what it is.
    (path / ".zmetadata").unlink(missing_ok=True)
    root = path / "zarr.json"
    if root.exists():
        about = json.loads(root.read_text())
        about.pop("consolidated_metadata", None)
        root.write_text(json.dumps(about))
    return path


def read_all(path):
    with open_blocks(path) as source:
        return np.vstack([read().matrix().toarray() for read in source.readers])


def test_links_are_refused(path, tmp_path):
    place = "X/data"
    np.testing.assert_array_equal(read_all(path), Y)
    (path / place).rename(tmp_path / "elsewhere")
    (path / place).symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    with pytest.raises(DataFormatError, match=f"{place} is a link or a device"):
        read_all(path)


@pytest.mark.parametrize(
    ("place", "length"), [("var/_index", 1 << 53), ("X/indptr", 1 << 20)]
)
def test_many_chunks_that_lack_are_refused(place, length, path, monkeypatch):
    monkeypatch.setattr(limits, "SECONDS", 0.5)
    name = next(n for n in ("zarr.json", ".zarray") if (path / place / n).exists())
    about = json.loads((path / place / name).read_text())
    about["shape"] = [length]
    (path / place / name).write_text(json.dumps(about))
    with pytest.raises(DataFormatError, match=r"unpacks to more|processor time"):
        read_all(path)


@pytest.mark.parametrize("what", ["link", "pipe"])
def test_chunks_are_files(what, path, tmp_path):
    chunk = max(
        (file for file in (path / "X" / "data").rglob("*") if file.is_file()),
        key=lambda file: file.name.isdecimal(),
    )
    chunk.rename(tmp_path / "chunk")
    if what == "link":
        chunk.symlink_to(tmp_path / "chunk")
    else:
        os.mkfifo(chunk)
    with pytest.raises(DataFormatError, match="is a link or a device"):
        read_all(path)


@pytest.mark.parametrize(
    ("codec", "place"), [("filters", "var/_index"), ("compressor", "X/data")]
)
def test_no_codec_unpickles(codec, place, tmp_path, monkeypatch):
    # Earlier versions of numcodecs allow it without being asked.
    monkeypatch.setenv("NUMCODECS_ALLOW_UNSAFE_PICKLE_DECODE", "1")
    end_processes()
    path, mark = tmp_path / "t.zarr", tmp_path / "mark"
    with anndata.settings.override(zarr_write_format=2):
        anndata.AnnData(sp.csr_matrix(Y)).write_zarr(path)
    (path / ".zmetadata").unlink(missing_ok=True)
    about = json.loads((path / place / ".zarray").read_text())
    planted = {"id": "pickle"}
    about["compressor"] = None if codec == "filters" else planted
    if codec == "filters":
        about["filters"] = [*(about["filters"] or []), planted]
    (path / place / ".zarray").write_text(json.dumps(about))
    (path / place / "0").write_bytes(pickle.dumps(Planted(mark)))
    with pytest.raises(DataFormatError, match=r"t\.zarr"):
        read_all(path)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("shape", "chunks"),
    [([10**12], [10**12]), ([-5], [3]), ([3], [0])],
)
def test_metadata_that_lies_is_refused(shape, chunks, tmp_path):
    path = tmp_path / "t.zarr"
    with anndata.settings.override(zarr_write_format=2):
        anndata.AnnData(sp.csr_matrix(Y)).write_zarr(path)
    (path / ".zmetadata").unlink(missing_ok=True)
    for name in ("data", "indices"):
        file = path / "X" / name / ".zarray"
        about = json.loads(file.read_text()) | {"shape": shape, "chunks": chunks}
        file.write_text(json.dumps(about))
    with pytest.raises(DataFormatError, match=r"t\.zarr"):
        read_all(path)


def test_large_metadata_are_refused(path):
    name = "zarr.json" if (path / "zarr.json").exists() else ".zgroup"
    with (path / name).open("a") as file:
        file.truncate(1 << 27)
    with pytest.raises(DataFormatError, match="unpacks to more than 67108864 bytes"):
        read_all(path)


def test_the_limit_of_one_file_does_not_hinder_the_next(path, monkeypatch):
    end_processes()
    with monkeypatch.context() as patch:
        patch.setattr(process, "SPARE_ROOM", 1 << 22)
        patch.setenv("THREECPO_MAX_UNPACKED", "1MB")
        # This is too little for most files, and for h5py to be loaded.
        with pytest.raises(DataFormatError, match="unpacks to more than"):
            read_all(path)
    read_all(path)
