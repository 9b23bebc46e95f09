"""Files that are no models, or damaged ones, do no harm."""

import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest

import threecpo
from fitting import X, fit
from threecpo import ThreeCPO


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.npz"


@pytest.fixture
def saved(path):
    fit().save(path)
    return path


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


NO_MODELS = {
    "empty": b"",
    "text": b"cluster,label\n1,2\n",
    "bytes": bytes(range(256)) * 10,
    "zip magic": b"PK\x03\x04",
    "empty zip": npz(),
    "one array": npy(np.arange(5)),
    "other arrays": npz(a=np.arange(5), b=np.ones(3)),
    "no JSON": npz(header=np.array("not JSON")),
    "JSON list": npz(header=np.array("[1, 2]")),
    "other format": npz(header=np.array('{"format": "other", "version": 1}')),
    "no version": npz(header=np.array('{"format": "threecpo-model"}')),
    "pickle": pickle.dumps({"format": "threecpo-model"}),
}


@pytest.mark.parametrize("name", NO_MODELS)
def test_a_file_that_is_no_model_is_a_clear_error(name, path):
    path.write_bytes(NO_MODELS[name])
    with pytest.raises(ValueError, match=r"model\.npz is not a model"):
        threecpo.load(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_a_clear_error(share, saved):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"model\.npz"):
        threecpo.load(saved)


def test_a_file_with_a_flipped_byte_is_a_clear_error_or_no_change(saved):
    content, expected = saved.read_bytes(), fit().predict(X)
    for at in np.linspace(0, len(content) - 1, 60).astype(int):
        saved.write_bytes(
            content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]
        )
        try:
            labels = threecpo.load(saved).predict(X)
        except ValueError as error:
            assert "model.npz" in str(error)  # noqa: PT017
        else:
            np.testing.assert_array_equal(labels, expected)


def rewrite(path, change):
    """Change the arrays of a model file and write it back."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    change(arrays)
    np.savez(path, **arrays)


def change_header(path, change):
    def apply(arrays):
        header = json.loads(str(arrays["header"]))
        change(header)
        arrays["header"] = np.array(json.dumps(header))

    rewrite(path, apply)


def test_a_newer_version_is_a_clear_error(saved):
    change_header(saved, lambda header: header.update(version=99))
    with pytest.raises(ValueError, match=r"99.*(?i:update)"):
        threecpo.load(saved)


@pytest.mark.parametrize("name", ["labels", "table", "groups"])
def test_a_missing_array_is_a_clear_error(name, saved):
    rewrite(saved, lambda arrays: arrays.pop(name))
    with pytest.raises(ValueError, match=rf"damaged.*{name}"):
        threecpo.load(saved)


@pytest.mark.parametrize("name", ["parameters", "record"])
def test_a_missing_header_entry_is_a_clear_error(name, saved):
    change_header(saved, lambda header: header.pop(name))
    with pytest.raises(ValueError, match=rf"damaged.*{name}"):
        threecpo.load(saved)


@pytest.mark.parametrize("name", ["settings", "loss", "history", "n_rows"])
def test_a_missing_fact_of_the_record_is_a_clear_error(name, saved):
    change_header(saved, lambda header: header["record"].pop(name))
    with pytest.raises(ValueError, match=rf"damaged.*{name}"):
        threecpo.load(saved)


DAMAGES = {
    "shorter": lambda array: array[:-1],
    "deeper": lambda array: array[..., None],
    "text": lambda array: array.astype(str),
}


def loads(path):
    try:
        threecpo.load(path)
    except ValueError as error:
        assert "model.npz" in str(error)  # noqa: PT017
        return False
    return True


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_array_of_another_shape_or_type_is_a_clear_error(damage, saved):
    with np.load(saved, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    accepted = []
    for name in set(arrays) - {"header"}:
        np.savez(saved, **(arrays | {name: DAMAGES[damage](arrays[name])}))
        if loads(saved):
            accepted.append(name)
    any_number_of_runs = {"restart_losses"} if damage == "shorter" else set()
    assert set(accepted) <= any_number_of_runs


class Bomb:
    """Creates a file when it is unpickled."""

    def __init__(self, target):
        self.target = str(target)

    def __reduce__(self):
        return (open, (self.target, "w"))


@pytest.mark.parametrize("inside", ["file", "array", "header"])
def test_pickled_content_is_refused_and_never_run(inside, saved, tmp_path):
    target = tmp_path / "exploded"
    bomb = Bomb(target)
    if inside == "file":
        saved.write_bytes(pickle.dumps(bomb))
    else:
        name = "labels" if inside == "array" else "header"
        rewrite(saved, lambda a: a.update({name: np.array([bomb], dtype=object)}))
    with pytest.raises(ValueError, match=r"model\.npz"):
        threecpo.load(saved)
    assert not target.exists()


def test_a_zip_of_other_things_is_refused(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("header.npy", b"no array")
        file.writestr("readme.txt", b"hello")
    with pytest.raises(ValueError, match=r"model\.npz is not a model"):
        threecpo.load(path)


DAMAGED_JOINS = {
    "a cluster too many": ("fine_into", lambda into: into + 1),
    "a cluster below": ("fine_into", lambda into: into - 1),
    "a cluster that nothing leads to": ("fine_into", np.zeros_like),
    "other numbers": ("fine_into", lambda into: into.astype(np.int64)),
    "too few ranks": ("fine_ranks", lambda ranks: ranks[1:]),
    "ranks that repeat": ("fine_ranks", np.zeros_like),
    "negative sums": ("fine_table", lambda table: -table - 1),
    "sums of other columns": ("fine_table", lambda table: table[:, 1:]),
    "rows that are missing": ("fine_members", np.zeros_like),
    "no groups": ("fine_groups", lambda groups: groups + 5),
}


@pytest.mark.parametrize("name", DAMAGED_JOINS)
def test_joined_clusters_that_do_not_fit_are_a_clear_error(name, path):
    field, change = DAMAGED_JOINS[name]
    fit(n_clusters=4).cut(2).save(path)
    rewrite(path, lambda arrays: arrays.update({field: change(arrays[field])}))
    with pytest.raises(ValueError, match=r"damaged .*fine_\w+ (is|must)"):
        threecpo.load(path)


DAMAGED_BATCHES = {
    "a batch too many": ("batches", lambda batches: batches + 2),
    "a batch below": ("batches", lambda batches: batches - 1),
    "batches of other rows": ("batches", lambda batches: batches[1:]),
    "cells of other columns": ("fine_cells", lambda cells: cells[:, 1:]),
    "cells that are too many": ("fine_cells", lambda cells: 2 * cells),
    "negative cells": ("fine_cells", np.negative),
    "members of other cells": ("fine_cell_members", lambda members: members[::-1]),
    "masses of fewer cells": ("fine_cell_masses", lambda masses: masses[1:]),
}


@pytest.mark.parametrize("name", DAMAGED_BATCHES)
def test_batches_that_do_not_fit_are_a_clear_error(name, path):
    field, change = DAMAGED_BATCHES[name]
    model = threecpo.ThreeCPO(4, random_state=0, n_init=2)
    model.fit(X, batch=np.arange(len(X)) % 2)
    model.cut(2).save(path)
    rewrite(path, lambda arrays: arrays.update({field: change(arrays[field])}))
    with pytest.raises(ValueError, match=rf"damaged .*{field}"):
        threecpo.load(path)


@pytest.mark.parametrize("field", ["fine_into", "fine_groups", "fine_ranks"])
def test_joined_clusters_that_lack_a_part_are_a_clear_error(field, path):
    fit(n_clusters=4).cut(2).save(path)
    rewrite(path, lambda arrays: arrays.pop(field))
    with pytest.raises(ValueError, match=rf"damaged .*{field}"):
        threecpo.load(path)


HOSTILE_PARAMETERS = {
    "a list": {"n_clusters": [3]},
    "a dict": {"groups": {"a": 1}},
    "text": {"groups": "abc"},
    "groups of lists": {"groups": [[1]]},
    "a number that is none": {"n_clusters": float("nan")},
    "a huge number": {"n_clusters": 10**400},
    "a name that is unknown": {"elephants": 3},
    "no name": {"init": "elephant"},
    "a dict as seed": {"random_state": {"a": 1}},
    "no number of threads": {"n_jobs": "many"},
    "lists as number of threads": {"n_jobs": [[0, 0, 1]]},
    "no threads": {"n_jobs": 0},
    "more threads than there can be": {"n_jobs": 10**9},
    "a negative threshold": {"outlier_threshold": -1},
    "other outliers": {"outliers": "some"},
    "other assignment": {"assignment": "else"},
    "an unknown price": {"column_penalty": "cheap"},
    "a prior that is no number": {"prior": "1"},
    "no restarts": {"n_init": 0},
    "text for a number": {"max_iter": "10"},
    "a level of noise": {"verbose": [1]},
    "an array that is not there": {"init": {"stored": "array"}},
}


@pytest.mark.parametrize("name", HOSTILE_PARAMETERS)
def test_parameters_of_other_types_are_a_clear_error(name, saved):
    change = HOSTILE_PARAMETERS[name]
    change_header(saved, lambda header: header["parameters"].update(change))
    with pytest.raises(ValueError, match=r"model\.npz is (a damaged|not a)") as caught:
        threecpo.load(saved)
    assert len(str(caught.value)) < 800


HOSTILE_HEADERS = {
    "deep": "[" * 100_000,
    "deep inside": '{"format": ' + "[" * 5000 + "]" * 5000 + "}",
    "a huge number": f'{{"format": "threecpo-model", "version": {"9" * 5000}}}',
    "an infinite version": '{"format": "threecpo-model", "version": Infinity}',
    "a version below": '{"format": "threecpo-model", "version": -1}',
    "a version of text": '{"format": "threecpo-model", "version": "x"}',
    "a list": '{"format": "threecpo-model", "version": 2, "parameters": []}',
    "nothing": "null",
    "half a letter": '"\\ud800"',
}


@pytest.mark.parametrize("name", HOSTILE_HEADERS)
def test_a_header_of_another_form_is_a_clear_error(name, saved):
    header = np.array(HOSTILE_HEADERS[name])
    rewrite(saved, lambda arrays: arrays.update(header=header))
    with pytest.raises(ValueError, match=r"model\.npz"):
        threecpo.load(saved)


@pytest.mark.parametrize("place", ["n_rows", "loss", "price", "history", "settings"])
@pytest.mark.parametrize("value", [[], {}, "x", None, 10**400, [[1]], {"a": {}}])
def test_facts_of_other_types_are_a_clear_error(place, value, saved):
    change_header(saved, lambda header: header["record"].update({place: value}))
    with pytest.raises(ValueError, match=r"model\.npz is a damaged"):
        threecpo.load(saved)


def test_arrays_that_lie_column_by_column_are_taken(saved):
    def change(arrays):
        for name, array in arrays.items():
            if array.ndim == 2:
                arrays[name] = np.asfortranarray(array)

    expected = threecpo.load(saved)
    rewrite(saved, change)
    model = threecpo.load(saved)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    np.testing.assert_array_equal(model.row_scores(X), expected.row_scores(X))


@pytest.mark.parametrize("name", ["table", "profile_table"])
def test_clusters_that_do_not_add_up_to_all_rows_are_a_clear_error(name, saved):
    def change(arrays):
        arrays[name][0] *= 2

    rewrite(saved, change)
    with pytest.raises(ValueError, match=f"damaged .*{name} does not add up"):
        threecpo.load(saved)


def test_sums_of_logarithms_that_are_infinite_are_a_clear_error(saved):
    def change(arrays):
        arrays["log_sizes"][1, 0] = -np.inf

    rewrite(saved, change)
    with pytest.raises(ValueError, match=r"damaged .*log_sizes must hold finite"):
        threecpo.load(saved)


@pytest.mark.parametrize(
    "X", [[[1]], [[0, 3, 1], [0, 0, 0], [4, 0, 0], [0, 2, 2]]], ids=["noise", "empty"]
)
@pytest.mark.parametrize("prior", [0.0, 1e-3])
def test_rows_of_size_0_are_no_damage(X, prior, tmp_path):
    model = threecpo.ThreeCPO(2 if len(X) > 1 else 1, prior=prior, random_state=0).fit(
        X
    )
    model.save(tmp_path / "model.npz")
    again = threecpo.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict(X), model.labels_)


def test_line_feeds_stay_out_of_messages(saved):
    change_header(
        saved, lambda header: header["record"].update(history=["loss", "a\nb"])
    )
    with pytest.raises(ValueError, match=r"model\.npz is a damaged") as caught:
        threecpo.load(saved)
    assert "\n" not in str(caught.value)


def test_a_model_that_unpacks_too_far_is_refused(saved, monkeypatch):
    rewrite_packed(saved, more=np.zeros(10**7))
    monkeypatch.setenv("THREECPO_MAX_UNPACKED", "1MB")
    with pytest.raises(
        ValueError, match=r"model\.npz is not .* more than 1000000 bytes"
    ):
        threecpo.load(saved)
    monkeypatch.delenv("THREECPO_MAX_UNPACKED")
    assert threecpo.load(saved).n_clusters_ > 0


def test_a_header_that_unpacks_too_far_is_refused(saved):
    rewrite_packed(saved, header=np.array(" " * 10**7))
    with pytest.raises(ValueError, match=r"model\.npz is not .* unpacks to more than"):
        threecpo.load(saved)


def rewrite_packed(path, **changes):
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    np.savez_compressed(path, **(arrays | changes))


def test_an_array_that_claims_more_than_it_has_is_refused(saved):
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    labels = members["labels.npy"]
    start = labels.index(b"'shape': (") + 10
    end = labels.index(b",", start)
    # The header keeps its length: it ends in spaces.
    more = b"9" * (12 - (end - start))
    cut = labels.index(b"\n") - len(more)
    members["labels.npy"] = (
        labels[:end] + more + labels[end:cut] + labels[cut + len(more) :]
    )
    with zipfile.ZipFile(saved, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ValueError, match=r"model\.npz is not .*'labels' claims"):
        threecpo.load(saved)


def test_pipes_and_devices_are_refused(path):
    os.mkfifo(path)
    with pytest.raises(ValueError, match=r"model\.npz is not .* a named pipe"):
        threecpo.load(path)
    with pytest.raises(ValueError, match=r"/dev/zero is not .* a device"):
        threecpo.load("/dev/zero")


@pytest.mark.parametrize("name", ["column_weights", "row_weights"])
@pytest.mark.parametrize("bad", ["longer", "zero", "above one", "nan", "whole"])
def test_weights_of_what_is_held_back_are_checked(name, bad, path):
    wild = np.column_stack([X, np.where(np.arange(len(X)) % 5, 0, 200)])
    ThreeCPO(2, max_dispersion=2, max_row_size=2, random_state=0).fit(wild).save(path)
    with np.load(path) as stored:
        arrays = dict(stored)
    weights = arrays[name].copy()
    assert (weights < 1).any()
    if bad == "longer":
        weights = np.append(weights, 1.0)
    elif bad == "whole":
        weights = np.ones(len(weights), dtype=np.int64)
    else:
        weights[-1] = {"zero": 0.0, "above one": 1.5, "nan": np.nan}[bad]
    np.savez(path, **(arrays | {name: weights}))
    with pytest.raises(ValueError, match=rf"damaged .*{name} (is|must)"):
        threecpo.load(path)
