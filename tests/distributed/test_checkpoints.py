"""A fit that was killed goes on from its last pass and ends the same."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from hashlib import blake2b

import numpy as np
import pytest
from block_fits import (
    Crash,
    assert_same_bits,
    before_each_pass,
    crash_before_pass,
    evenly,
    fit,
    shapeless,
    write,
)

import threecpo
from threecpo._fit import checkpoint
from threecpo._fit.budget import MemoryBudget

LONG = {
    "n_clusters": 6,
    "init": "random-labels",
    "n_init": 6,
    "outliers": "iterative",
    "column_penalty": None,
}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(name="X")
def counts():
    return shapeless()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "checkpoint"


def kept(blocks, folder, *, rare_clusters=True, **options):
    fitting = {"checkpoint": folder, "rare_clusters": rare_clusters}
    return fit(blocks, fitting=fitting, **LONG | options)


@pytest.fixture
def crash_at(monkeypatch):
    """End the fit in the middle of a pass."""
    return partial(crash_before_pass, monkeypatch)


@pytest.fixture
def passes(monkeypatch):
    made = []
    before_each_pass(monkeypatch, lambda requests: made.append(len(requests)))
    return made


def state_of(folder):
    return json.loads(json.loads((folder / "state.json").read_text())["state"])


def write_state(folder, state):
    text = json.dumps(state)
    content = {"digest": blake2b(text.encode()).hexdigest(), "state": text}
    (folder / "state.json").write_text(json.dumps(content))


def test_a_fit_goes_on_where_it_ended(X, folder, crash_at, monkeypatch):
    expected = fit(X, **LONG)
    crash_at(4)
    with pytest.raises(Crash):
        kept(evenly(X, 3), folder)
    assert state_of(folder)["n_passes"] == 4
    monkeypatch.undo()
    # Other blocks, other threads: the data are the same.
    assert_same_bits(kept(evenly(X, 7), folder, n_jobs=1), expected)


def test_a_fit_may_be_killed_after_every_pass(X, folder, crash_at, monkeypatch):
    expected = fit(X, fitting={"rare_clusters": False}, **LONG)
    for number in range(200):
        crash_at(1 if number else 0)
        try:
            # Of a search for rare clusters several passes are kept together.
            found = kept(X, folder, rare_clusters=False)
        except Crash:
            assert state_of(folder)["n_passes"] == number
        else:
            break
    assert number > 5
    monkeypatch.undo()
    assert_same_bits(found, expected)


def test_runs_that_wait_are_kept_too(X, folder, crash_at, monkeypatch):
    expected = fit(X, **LONG)
    monkeypatch.setattr(MemoryBudget, "runs_at_once", lambda *_: 2)
    crash_at(3)
    with pytest.raises(Crash):
        kept(X, folder)
    monkeypatch.undo()
    assert_same_bits(kept(X, folder), expected)


@pytest.mark.parametrize("max_iter", [4, 300])
def test_a_finished_fit_is_not_made_again(X, folder, passes, max_iter):
    first = kept(X, folder, max_iter=max_iter)
    assert passes
    passes.clear()
    assert_same_bits(kept(X, folder, max_iter=max_iter), first)
    assert passes == []
    names = {path.name for path in folder.iterdir()}
    assert len(names) == 3, "the state, the best run, the lock"


def test_a_model_goes_on_as_well(X, folder, crash_at, monkeypatch):
    start = fit(shapeless(90, seed=5), **LONG)
    expected = fit(X, **LONG | {"init": start})
    crash_at(1)
    with pytest.raises(Crash):
        kept(X, folder, init=start)
    monkeypatch.undo()
    assert_same_bits(kept(X, folder, init=start), expected)


def test_a_seed_that_is_drawn_is_kept(X, folder, crash_at, monkeypatch):
    crash_at(3)
    with pytest.raises(Crash):
        kept(X, folder, random_state=None)
    shutil.copytree(folder, folder.with_name("copy"))
    monkeypatch.undo()
    first = kept(X, folder, random_state=None)
    assert_same_bits(kept(X, folder.with_name("copy"), random_state=None), first)


class TestForeign:
    @pytest.fixture
    def begun(self, X, folder, crash_at, monkeypatch):
        crash_at(3)
        with pytest.raises(Crash):
            kept(X, folder)
        monkeypatch.undo()
        return folder

    @pytest.mark.parametrize(
        ("option", "value"),
        [
            ("n_clusters", 4),
            ("random_state", 1),
            ("column_penalty", "bic"),
            ("column_init", np.ones(12, dtype=int)),
            ("sample_rows", 61),
        ],
    )
    def test_other_parameters(self, X, begun, option, value):
        with pytest.raises(ValueError, match=f"belongs to a fit with {option}="):
            kept(X, begun, **{option: value})

    def test_other_estimators(self, X, begun):
        from paper.poisson import PoissonL
        from threecpo import distributed

        with pytest.raises(ValueError, match="belongs to a fit with"):
            distributed.fit(PoissonL(5), X, checkpoint=begun)

    def test_threads_and_talk_do_not_matter(self, X, begun, capsys):
        kept(X, begun, n_jobs=1, verbose=1)
        assert "Run 1" in capsys.readouterr().out

    def test_other_data(self, X, begun):
        Y = X.toarray()
        Y[3, 3] += 1
        for other in (Y, X[1:], X[:, :11]):
            with pytest.raises(ValueError, match="belongs to other data"):
                kept(other, begun)

    def test_other_data_of_the_same_column_totals(self, X, begun):
        with pytest.raises(ValueError, match="belongs to other data: counts differ"):
            kept(X[::-1], begun)

    def test_what_cannot_be_compared(self, X, tmp_path):
        for options, text in (
            ({"column_penalty": lambda totals, *_: 0 * totals}, "as a function"),
            ({"random_state": np.random.default_rng(0)}, "a generator as random_state"),
            (
                {"random_state": np.random.default_rng(0), "n_clusters": "auto"},
                "a generator as random_state",
            ),
        ):
            with pytest.raises(ValueError, match=text):
                kept(X, tmp_path / "new", **options)

    @pytest.mark.parametrize("version", ["version", "numerics"])
    def test_other_versions(self, X, begun, version):
        write_state(begun, state_of(begun) | {version: 9})
        with pytest.raises(ValueError, match="written by another threecpo"):
            kept(X, begun)

    @pytest.mark.parametrize("keep", [0.0, 0.5])
    def test_half_a_state(self, X, begun, keep):
        path = begun / "state.json"
        content = path.read_bytes()
        path.write_bytes(content[: int(keep * len(content))])
        with pytest.raises(ValueError, match=r"is damaged: state\.json cannot be read"):
            kept(X, begun)

    @pytest.mark.parametrize("damage", ["cut", "flip", "gone"])
    def test_half_a_run(self, X, begun, damage):
        path = next(begun.glob("run-*.npz"))
        content = bytearray(path.read_bytes())
        if damage == "flip":
            content[len(content) // 2] ^= 1
        path.write_bytes(content[: -5 if damage == "cut" else None])
        if damage == "gone":
            path.unlink()
        with pytest.raises(ValueError, match=rf"is damaged: {path.name} is"):
            kept(X, begun)

    def test_a_state_that_lacks_something(self, X, begun):
        state = state_of(begun)
        for key in ("runs", "files", "n_passes"):
            write_state(begun, {k: v for k, v in state.items() if k != key})
            with pytest.raises(ValueError, match="is damaged"):
                kept(X, begun)
        write_state(begun, {"format": "else"})
        with pytest.raises(ValueError, match="of another kind"):
            kept(X, begun)

    def test_other_files(self, X, folder):
        folder.mkdir()
        (folder / "thesis.tex").write_text("all of it")
        with pytest.raises(ValueError, match=r"holds other files, such as thesis\.tex"):
            kept(X, folder)
        assert (folder / "thesis.tex").read_text() == "all of it"

    def test_what_a_crash_left_before_the_first_state_is_removed(self, X, folder):
        folder.mkdir()
        (folder / "run-0-0.npz").write_bytes(b"half")
        (folder / "state.json.part").write_bytes(b"{")
        kept(X, folder)
        assert not (folder / "state.json.part").exists()

    def test_no_pickles(self, X, begun):
        path = next(begun.glob("run-*.npz"))
        np.savez(path, sums=np.array([print], dtype=object))
        state = state_of(begun)
        for file in state["files"].values():
            if file["name"] == path.name:
                content = path.read_bytes()
                file["digest"] = blake2b(content).hexdigest()
        write_state(begun, state)
        with pytest.raises(ValueError, match="is damaged"):
            kept(X, begun)


class TestFullDisk:
    @pytest.mark.parametrize("kind", ["run", "state"])
    def test_says_so_and_keeps_what_was_there(
        self, X, folder, monkeypatch, crash_at, kind
    ):
        expected = fit(X, **LONG)
        crash_at(3)
        with pytest.raises(Crash):
            kept(X, folder)
        monkeypatch.undo()
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        to_disk = checkpoint.Checkpoint._to_disk

        def full(self, name, content):
            if not name.startswith(kind):
                return to_disk(self, name, content)
            to_disk(self, name, content[:100])
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(checkpoint.Checkpoint, "_to_disk", full)
        with pytest.raises(OSError, match=r"disk is full.*state after pass 3 is still"):
            kept(X, folder)
        monkeypatch.undo()
        for name, content in before.items():
            assert (folder / name).read_bytes() == content
        assert_same_bits(kept(X, folder), expected)

    @pytest.mark.skipif(
        sys.platform != "linux" or os.geteuid() != 0, reason="only root can mount"
    )
    def test_for_real(self, X, tmp_path):
        small = tmp_path / "small"
        small.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", str(small)]
        if subprocess.run(mount, check=False, capture_output=True).returncode:
            pytest.skip("this root may not mount")
        try:
            with pytest.raises(OSError, match="disk is full"):
                kept(X, small / "checkpoint")
        finally:
            subprocess.run(["umount", str(small)], check=True)


PROGRAM = """
import sys, warnings
warnings.simplefilter("ignore")
from threecpo import ThreeCPO, distributed
options = {"init": "random-labels", "n_init": 8, "column_penalty": None, "n_jobs": 1}
model = ThreeCPO(6, random_state=0, **options)
distributed.fit(model, sys.argv[1], sample_rows=60, checkpoint=sys.argv[2])
model.save(sys.argv[3])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_driver_that_is_killed_at_any_moment_ends_the_same(tmp_path, folder):
    X, found = shapeless(6000), tmp_path / "found.npz"
    write(X, tmp_path / "X", 12)

    def start():
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / "X")]
        return subprocess.Popen([*command, str(folder), str(found)])

    def n_passes():
        return state_of(folder)["n_passes"] if (folder / "state.json").exists() else -1

    rng, kills = np.random.default_rng(0), 0
    while kills < 2:
        before = n_passes()
        with start() as process:
            while process.poll() is None and n_passes() < before + 2:
                time.sleep(0.001)
            time.sleep(rng.random() * 0.02)
            process.send_signal(signal.SIGKILL)
            code = process.wait(timeout=600)
        assert code in (-signal.SIGKILL, 0)
        assert n_passes() >= before
        kills += code != 0
        if code == 0:  # it was quicker
            shutil.rmtree(folder)
            found.unlink()
    with start() as process:
        assert process.wait(timeout=600) == 0
    options = {"init": "random-labels", "n_init": 8, "column_penalty": None}
    assert_same_bits(threecpo.load(found), fit(X, 6, **options))
