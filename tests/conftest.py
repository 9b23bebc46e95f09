"""What all tests share: seeds, the profile of hypothesis, data sets on this machine."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import settings

from fitting import fit

# Figures need no screen.
os.environ["MPLBACKEND"] = "Agg"

settings.register_profile("default", deadline=None, max_examples=60)
settings.register_profile(
    "ci", deadline=None, max_examples=60, derandomize=True, database=None
)
settings.register_profile("thorough", deadline=None, max_examples=400)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def _seeds():
    """42, or those of THREECPO_TESTS_SEEDS: one number, a range "0-99" or "all"."""
    asked = os.environ.get("THREECPO_TESTS_SEEDS", "42").strip()
    if asked == "all":
        return range(100)
    first, _, last = asked.partition("-")
    return range(int(first), int(last or first) + 1)


@pytest.fixture(params=_seeds())
def seed(request):
    """A seed with which a test must pass; more of them by THREECPO_TESTS_SEEDS."""
    return request.param


@pytest.fixture(scope="session")
def data_dir():
    """Folder of the paper's data sets, which are no part of the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("THREECPO_SHARED_DATA", beside))
    if not folder.is_dir():
        pytest.skip("no folder of data sets (set THREECPO_SHARED_DATA)")
    return folder


@pytest.fixture(scope="session")
def raw_dir(data_dir):
    """Folder of the published archives, beside that of the data sets."""
    folder = data_dir.parent / "raw"
    if not folder.is_dir():
        pytest.skip("no folder of published archives beside that of data sets")
    return folder


@pytest.fixture(scope="session")
def load_data(data_dir):
    """Load a data set by name: counts as CSR, and the true labels."""

    def load(name):
        path = data_dir / f"{name}.npz"
        if not path.is_file():
            pytest.skip(f"no data set {name} in the folder of data sets")
        with np.load(path, allow_pickle=False) as file:
            parts = (file["data"], file["indices"], file["indptr"])
            return sp.csr_array(parts, shape=tuple(file["shape"])), file["labels"]

    return load


class _NoPandas:
    def find_spec(self, name, *_):
        if name == "pandas":
            raise ModuleNotFoundError(name, name=name)


@pytest.fixture
def hide_pandas(monkeypatch):
    """Call it, and pandas cannot be imported.

    Not None in sys.modules: scikit-learn 1.6 takes what stands there for pandas.
    """

    def hide():
        monkeypatch.delitem(sys.modules, "pandas", raising=False)
        monkeypatch.setattr(sys, "meta_path", [_NoPandas(), *sys.meta_path])

    return hide


@pytest.fixture(scope="module")
def model():
    return fit()


@pytest.fixture
def path(tmp_path):
    """Where a model can be saved."""
    return tmp_path / "model.npz"


@pytest.fixture
def saved(path):
    """File of a model."""
    fit().save(path)
    return path


@pytest.fixture(scope="module", params=[None, "iterative", "final"])
def any_model(request):
    return fit(outliers=request.param)
