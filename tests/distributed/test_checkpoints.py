"""A fit that was ended goes on from its last pass; other checkpoints are refused."""

import errno
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from hashlib import blake2b

import numpy as np
import pytest
from block_fits import (
    LONG,
    Crash,
    assert_same_bits,
    before_each_pass,
    counts_of,
    crash_before_pass,
    evenly,
    fit,
    shapeless,
    write,
)

import threecpo
from threecpo import ThreeCPO, distributed
from threecpo._core import rules
from threecpo._fit import checkpoint
from threecpo._fit.budget import MemoryBudget

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


def write_text(folder, text):
    """A state that has its digest."""
    digest = blake2b(text.encode("utf-8", "surrogatepass")).hexdigest()
    content = json.dumps({"digest": digest, "state": text})
    (folder / "state.json").write_text(content)


def write_state(folder, state):
    write_text(folder, json.dumps(state))


@pytest.fixture
def begun(X, folder, crash_at, monkeypatch):
    """A fit that was ended while its runs had sums of all rows."""
    crash_at(3)
    with pytest.raises(Crash):
        kept(X, folder)
    monkeypatch.undo()
    return folder


def rewrite(folder, change, save=np.savez):
    """Change the arrays of every run that goes on, and the digests with them."""
    state = state_of(folder)
    for name, file in state["files"].items():
        if name.startswith("run-"):
            path = folder / file["name"]
            with np.load(path) as arrays:
                new = {key: arrays[key].copy() for key in arrays.files}
            change(new)
            content = io.BytesIO()
            save(content, **new)
            path.write_bytes(content.getvalue())
            file["digest"] = blake2b(content.getvalue()).hexdigest()
    write_state(folder, state)


def refused(X, folder, match):
    """In one line that names the folder."""
    with pytest.raises(ValueError, match=match) as caught:
        kept(X, folder)
    message = str(caught.value)
    assert str(folder) in message
    assert "\n" not in message


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


def put(name, value):
    def change(arrays):
        arrays[name].flat[-1] = value

    return change


def in_table(value):
    def change(arrays):
        arrays["table"][:, np.argmax(arrays["table"].sum(0))] = value

    return change


def in_columns(arrays):
    for name in ("table", "profile_table", "log_sizes"):
        arrays[name] = np.asfortranarray(arrays[name])


class TestDamaged:
    """Also where a state or arrays were changed behind their digests."""

    @pytest.mark.parametrize("keep", [0.0, 0.5])
    def test_half_a_state(self, X, begun, keep):
        path = begun / "state.json"
        content = path.read_bytes()
        path.write_bytes(content[: int(keep * len(content))])
        refused(X, begun, r"is damaged: state\.json cannot be read")

    @pytest.mark.parametrize("damage", ["cut", "flip", "gone"])
    def test_half_a_run(self, X, begun, damage):
        path = next(begun.glob("run-*.npz"))
        content = bytearray(path.read_bytes())
        if damage == "flip":
            content[len(content) // 2] ^= 1
        path.write_bytes(content[: -5 if damage == "cut" else None])
        if damage == "gone":
            path.unlink()
        refused(X, begun, rf"is damaged: {path.name} is")

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (put("log_sizes", np.nan), "log_sizes must hold"),
            (put("log_sizes", 1e300), "log_sizes must hold"),
            (put("log_size_total", np.inf), "log_size_total must hold"),
            (put("log_size_total", -1e9), "log_size_total must hold"),
            (in_table(0.0), "table does not add up to the column totals"),
            (in_table(1e300), "table does not add up to the column totals"),
            (lambda arrays: arrays.update(sums=np.array([print])), "cannot be read"),
        ],
    )
    def test_sums_that_no_rows_have(self, X, begun, change, message):
        rewrite(begun, change)
        refused(X, begun, f"is damaged: .*{message}")

    def test_arrays_may_lie_column_by_column_but_not_be_packed(self, X, begun):
        rewrite(begun, lambda _: None, save=np.savez_compressed)
        refused(X, begun, "cannot be read")
        rewrite(begun, in_columns)
        kept(X, begun)

    def test_states(self, X, begun):
        state = state_of(begun)
        for key in ("runs", "files", "n_passes"):
            write_state(begun, {k: v for k, v in state.items() if k != key})
            refused(X, begun, "is damaged")
        ended = [run | {"ended": True} for run in state["runs"]]
        first, *others = state["runs"]
        name, file = next(iter(state["files"].items()))
        long = {name: file | {"name": "run" + 300 * "1" + ".npz"}}
        for change, message in (
            ({"version": 9}, "written by another threecpo"),
            ({"numerics": 9}, "written by another threecpo"),
            ({"runs": ended, "files": {}}, "is damaged: the best run has no sums"),
            ({"files": state["files"] | long}, "is damaged: files has"),
            ({"version": "a\nb"}, "checkpoint"),
            ({"fit": state["fit"] | {"a\nb": 1}}, "checkpoint"),
            ({"fit": state["fit"] | {"prior": "a\n" * 1000}}, "checkpoint"),
            ({"runs": [first | {"loss": "a\nb"}, *others]}, "checkpoint"),
        ):
            write_state(begun, state | change)
            refused(X, begun, message)
        write_state(begun, {"format": "else"})
        refused(X, begun, "of another kind")
        write_text(begun, '{"format": "\udfff"}')  # half a letter
        refused(X, begun, "is damaged")
        write_text(begun, json.dumps(state | {"more": "\ud800"}, ensure_ascii=False))
        kept(X, begun)

    @pytest.mark.parametrize("name", ["state.json", "run-*.npz"])
    def test_pipes_are_refused(self, X, begun, name):
        path = next(begun.glob(name))
        path.unlink()
        os.mkfifo(path)
        refused(X, begun, "is damaged")


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


# A driver; as the second of two it says when it has the folder, and waits to be told.
DRIVER = """
import sys, warnings
warnings.simplefilter("ignore")
from threecpo import ThreeCPO, distributed
from threecpo._fit.blocks import BlockFit

whole = BlockFit._pass
passes = iter(range(1000))

def waiting(self, requests):
    if next(passes) == 2:
        print("has it", flush=True)
        sys.stdin.readline()
    return whole(self, requests)

if sys.argv[4:]:
    BlockFit._pass = waiting
options = {"init": "random-labels", "n_init": 8, "column_penalty": None, "n_jobs": 1}
model = ThreeCPO(6, random_state=0, **options)
distributed.fit(model, sys.argv[1], sample_rows=60, checkpoint=sys.argv[2])
model.save(sys.argv[3])
"""
OF_DRIVER = {"init": "random-labels", "n_init": 8, "column_penalty": None}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL, no flock")
class TestDrivers:
    @pytest.fixture
    def start(self, folder, tmp_path):
        """Start a driver; it is ended with the test."""
        started = []

        def start_one(*waiting):
            command = [sys.executable, "-c", DRIVER, tmp_path / "X", folder]
            command = [*map(str, command), str(tmp_path / "found.npz"), *waiting]
            pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
            started.append(subprocess.Popen(command, **pipes, text=True))
            return started[-1]

        yield start_one
        for process in started:
            process.kill()
            process.communicate()

    def test_killed_at_any_moment_it_ends_the_same(self, start, folder, tmp_path):
        X, found = shapeless(6000), tmp_path / "found.npz"
        write(X, tmp_path / "X", 12)

        def n_passes():
            state = folder / "state.json"
            return state_of(folder)["n_passes"] if state.exists() else -1

        rng, kills = np.random.default_rng(0), 0
        while kills < 2:
            before, process = n_passes(), start()
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
        assert start().wait(timeout=600) == 0
        assert_same_bits(threecpo.load(found), fit(X, 6, **OF_DRIVER))

    def test_the_second_is_refused_and_the_first_goes_on(self, X, start, tmp_path):
        write(X, tmp_path / "X", 5)
        first = start("waiting")
        assert first.stdout.readline() == "has it\n"
        second = start("waiting")
        out, errors = second.communicate(timeout=600)
        assert second.returncode != 0
        assert out == ""
        last = errors.strip().splitlines()[-1]
        assert last.startswith("ValueError: The checkpoint in ")
        assert "is in use by another fit; wait for it to end" in last
        first.communicate("go on\n", timeout=600)
        assert first.returncode == 0
        found = threecpo.load(tmp_path / "found.npz")
        assert_same_bits(found, fit(X, 6, **OF_DRIVER))


class Swapped(type(rules.PAPER)):
    """Profiles that swap names send the rows to and fro for ever."""

    def profile(self, sums, groups, **options):
        sums = replace(sums, clusters=sums.clusters[::-1].copy())
        return super().profile(sums, groups, **options)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_run_that_comes_back_to_an_earlier_state_ends(number, folder, monkeypatch):
    """Also when it was resumed; states before the crash are not kept.

    The cycle is then found once more.
    """
    X, _ = counts_of(0)
    start = ThreeCPO(3, assignment="paper", random_state=0).fit(X).labels_
    monkeypatch.setitem(rules.NAMED, "paper", Swapped("paper"))

    def circling(crash_at=None, **options):
        crash_before_pass(monkeypatch, crash_at)
        model = ThreeCPO(3, init=start, assignment="paper", max_iter=50, n_jobs=1)
        return distributed.fit(model, X, **options)

    expected = circling()
    assert max(3, number) < expected.n_iter_ < 10
    assert (expected.history_["rows_moved"] == -1).all(), "it has not converged"
    with pytest.raises(Crash):
        circling(number, checkpoint=folder)
    found = circling(checkpoint=folder)
    assert found.n_iter_ <= expected.n_iter_ + number
    assert found.loss_ in expected.history_["loss"]


def test_a_list_stands_for_the_same_tuple(folder):
    options = {"sample_rows": 30, "checkpoint": folder}
    first, again = (
        distributed.fit(
            ThreeCPO(3, groups=groups, random_state=0), counts_of()[0], **options
        )
        for groups in ((1, 0), [1, 0])
    )
    assert first.loss_ == again.loss_
