"""Every two options of a fit together keep the promises of each."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest

import oracle
from fitting import TRUE, X
from threecpo import ThreeCPO, load

KNOWN = np.full(len(X), -1)
for number, k in enumerate((2, 1, 0)):
    KNOWN[np.flatnonzero(k == TRUE)[:4]] = number
WEIGHTS = 1 + np.arange(len(X)) % 3
WEIGHTS[5::7] = 0
BATCH = np.array(["x", "y"])[np.arange(len(X)) % 5 % 2]
FIXED = {0: -1, 6: 1, 8: 0}
# Parameters of the model, and arguments of its fit.
OPTIONS = {
    "weights": ({}, {"sample_weight": WEIGHTS}),
    "batch": ({}, {"batch": BATCH}),
    "known": ({}, {"known_labels": KNOWN}),
    "released": ({}, {"known_labels": KNOWN, "hold_labels": False}),
    "iterative": ({"outliers": "iterative", "outlier_threshold": 0.5}, {}),
    "final": ({"outliers": "final"}, {}),
    "robust columns": ({"robust": {"columns": 1.0}}, {}),
    "robust rows": ({"robust": {"rows": 1.2}}, {}),
    "no prior": ({"prior": 0.0}, {}),
    "fixed": ({"fixed_groups": FIXED}, {}),
    "seeds": ({"seed_columns": {"a": [2], "b": [0, 1]}}, {}),
}
ALONE = {frozenset({"known", "released"}), frozenset({"iterative", "final"})}
PAIRS = [pair for pair in combinations(OPTIONS, 2) if {*pair} not in ALONE]


def asked(names):
    """Model, and what its fit is given for each row."""
    parameters, rows = {}, {}
    for name in names:
        more = dict(OPTIONS[name][0])
        limits = parameters.get("robust", {}) | more.pop("robust", {})
        parameters |= more | ({"robust": limits} if limits else {})
        rows |= OPTIONS[name][1]
    return ThreeCPO(3, random_state=0, n_init=2, **parameters), rows


@cache
def fitted(*names):
    model, rows = asked(names)
    return model.fit(X, **rows), rows


def weights_of(model, rows):
    given = rows.get("sample_weight", np.ones(len(X)))
    return given * getattr(model, "row_weights_", np.ones(len(X)))


def check_record(model, rows, names):
    """Sums, loss, groups and weights agree with the rows."""
    record, weights = model.record_, weights_of(model, rows)
    own, prior = record.labels_of_rates, record.settings.prior
    sums = [(weights[:, None] * X)[own == k].sum(axis=0) for k in range(3)]
    np.testing.assert_allclose(record.sums.clusters, sums, rtol=1e-12)
    loss = model.history_["loss"]
    assert (np.diff(loss) <= 1e-9 * abs(loss[0])).all()
    assert model.loss_ == loss[-1]
    if "known" in names:
        np.testing.assert_array_equal(model.labels_[KNOWN >= 0], KNOWN[KNOWN >= 0])
    if {"iterative", "final"} & {*names}:
        assert (model.labels_ == -1).any()
    assert (record.sums.column_weights is not None) == ("robust columns" in names)
    assert (weights < 1).any() == bool({"robust rows", "weights"} & {*names})
    if not {"batch", "robust columns", "robust rows"} & {*names}:
        copies = np.repeat(np.arange(len(X)), weights.astype(int))
        start = X[copies] + prior, own[copies], model.column_groups_
        assert model.loss_ == pytest.approx(oracle.loss(*start, "mdl"), rel=1e-11)


def check_prediction(model, rows, free, batch):
    np.testing.assert_array_equal(model.predict(X, **batch)[free], model.labels_[free])
    found, nearest = model.probabilities_[free], model.nearest_labels_[free]
    own = found[np.arange(len(found)), nearest]
    assert (own >= found.max(axis=1)).all()
    if free.all():
        score = model.score(X, sample_weight=weights_of(model, rows), **batch)
        assert score == pytest.approx(-model.loss_, rel=1e-10)


def check_file(model, batch, path):
    model.save(path)
    again = load(path)
    for name in ("labels_", "probabilities_", "tree_", "drift_"):
        assert getattr(again, name).tobytes() == getattr(model, name).tobytes(), name
    for call in ("predict", "predict_proba", "row_scores", "score"):
        expected = np.asarray(getattr(model, call)(X, **batch))
        found = np.asarray(getattr(again, call)(X, **batch))
        assert found.tobytes() == expected.tobytes(), call
    for name in ("loss_", "temperature_", "dispersion_"):
        assert getattr(again, name) == getattr(model, name), name
    assert again.cluster_names_.tolist() == model.cluster_names_.tolist()


def check_followers(model, rows, free, batch):
    """Fits that follow from a fit: clusters joined, one divided, new rows."""
    given = {k: v for k, v in rows.items() if k not in ("known_labels", "hold_labels")}
    cut, split = model.cut(2), model.split(X, 0, **given)
    for other in (cut, split):
        weights = other.record_.sums.column_weights
        np.testing.assert_array_equal(weights, model.record_.sums.column_weights)
        for column, group in model.record_.settings.fixed_groups:
            assert other.column_groups_[column] == group
    np.testing.assert_array_equal(cut.labels_ == -1, model.labels_ == -1)
    check_prediction(cut, rows, free, batch)
    part = {k: v[:30] for k, v in given.items()}
    new = model.predict(X[:30], **{k: v[:30] for k, v in batch.items()})
    arrived = model.name_clusters({}).partial_fit(X[:30], **part)
    np.testing.assert_array_equal(arrived.labels_[len(X) :], new)
    weights = weights_of(model, rows)
    mass = weights.sum() + weights[:30].sum()
    assert arrived.record_.sums.total_weight == pytest.approx(mass)
    return cut, arrived


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("names", PAIRS, ids=" x ".join)
def test_two_options_keep_the_promises_of_each(names, tmp_path):
    model, rows = fitted(*names)
    free = KNOWN < 0 if "known" in names else np.full(len(X), True)
    batch = {"batch": BATCH} if "batch" in names else {}
    for column, group in FIXED.items() if "fixed" in names else ():
        assert model.column_groups_[column] == group
    check_record(model, rows, names)
    check_prediction(model, rows, free, batch)
    for each in (model, *check_followers(model, rows, free, batch)):
        check_file(each, batch, tmp_path / "model.npz")


@pytest.mark.parametrize("name", [name for name in OPTIONS if name != "weights"])
def test_whole_weights_are_repeated_rows(name):
    model, given = fitted("weights", name)
    rows = dict(given)
    copies = np.repeat(np.arange(len(X)), WEIGHTS)
    other, _ = asked([name])
    del rows["sample_weight"]
    rows = {k: v if k == "hold_labels" else v[copies] for k, v in rows.items()}
    other.fit(X[copies], **rows)
    assert model.loss_ == pytest.approx(other.loss_, rel=1e-12)
    np.testing.assert_array_equal(model.labels_[copies], other.labels_)
    np.testing.assert_array_equal(model.column_groups_, other.column_groups_)
    if name not in ("robust columns", "robust rows"):
        assert model.temperature_ == pytest.approx(other.temperature_, rel=1e-9)
    np.testing.assert_allclose(model.tree_, other.tree_, rtol=1e-9)
