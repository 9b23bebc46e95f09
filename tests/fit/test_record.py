"""The record of a fit: complete, unchangeable, and the one source of what is shown."""

from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

from fitting import TRUE, fit
from threecpo._core.codes import CUSTOM
from threecpo._fit.record_files import record_from_arrays, record_to_arrays
from threecpo._fit.stored import NUMERICS_VERSION, DamagedFieldError


@pytest.fixture
def record(any_model):
    return any_model.record_


def arrays_in(holder):
    values = (getattr(holder, each.name) for each in fields(holder))
    return [value for value in values if isinstance(value, np.ndarray)]


def test_nothing_in_a_record_can_be_changed(record):
    with pytest.raises(FrozenInstanceError):
        record.loss = 0.0
    arrays = [*arrays_in(record), *record.history.values()]
    for holder in (record.sums, record.profile_sums, record.rows):
        arrays += arrays_in(holder)
    assert len(arrays) > 15
    assert not any(array.flags.writeable for array in arrays)


def test_a_users_price_is_known_as_such_but_not_kept(seed):
    model = fit(column_penalty=lambda totals, *_: 0.5 * np.ones_like(totals))
    arrays, facts = record_to_arrays(model.record_)
    assert facts["settings"]["price"] == CUSTOM
    again = record_from_arrays(arrays, facts)
    assert again.price == model.record_.price
    with pytest.raises(ValueError, match="column_penalty was a function"):
        again.settings.price(np.ones(3), 2, 5)


def bad(**changes):
    def change(arrays, facts):
        for name, value in changes.items():
            if callable(value):
                arrays[name] = value(arrays[name].copy())
            elif name in facts:
                facts[name] = value
            else:
                facts["settings"][name] = value

    return change


def put(index, value):
    def change(array):
        array[index] = value
        return array

    return change


DAMAGES = {
    "label too large": bad(labels=put(0, 2**31 - 1)),
    "label too small": bad(labels=put(0, -2)),
    "nearest is an outlier": bad(nearest_labels=put(0, -1)),
    "group": bad(groups=put(0, 3)),
    "rank twice": bad(ranks=put(slice(None), 1)),
    "members": bad(members=put(0, -1)),
    "members of others": bad(profile_members=put(0, 10**6)),
    "negative sum": bad(table=put((0, 0), -1.0)),
    "infinite sum": bad(profile_table=put((0, 0), np.inf)),
    "total NaN": bad(totals=put(0, np.nan)),
    "margin NaN": bad(margins=put(0, np.nan)),
    "fewer rows": bad(row_scales=lambda array: array[1:]),
    "other type": bad(labels=lambda array: array.astype(np.int64)),
    "other shape": bad(table=lambda array: array[:, 1:]),
    "fewer columns": bad(column_scores=lambda array: array[1:]),
    "n_rows": bad(n_rows=5),
    "loss": bad(loss=float("nan")),
    "price": bad(price="much"),
    "prior NaN": bad(prior=float("nan")),
    "prior negative": bad(prior=-1.0),
    "threshold": bad(threshold=None),
    "rule": bad(rule="nearest"),
    "outliers": bad(outliers="some"),
    "no C1": bad(groups=[0, -1]),
    "other groups": bad(groups=[1, 7]),
    "history": bad(history=["loss", "nothing"]),
}


def test_damaged_arrays_are_refused(model):
    for damage in DAMAGES.values():
        arrays, facts = record_to_arrays(model.record_)
        facts["settings"] = dict(facts["settings"])
        damage(arrays, facts)
        with pytest.raises((DamagedFieldError, KeyError)):
            record_from_arrays(arrays, facts)


def test_names_of_any_kind_come_back(model):
    names = np.array(["a", "", "λ", "n" * 5000, "\udcff", "x\0", *"defg"], dtype=object)
    record = replace(model.record_, column_names=names)
    again = record_from_arrays(*record_to_arrays(record))
    assert again.column_names.tolist() == names.tolist()


def test_files_carry_the_version_of_the_numerics(model):
    assert record_to_arrays(model.record_)[1]["numerics"] == NUMERICS_VERSION


def test_a_record_knows_the_parameters_of_its_fit():
    model = fit(init=TRUE.clip(0))
    parameters = model.record_.parameters
    assert parameters["n_clusters"] == model.n_clusters
    assert parameters["groups"] == [1, 0, -1]
    assert "int64" in parameters["init"]
