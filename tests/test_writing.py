"""Files and folders appear complete or not at all, whoever is killed or looks on."""

import io
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from threecpo import CountTable, _writing, read_counts, write_counts
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


def test_an_old_file_stays_until_the_new_is_complete(tmp_path):
    target = tmp_path / "t"
    target.write_text("old")
    with pytest.raises(FileExistsError, match="force=True"), put_in_place(target):
        raise AssertionError
    assert interrupted(partial(put_in_place, force=True), target)
    assert target.read_text() == "old"
    with put_in_place(target, force=True) as beside:
        beside.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert left_in(tmp_path) == ["t"]


POSIX = pytest.mark.skipif(sys.platform == "win32", reason="no locks")
# Writes half of a file or folder, says so, and waits to be killed.
PROGRAM = """
import signal, sys
from pathlib import Path
from threecpo import _writing
target = Path(sys.argv[1])
ours = lambda _: True
with (
    _writing.new_folder(target, force=True, is_ours=ours)
    if sys.argv[2] == "folder"
    else _writing.put_in_place(target, force=True)
) as beside:
    (beside / "half" if sys.argv[2] == "folder" else beside).write_text("half")
    print("ready", flush=True)
    signal.pause()
"""
# Is killed between the two renames that replace a folder.
BETWEEN = """
import os, signal, sys
from pathlib import Path
from threecpo import _writing
rename = Path.rename
def killed(self, target):
    if self.name.startswith(".part-"):
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(self, target)
Path.rename = killed
with _writing.new_folder(Path(sys.argv[1]), force=True, is_ours=lambda _: True) as new:
    (new / "content").write_text("new")
"""


def writer(target, kind):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(target), kind],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    return process


def end(process):
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


def write(target, content="new"):
    with _writing.put_in_place(target, force=True) as beside:
        beside.write_text(content)


@pytest.mark.parametrize("kind", ["file", "folder"])
@POSIX
def test_leftovers_of_a_killed_process_are_removed(kind, tmp_path):
    end(writer(tmp_path / "target", kind))
    assert len(list(tmp_path.iterdir())) == 2, "the lock and what was written"
    write(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


@POSIX
def test_what_another_process_is_writing_stays(tmp_path):
    process = writer(tmp_path / "target", "folder")
    try:
        write(tmp_path / "other")
        (part,) = tmp_path.glob(".part-*")
        assert (part / "half").read_text() == "half"
    finally:
        end(process)


@POSIX
def test_a_folder_that_was_moved_away_comes_back(tmp_path):
    target = tmp_path / "results"
    target.mkdir()
    (target / "content").write_text("old")
    done = subprocess.run([sys.executable, "-c", BETWEEN, str(target)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not target.exists()
    write(tmp_path / "other")
    assert (target / "content").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "results"]


@POSIX
def test_files_of_others_with_such_names_stay(tmp_path):
    for name in (".lock-mine", ".part-mine", ".old-mine", ".part-" + 32 * "0"):
        (tmp_path / name).write_text("mine")
    write(tmp_path / "other")
    assert len(list(tmp_path.iterdir())) == 5
