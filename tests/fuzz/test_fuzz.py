"""Damaged files are read or refused, and the harness notices whatever they do."""

import sys
import warnings
from collections import Counter

import pytest

from fuzz import command
from fuzz.child import Batch, Pool
from fuzz.outcomes import Limits, Tally
from fuzz.target import write
from fuzz.targets import registry
from fuzz.worker import outcome

pytest.importorskip("biom")


LIMITED = pytest.mark.skipif(sys.platform == "win32", reason="no such limits")
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


@LIMITED
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


@pytest.fixture
def run(tmp_path, monkeypatch, request):
    """Run the first inputs of a target of odd_targets."""
    monkeypatch.syspath_prepend(request.path.parent)

    def running(name, **limits):
        tally = Tally(tmp_path / "kept", 7)
        pool = Pool("odd_targets", 7, Limits(**{"megabytes": 100} | limits), 1)
        pool.run(iter([Batch(name, 0, 8)]), tally.add)
        return tally

    return running


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("well", {"read": 4, "own error": 4}),
        ("foreign", {"read": 2, "own error": 4, "foreign": 2}),
        ("leaving", {"read": 4, "own error": 3, "foreign": 1}),
        ("crash", {"read": 3, "own error": 4, "crash": 1}),
        ("memory", {"read": 4, "own error": 3, "memory": 1}),
        ("hungry", {"read": 4, "own error": 3, "memory": 1}),
    ],
)
@LIMITED
def test_every_input_is_counted_as_what_became_of_it(run, name, expected):
    assert run(name).counts[name] == Counter(expected)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@LIMITED
def test_work_without_end_and_waiting_without_end_are_hangs(run):
    expected = {"read": 4, "own error": 3, "hang": 1}
    assert run("spin", seconds=0.5, waiting=600).counts["spin"] == expected
    assert run("hang", seconds=30, waiting=0.1).counts["hang"] == expected


@pytest.mark.parametrize(("name", "status"), [("well", 0), ("foreign", 1)])
@LIMITED
def test_the_command(monkeypatch, request, tmp_path, capsys, name, status):
    monkeypatch.syspath_prepend(request.path.parent)
    monkeypatch.setattr(command, "TARGETS", "odd_targets")
    given = ["--inputs", "6", "--targets", name, "--workers", "1", "--seed", "7"]
    assert command.main([*given, "--keep", str(tmp_path)]) == status
    lines = capsys.readouterr().out.splitlines()
    expected = {"well": [6, 3, 3, 0, 0, 0, 0], "foreign": [6, 1, 3, 2, 0, 0, 0]}
    assert lines[1].split()[:-1] == [name, *map(str, expected[name])]
    assert lines[2].split()[:-1] == ["all", *map(str, expected[name])]
    if status:
        assert "2 x foreign, --seed 7 --replay foreign:2: KeyError" in lines[-1]
        assert "KeyError" in (tmp_path / "causes.txt").read_text()


@LIMITED
def test_an_input_can_be_replayed(monkeypatch, request, tmp_path, capsys):
    monkeypatch.syspath_prepend(request.path.parent)
    monkeypatch.setattr(command, "TARGETS", "odd_targets")
    command.main(["--replay", "foreign:4", "--seed", "9", "--keep", str(tmp_path)])
    assert (tmp_path / "foreign-9-4" / "number.txt").read_text() == "9 4"
    assert "foreign KeyError" in capsys.readouterr().out


@LIMITED
def test_what_failed_is_kept(run, tmp_path):
    run("crash")
    folder = tmp_path / "kept" / "crash-7-2"
    assert (folder / "number.txt").read_text() == "7 2"
    said = (folder / "what.txt").read_text()
    assert "--seed 7 --replay crash:2" in said
    assert "SIGSEGV" in said


@LIMITED
def test_a_run_that_is_ended_prints_its_table(monkeypatch, request, tmp_path, capsys):
    monkeypatch.syspath_prepend(request.path.parent)
    monkeypatch.setattr(command, "TARGETS", "odd_targets")
    add, heard = Tally.add, []

    def ended(self, *outcome):
        add(self, *outcome)
        heard.append(outcome)
        if len(heard) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Tally, "add", ended)
    given = ["--minutes", "5", "--targets", "well", "--workers", "1"]
    assert command.main([*given, "--keep", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[:2] == ["all", "3"]
