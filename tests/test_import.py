"""Importing is lazy: nobody waits for what they do not use."""

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import threecpo
from threecpo import cli

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
    command = [sys.executable, "-c", program]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
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


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_names_are_there(name):
    assert getattr(threecpo, name) is getattr(threecpo, name)
    assert name in threecpo.__all__
    assert name in dir(threecpo)


def test_nothing_else_is_public():
    assert set(threecpo.__all__) == PUBLIC


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


def test_star_import_gives_the_public_names():
    names = {}
    exec("from threecpo import *", names)
    assert set(names) >= PUBLIC


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
