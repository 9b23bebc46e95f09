"""Files that are no models, or damaged ones, do no harm."""

import io
import json
import os
import pickle
import zipfile
from functools import partial

import numpy as np
import pytest

import threecpo
from fitting import X, fit
from model_files import Planted, change_header, rewrite, rewrite_packed
from threecpo import ThreeCPO
from threecpo.persistence import load_plain


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


def test_a_file_that_is_no_model_is_a_clear_error(path):
    for content in NO_MODELS.values():
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"model\.npz is not a model"):
            threecpo.load(path)


def test_a_truncated_file_is_a_clear_error(saved):
    content = saved.read_bytes()
    for share in (0.1, 0.5, 0.999):
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


@pytest.mark.parametrize(("version", "remedy"), [(99, "Update"), (3, "Fit again")])
def test_another_version_is_a_clear_error(saved, version, remedy):
    change_header(saved, lambda header: header.update(version=version))
    with pytest.raises(ValueError, match=rf"model format {version};.* {remedy}"):
        threecpo.load(saved)


def test_what_is_missing_is_named(saved):
    content = saved.read_bytes()
    for name, change in {
        "labels": lambda arrays: arrays.pop("labels"),
        "table": lambda arrays: arrays.pop("table"),
        "parameters": headerless("parameters"),
        "record": headerless("record"),
        "settings": headerless("record", "settings"),
        "history": headerless("record", "history"),
    }.items():
        saved.write_bytes(content)
        rewrite(saved, change)
        with pytest.raises(ValueError, match=rf"damaged.*{name}"):
            threecpo.load(saved)


def headerless(*names):
    """Remove what the header has below these names."""

    def change(arrays):
        header = place = json.loads(str(arrays["header"]))
        for name in names[:-1]:
            place = place[name]
        del place[names[-1]]
        arrays["header"] = np.array(json.dumps(header))

    return change


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


@pytest.mark.parametrize("inside", ["file", "array", "header"])
def test_pickled_content_is_refused_and_never_run(inside, saved, tmp_path):
    target = tmp_path / "exploded"
    bomb = Planted(target)
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


HOSTILE_HEADERS = (
    "[" * 100_000,
    '{"format": ' + "[" * 5000 + "]" * 5000 + "}",
    f'{{"format": "threecpo-model", "version": {"9" * 5000}}}',
    '{"format": "threecpo-model", "version": Infinity}',
    '{"format": "threecpo-model", "version": -1}',
    '{"format": "threecpo-model", "version": "x"}',
    '{"format": "threecpo-model", "version": 2, "parameters": []}',
    "null",
    '"\\ud800"',
)


def test_a_header_of_another_form_is_a_clear_error(saved):
    for text in HOSTILE_HEADERS:
        rewrite(saved, lambda arrays, text=text: arrays.update(header=np.array(text)))
        with pytest.raises(ValueError, match=r"model\.npz"):
            threecpo.load(saved)


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


# One of each kind: numbers out of range, a wrong shape, type or sum.
DAMAGED_JOINS = {
    "fine_into": (lambda into: into + 1, np.zeros_like, lambda a: a.astype(np.int64)),
    "fine_ranks": (lambda ranks: ranks[1:], np.zeros_like),
    "fine_table": (lambda table: -table - 1, lambda table: table[:, 1:]),
    "fine_groups": (lambda groups: groups + 5,),
}
DAMAGED_BATCHES = {
    "batches": (lambda batches: batches + 2, lambda batches: batches[1:]),
    "fine_cells": (lambda cells: 2 * cells, np.negative),
    "fine_cell_members": (lambda members: members[::-1],),
}


@pytest.mark.parametrize("batch", [None, np.arange(len(X)) % 2], ids=["", "batches"])
def test_joined_clusters_that_do_not_fit_are_a_clear_error(batch, path):
    model = ThreeCPO(4, random_state=0, n_init=2).fit(X, batch=batch)
    model.cut(2).save(path)
    with np.load(path) as stored:
        arrays = dict(stored)
    for field, changes in (DAMAGED_JOINS if batch is None else DAMAGED_BATCHES).items():
        for change in changes:
            np.savez(path, **(arrays | {field: change(arrays[field])}))
            with pytest.raises(ValueError, match=r"damaged .*(fine_|batches)"):
                threecpo.load(path)
        np.savez(path, **{name: a for name, a in arrays.items() if name != field})
        with pytest.raises(ValueError, match=r"damaged .*(fine_|batch)"):
            threecpo.load(path)


HOSTILE_PARAMETERS = (
    {"n_clusters": [3]},
    {"n_clusters": float("nan")},
    {"n_clusters": 10**400},
    {"groups": {"a": 1}},
    {"groups": [[1]]},
    {"elephants": 3},
    {"init": "elephant"},
    {"init": {"stored": "array"}},
    {"random_state": {"a": 1}},
    {"n_jobs": [[0, 0, 1]]},
    {"n_jobs": 10**9},
    {"outlier_threshold": -1},
    {"prior": "1"},
    {"verbose": [1]},
)


@pytest.mark.parametrize("load", [threecpo.load, partial(load_plain, computes=True)])
def test_parameters_of_other_types_are_a_clear_error(load, saved):
    content = saved.read_bytes()
    for change in HOSTILE_PARAMETERS:
        saved.write_bytes(content)
        change_header(saved, lambda header, c=change: header["parameters"].update(c))
        refused = r"model\.npz is (a damaged|not a)"
        with pytest.raises(ValueError, match=refused) as caught:
            load(saved)
        assert len(str(caught.value)) < 800


HOSTILE_FACTS = {
    "n_rows": ([], "x", 10**400),
    "loss": ({}, None),
    "price": ([[1]], {"a": {}}),
    "history": ("x", None, ["loss", "a\nb"]),
    "settings": ([], 10**400),
}


def test_facts_of_other_types_are_a_clear_error_of_one_line(saved):
    content = saved.read_bytes()
    for place, values in HOSTILE_FACTS.items():
        for value in values:
            saved.write_bytes(content)
            fact = {place: value}
            change_header(saved, lambda header, f=fact: header["record"].update(f))
            with pytest.raises(ValueError, match=r"model\.npz is a damaged") as caught:
                threecpo.load(saved)
            assert "\n" not in str(caught.value)


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


def test_sums_that_do_not_fit_are_a_clear_error(saved):
    def doubled(arrays):
        arrays["table"][0] *= 2

    def infinite(arrays):
        arrays["log_sizes"][1, 0] = -np.inf

    content = saved.read_bytes()
    for change, message in (
        (doubled, "table does not add up"),
        (infinite, "log_sizes must hold finite"),
    ):
        saved.write_bytes(content)
        rewrite(saved, change)
        with pytest.raises(ValueError, match=f"damaged .*{message}"):
            threecpo.load(saved)


@pytest.mark.parametrize("X", [[[1]], [[0, 3, 1], [0, 0, 0], [4, 0, 0], [0, 2, 2]]])
def test_rows_of_size_0_are_no_damage(X, tmp_path):
    model = ThreeCPO(min(2, len(X)), prior=0.0, random_state=0).fit(X)
    model.save(tmp_path / "model.npz")
    again = threecpo.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict(X), model.labels_)


BAD_WEIGHTS = {
    "longer": lambda weights: np.append(weights, 1.0),
    "whole": lambda weights: np.ones(len(weights), dtype=np.int64),
    "zero": lambda weights: np.append(weights[:-1], 0.0),
    "above one": lambda weights: np.append(weights[:-1], 1.5),
    "nan": lambda weights: np.append(weights[:-1], np.nan),
}


@pytest.mark.parametrize("name", ["column_weights", "row_weights"])
def test_weights_of_what_is_held_back_are_checked(name, path):
    wild = np.column_stack([X, np.where(np.arange(len(X)) % 5, 0, 200)])
    ThreeCPO(2, robust={"columns": 2, "rows": 2}, random_state=0).fit(wild).save(path)
    with np.load(path) as stored:
        arrays = dict(stored)
    assert (arrays[name] < 1).any()
    for change in BAD_WEIGHTS.values():
        np.savez(path, **(arrays | {name: change(arrays[name])}))
        with pytest.raises(ValueError, match=rf"damaged .*{name} (is|must)"):
            threecpo.load(path)
