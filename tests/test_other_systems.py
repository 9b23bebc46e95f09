"""What holds on systems other than Linux, as far as Linux can show it."""

import subprocess
import sys

import pytest

from threecpo import _writing

POSIX_ONLY = ("fcntl", "resource", "pwd", "grp", "termios", "pty", "tty", "curses")
IMPORTS_ALL = """
import importlib, pkgutil, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

import numpy, scipy, sklearn, numba, click, multiprocessing, subprocess, tempfile
import concurrent.futures.process, urllib.request, getpass
libraries = ("anndata", "biom", "dask", "distributed", "jinja2", "matplotlib", "pooch",
             "pandas", "pyarrow", "h5py", "zarr", "rich.console")
for library in libraries:
    try:
        importlib.import_module(library)
    except ImportError:
        pass
for name in {blocked!r}:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Blocked())
sys.platform = "win32"
import threecpo
for module in pkgutil.walk_packages(threecpo.__path__, "threecpo."):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:  # a library that only some users need
        if error.name in {blocked!r} or error.name.startswith("threecpo"):
            raise
print("all")
"""


def test_no_module_needs_a_posix_system_when_it_is_loaded():
    """Libraries are loaded before; what they need is theirs."""
    script = IMPORTS_ALL.format(blocked=POSIX_ONLY)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == "all\n"


@pytest.fixture
def held_open(monkeypatch):
    """Windows refuses to rename what a program has open."""

    def refuse(path, target):
        raise PermissionError(13, "The process cannot access the file", str(path))

    monkeypatch.setattr("pathlib.Path.rename", refuse)
    monkeypatch.setattr("pathlib.Path.replace", refuse)


def test_a_folder_with_an_open_file_stays_and_a_sentence_says_why(tmp_path, held_open):
    target = tmp_path / "results"
    target.mkdir()
    (target / "labels.csv").write_text("old")
    with (
        pytest.raises(PermissionError, match="open in another program") as raised,
        _writing.new_folder(target, force=True, is_ours=lambda _: True) as folder,
    ):
        (folder / "labels.csv").write_text("new")
    assert raised.value.filename == str(target)
    assert [each.name for each in tmp_path.iterdir()] == ["results"]
    assert (target / "labels.csv").read_text() == "old"


def test_an_open_file_stays_and_a_sentence_says_why(tmp_path, held_open):
    target = tmp_path / "labels.csv"
    target.write_text("old")
    with (
        pytest.raises(PermissionError, match="such as Excel, close that"),
        _writing.put_in_place(target, force=True) as path,
    ):
        path.write_text("new")
    assert [each.name for each in tmp_path.iterdir()] == ["labels.csv"]
    assert target.read_text() == "old"
