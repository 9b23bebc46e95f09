"""Files and folders appear complete or not at all, whatever their names are."""

import io

import numpy as np
import pytest

from threecpo import CountTable, read_counts, write_counts
from threecpo._writing import new_folder, put_in_place, replaced, write_arrays
from threecpo.io.blocks import write_blocks

TABLE = CountTable([[3, 0], [0, 5]], column_names=["ants", "bees"])
# Most file systems take names of 255 bytes.
LONGEST = 255


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


def long_name(suffix, letter="a"):
    room = LONGEST - len(suffix.encode())
    return letter * (room // len(letter.encode())) + suffix


@pytest.mark.parametrize(
    ("suffix", "letter"), [(".tsv.gz", "ü"), (".npz", "a"), (".h5ad", "a")]
)
def test_names_as_long_as_the_file_system_allows(suffix, letter, tmp_path):
    path = tmp_path / long_name(suffix, letter)
    write_counts(TABLE, path)
    assert read_counts(path).column_names.tolist() == ["ants", "bees"]
    write_counts(TABLE, path, force=True)
    assert left_in(tmp_path) == [path.name]


def test_folders_of_long_names(tmp_path):
    write_counts(TABLE, tmp_path / long_name("10x"), format="10x")
    write_counts(TABLE, tmp_path / long_name("10x"), format="10x", force=True)
    write_blocks([TABLE], tmp_path / long_name("blocks"))
    assert left_in(tmp_path) == [long_name("10x"), long_name("blocks")]


def test_a_long_suffix_is_no_suffix(tmp_path):
    with replaced(tmp_path / f"a.{'b' * 250}") as beside:
        assert len(beside.name) < 60
        beside.write_text("new")
    assert left_in(tmp_path) == [f"a.{'b' * 250}"]


def interrupted(writing, target):
    """Whether an interrupt in the midst of writing gets through."""
    try:
        with writing(target) as beside:
            half = beside / "half" if beside.is_dir() else beside
            half.write_text("half")
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        return True
    return False


@pytest.mark.parametrize("writing", [replaced, put_in_place, new_folder])
def test_an_error_leaves_nothing(writing, tmp_path):
    assert interrupted(writing, tmp_path / "t")
    assert left_in(tmp_path) == []


def test_a_file_never_replaces_a_folder(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "thesis.doc").write_text("years of work")
    with pytest.raises(OSError, match="t"), replaced(tmp_path / "t") as beside:
        beside.write_text("new")
    assert (tmp_path / "t" / "thesis.doc").read_text() == "years of work"
    assert left_in(tmp_path) == ["t"]


def test_a_new_folder_makes_those_above_or_leaves_nothing(tmp_path):
    target = tmp_path / "a" / "b"
    assert interrupted(new_folder, target)
    assert left_in(tmp_path) == []
    with new_folder(target) as folder:
        (folder / "file").write_text("whole")
        assert not target.exists()
    assert left_in(target) == ["file"]
    with pytest.raises(FileExistsError), new_folder(target):
        pass
    assert left_in(tmp_path / "a") == ["b"]


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_holds_the_arrays_and_nothing_else(packed):
    file = io.BytesIO()
    write_arrays(file, {"labels": np.arange(3), "name": np.array("x")}, packed=packed)
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        assert sorted(stored.files) == ["labels", "name"]
        assert stored["labels"].tolist() == [0, 1, 2]


def test_objects_are_refused():
    file = io.BytesIO()
    with pytest.raises(TypeError, match="names holds objects"):
        write_arrays(file, {"names": np.array(["x", None], dtype=object)})
    assert file.getvalue() == b""
