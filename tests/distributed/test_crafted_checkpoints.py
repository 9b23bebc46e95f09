"""A checkpoint that was changed behind its digests is refused before it is used."""

import io
import json
import os
from hashlib import blake2b

import numpy as np
import pytest
from block_fits import Crash, counts_of, crash_before_pass

from threecpo import ThreeCPO, distributed

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


X = counts_of(0)[0]


def fit(folder):
    model = ThreeCPO(
        3, init="random-labels", n_init=3, column_penalty=None, random_state=0, n_jobs=1
    )
    distributed.fit(model, X, sample_rows=15, checkpoint=folder)


def stopped(folder, n_passes, monkeypatch):
    with monkeypatch.context() as patch:
        crash_before_pass(patch, n_passes)
        with pytest.raises(Crash):
            fit(folder)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A fit that was stopped while its runs had sums of all rows."""
    stopped(tmp_path / "checkpoint", 3, monkeypatch)
    return tmp_path / "checkpoint"


def state_of(folder):
    return json.loads(json.loads((folder / "state.json").read_text())["state"])


def write_text(folder, text):
    digest = blake2b(text.encode("utf-8", "surrogatepass")).hexdigest()
    content = json.dumps({"digest": digest, "state": text})
    (folder / "state.json").write_text(content)


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
    write_text(folder, json.dumps(state))


def refused(folder, match):
    with pytest.raises(ValueError, match=match) as caught:
        fit(folder)
    message = str(caught.value)
    assert str(folder) in message
    assert "\n" not in message


def in_columns(arrays):
    for name in ("table", "profile_table", "log_sizes"):
        arrays[name] = np.asfortranarray(arrays[name])


def test_arrays_that_lie_column_by_column_are_taken(folder):
    rewrite(folder, in_columns)
    fit(folder)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("log_sizes", np.nan),
        ("log_sizes", 1e300),
        ("log_size_total", np.inf),
        ("log_size_total", -1e9),
    ],
)
def test_sums_of_logarithms_that_no_rows_have(folder, name, value):
    def change(arrays):
        arrays[name].flat[-1] = value

    rewrite(folder, change)
    refused(folder, f"is damaged: {name} must hold")


@pytest.mark.parametrize(("n_passes", "value"), [(0, 1e300), (3, 0.0)])
def test_clusters_that_do_not_add_up_to_all_rows(
    tmp_path, monkeypatch, n_passes, value
):
    folder = tmp_path / "other"
    stopped(folder, n_passes, monkeypatch)

    def change(arrays):
        arrays["table"][:, np.argmax(arrays["table"].sum(0))] = value

    rewrite(folder, change)
    refused(folder, "is damaged: table does not add up to the column totals")


def test_runs_that_all_ended_without_sums(folder):
    state = state_of(folder)
    for run in state["runs"]:
        run["ended"] = True
    state["files"] = {}
    write_text(folder, json.dumps(state))
    refused(folder, "is damaged: the best run has no sums")


def test_half_a_letter_in_the_state(folder):
    write_text(folder, '{"format": "\udfff"}')
    refused(folder, "is damaged")


def test_half_a_letter_behind_a_good_state(folder):
    state = state_of(folder)
    state["more"] = "\ud800"
    write_text(folder, json.dumps(state, ensure_ascii=False))
    fit(folder)


@pytest.mark.parametrize("place", ["version", "fit", "seen", "other fit"])
def test_line_feeds_stay_out_of_messages(folder, place):
    state = state_of(folder)
    if place == "version":
        state["version"] = "a\nb"
    elif place == "fit":
        state["fit"]["a\nb"] = 1
    elif place == "other fit":
        state["fit"]["prior"] = "a\n" * 1000
    else:
        state["runs"][0]["loss"] = "a\nb"
    write_text(folder, json.dumps(state))
    refused(folder, "checkpoint")


def test_packed_arrays_are_refused(folder):
    rewrite(folder, lambda _: None, save=np.savez_compressed)
    refused(folder, "cannot be read")


@pytest.mark.parametrize("name", ["state.json", "run"])
def test_pipes_are_refused(folder, name):
    path = folder / name if name != "run" else next(folder.glob("run-*.npz"))
    path.unlink()
    os.mkfifo(path)
    refused(folder, "is damaged")


def test_names_of_files_that_no_system_holds(folder):
    state = state_of(folder)
    next(iter(state["files"].values()))["name"] = "run" + 300 * "1" + ".npz"
    write_text(folder, json.dumps(state))
    refused(folder, "is damaged: files has")
