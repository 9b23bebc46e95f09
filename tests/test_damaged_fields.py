"""Fields of a model's file that do not fit together are refused."""

import numpy as np
import pytest

import threecpo
from fitting import X, fit
from model_files import change_header, rewrite
from threecpo import ThreeCPO

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
