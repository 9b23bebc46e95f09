"""Some hundred damaged files of every kind: read, or refused with our own error.

``make fuzz`` reads many more of them.
"""

import sys
import warnings

import pytest

from fuzz.child import Batch, Pool
from fuzz.outcomes import Limits, Tally
from fuzz.target import write
from fuzz.targets import registry
from fuzz.worker import outcome

pytest.importorskip("anndata")
pytest.importorskip("biom")
pytest.importorskip("pyarrow")
TARGETS = registry()
# Files that HDF5 reads can end or stop the process.
HDF5 = [name for name in TARGETS if "h5ad" in name or "hdf5" in name]
SAFE = [name for name in TARGETS if name not in HDF5]


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", SAFE)
def test_damaged_files(name, tmp_path):
    target = TARGETS[name]
    target.warm_up(tmp_path)
    found = []
    for number in range(40):
        write(target.make(number, 42), tmp_path)
        found.append(outcome(target, tmp_path))
    assert [each for each in found if each[0] == "foreign"] == []
    assert len({kind for kind, _ in found}) == 2, "some are read, some are not"


@pytest.mark.skipif(sys.platform == "win32", reason="no such limits")
def test_damaged_hdf5_files(tmp_path):
    tally = Tally(tmp_path, 42)
    batches = (Batch(name, 0, 40) for name in HDF5)
    Pool("fuzz.targets", 42, Limits(), 1).run(batches, tally.add)
    assert tally.causes() == ""
    for counts in tally.counts.values():
        assert counts["read"] > 5
        assert counts["own error"] > 5


def test_an_input_can_be_made_again():
    first = registry()
    for name in ("csv", "npz", "h5ad-csr", "xlsx", "parquet", "checkpoint"):
        made = [first[name].make(number, 1) for number in range(12)]
        assert made == [TARGETS[name].make(number, 1) for number in range(12)]
        assert made != [TARGETS[name].make(number, 2) for number in range(12)]


def test_what_was_made_before_changes_nothing():
    first, again = registry()["biom-json"], registry()["biom-json"]
    expected = first.make(100, 1)
    for number in range(100):
        again.make(number, 1)
    assert again.make(100, 1) == expected


def test_a_door_that_raises_something_else_is_noticed(tmp_path):
    target = registry()["csv"]
    target.door = lambda path: {}["absent"]
    assert outcome(target, tmp_path)[0] == "foreign"


def test_an_own_error_must_name_the_file_in_one_line(tmp_path):
    from threecpo.io import DataFormatError

    target = TARGETS["csv"]
    path = tmp_path / "t.csv"
    assert target.is_own(DataFormatError(f"{path} is damaged."), tmp_path)
    assert not target.is_own(DataFormatError("It is damaged."), tmp_path)
    assert not target.is_own(DataFormatError(f"{path} is\ndamaged."), tmp_path)
    assert not target.is_own(ValueError(f"{path} is damaged."), tmp_path)
