"""What killed processes leave is removed by the next one, and nothing else is."""

import signal
import subprocess
import sys

import pytest

from threecpo import _writing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no locks")

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
def test_leftovers_of_a_killed_process_are_removed(kind, tmp_path):
    end(writer(tmp_path / "target", kind))
    assert len(list(tmp_path.iterdir())) == 2, "the lock and what was written"
    write(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_what_another_process_is_writing_stays(tmp_path):
    process = writer(tmp_path / "target", "folder")
    try:
        write(tmp_path / "other")
        (part,) = tmp_path.glob(".part-*")
        assert (part / "half").read_text() == "half"
    finally:
        end(process)


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


def test_files_of_others_with_such_names_stay(tmp_path):
    for name in (".lock-mine", ".part-mine", ".old-mine", ".part-" + 32 * "0"):
        (tmp_path / name).write_text("mine")
    write(tmp_path / "other")
    assert len(list(tmp_path.iterdir())) == 5
