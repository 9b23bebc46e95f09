"""Importing is lazy, needs no extras and no POSIX, and no place for a cache."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import threecpo
from processes import run_python
from threecpo import _writing, cli
from threecpo._extras import require

PUBLIC = {
    "KPath",
    "CountTable",
    "DataFormatError",
    "ParameterError",
    "ThreeCPO",
    "anndata",
    "datasets",
    "distributed",
    "io",
    "load",
    "plot",
    "preprocessing",
    "read_counts",
    "report",
    "results",
    "select_n_clusters",
    "text",
    "write_counts",
}


def modules_after(statement):
    """Modules that a new process has loaded after a statement."""
    program = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    out = run_python("-c", program, check=True).stdout
    return set(json.loads(out.splitlines()[-1]))


def modules_of(arguments, folder):
    """Modules that a command has loaded, run in a folder."""
    program = (
        f"import os; os.chdir({str(folder)!r})\nfrom threecpo.cli import main\n"
        f"assert main({arguments!r}) == 0"
    )
    loaded = modules_after(program)
    assert "threecpo.cli" in loaded
    return loaded


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A csv file, and a folder of results of it."""
    folder = tmp_path_factory.mktemp("small")
    X, labels = threecpo.datasets.make_synth(60, random_state=0)
    table = threecpo.CountTable(X, labels=labels)
    threecpo.write_counts(table, folder / "X.csv")
    fit = ["fit", str(folder / "X.csv"), "-k", "3", "-o", str(folder / "out")]
    assert cli.main(fit) == 0
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ["info", "X.csv"],
        ["fit", "X.csv", "-k", "3", "-o", "fixed"],
        ["fit", "X.csv", "-o", "auto"],
        ["convert", "X.csv", "X.npz"],
        ["test", "X.csv", "--labels", "label"],
        ["predict", "out", "X.csv", "-o", "new.csv"],
        ["predict", "out", "X.csv", "--max-memory", "1GB", "-o", "blocks.csv"],
        ["select-k", "X.csv", "--max", "4"],
        ["split", "out", "0"],
        ["cut", "out", "-k", "2", "--counts", "X.csv", "-o", "moved"],
    ],
    ids=" ".join,
)
def test_commands_do_not_load_scikit_learn(arguments, small):
    assert not modules_of(arguments, small) & {"sklearn", "scipy.stats", "pandas"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["info", "out"],
        ["cut", "out", "-k", "2"],
        ["merge", "out", "0,1"],
        ["report", "out"],
    ],
    ids=" ".join,
)
def test_commands_of_results_do_not_load_scipy(arguments, small):
    parts = {"scipy.sparse", "scipy.linalg", "scipy.spatial", "scipy.special"}
    loaded = modules_of(arguments, small)
    assert not loaded & (parts | {"sklearn", "pandas", "joblib"})


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import threecpo", {"numpy", "scipy", "sklearn", "numba", "pandas"}),
        ("import threecpo; dir(threecpo)", {"sklearn", "numba"}),
        ("from threecpo import ThreeCPO; ThreeCPO(5)", {"numba", "llvmlite"}),
        ("from threecpo import load", {"sklearn", "numba"}),
        (
            "from threecpo import plot, report, results, select_n_clusters",
            {"numba", "matplotlib", "jinja2"},
        ),
        ("from threecpo.datasets import make_synth; make_synth(9)", {"numba"}),
        ("from threecpo import CountTable; CountTable([[1]])", {"numba"}),
        ("from threecpo import anndata", {"anndata", "pandas", "sklearn", "numba"}),
        (
            "from threecpo import read_counts, write_counts",
            {"numba", "anndata", "h5py", "snowballstemmer"},
        ),
        ("from threecpo.text import count_terms", {"numba", "snowballstemmer"}),
    ],
)
def test_a_statement_does_not_load_what_it_does_not_need(statement, absent):
    loaded = modules_after(statement)
    assert "threecpo" in loaded
    assert not loaded & absent


def test_the_public_names():
    assert set(threecpo.__all__) == PUBLIC <= {*dir(threecpo)}
    names = {}
    exec("from threecpo import *", names)
    assert {*names} >= PUBLIC
    assert all(getattr(threecpo, name) is names[name] for name in PUBLIC)


def test_the_core_imports_neither_scikit_learn_nor_pandas():
    statement = (
        "import pkgutil, importlib, threecpo._core as core\n"
        "for module in pkgutil.iter_modules(core.__path__, 'threecpo._core.'):\n"
        "    importlib.import_module(module.name)"
    )
    loaded = modules_after(statement)
    assert "numba" in loaded
    assert not loaded & {"sklearn", "pandas", "polars", "anndata", "joblib"}


def test_nothing_private_of_scikit_learn_is_imported():
    folder = Path(threecpo.__file__).parent
    private = re.compile(r"^\s*(from|import) sklearn[\w.]*(\._| import _)", re.M)
    found = [p.name for p in folder.rglob("*.py") if private.search(p.read_text())]
    assert found == []
    assert private.search("from sklearn.cluster._kmeans import KMeans")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"threecpo.*no attribute 'fourcpo'"):
        threecpo.fourcpo  # noqa: B018
    with pytest.raises(ImportError):
        from threecpo import fourcpo  # noqa: F401


def test_the_version_is_that_of_the_distribution():
    assert threecpo.__version__ == metadata.version("threecpo")


def test_a_plain_fit_does_not_compile_what_only_blocks_or_batches_need():
    program = (
        "import sys, threecpo, scipy.sparse as sp\n"
        "X = sp.csr_array([[9, 1], [8, 2], [1, 7]])\n"
        "threecpo.ThreeCPO(2, random_state=0).fit(X)\n"
        "from threecpo._core.loops import balancing, records, rows\n"
        "assert records.inspect.is_compiled and rows.assign_rows.is_compiled\n"
        "others = records.checksum, rows.misfit_rows, balancing.fit_columns\n"
        "assert not any(loop.is_compiled for loop in others)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_is_installed_is_imported():
    assert (
        require("xml.dom.minidom", "plot", "A figure") is sys.modules["xml.dom.minidom"]
    )


@pytest.mark.parametrize("module", ["no_such_library", "no_such_library.part"])
def test_what_is_missing_is_told_with_its_extra(module):
    message = (
        "A figure needs no_such_library, which is not installed. "
        'Install it with: pip install "threecpo[plot]"'
    )
    with pytest.raises(ImportError) as caught:
        require(module, "plot", "A figure")
    assert str(caught.value) == message
    assert caught.value.name == "no_such_library"
    assert isinstance(caught.value.__cause__, ImportError)


# One loop is enough: all are compiled by the same decorator.
PROGRAM = """
import warnings
warnings.simplefilter("error")
import numpy as np
import threecpo
from threecpo._core.loops.records import checksum
ends, places = np.array([0, 1]), np.zeros(1, dtype=np.int32)
found = checksum(ends, places, np.array([7]))
print(threecpo.__file__, type(found).__name__)
"""


def run(**environment):
    return run_python("-c", PROGRAM, env=os.environ | environment)


@pytest.fixture
def below_a_file(tmp_path):
    """A folder that nobody can make, not even root."""
    (tmp_path / "file").touch()
    return str(tmp_path / "file" / "cache")


@pytest.fixture
def frozen_package(tmp_path):
    """A copy of the package that takes no compiled files beside its own."""
    copy = tmp_path / "site" / "threecpo"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(threecpo.__file__).parent, copy, ignore=ignore)
    for folder in {path.parent for path in copy.rglob("*.py")}:
        (folder / "__pycache__").touch()
    return copy


def test_a_chosen_cache_that_cannot_be_written_is_no_error(below_a_file):
    out = run(NUMBA_CACHE_DIR=below_a_file)
    assert out.stderr == ""
    assert out.returncode == 0
    assert out.stdout.endswith(" int\n")


def test_no_place_for_a_cache_at_all_is_no_error(below_a_file, frozen_package):
    places = ("NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME", "LOCALAPPDATA")
    out = run(
        **dict.fromkeys(places, below_a_file),
        PYTHONPATH=str(frozen_package.parent),
        PYTHONDONTWRITEBYTECODE="1",
    )
    assert out.stderr == ""
    assert out.returncode == 0
    assert out.stdout == f"{frozen_package / '__init__.py'} int\n"


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
    done = run_python("-W", "ignore", "-c", script)
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
