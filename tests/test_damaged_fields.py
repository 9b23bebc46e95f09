"""Fields of a model's file that do not fit together are refused."""

from functools import partial

import numpy as np
import pytest

import threecpo
from fitting import X
from model_files import change_header, rewrite
from threecpo import ThreeCPO
from threecpo.persistence import load_plain

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
