"""Labelled groups that differ are distinct; parts of one group and noise are not."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans

from threecpo import CountTable, ThreeCPO
from threecpo._fit import distinct
from threecpo.results import label_significance

RNG = np.random.default_rng(0)
N_ROWS = 240
# The groups b and c are one, cut in two at random.
TRUE = np.arange(N_ROWS) % 3
LABELS = np.array(["a", "b", "d"], dtype=object)[TRUE]
LABELS[(LABELS == "b") & (RNG.random(N_ROWS) < 0.4)] = "c"
X = RNG.poisson(4 * np.exp(0.7 * RNG.standard_normal((3, 30)))[TRUE])
BATCH = RNG.integers(2, size=N_ROWS)
WEIGHTS = RNG.choice([1.0, 2.0, 3.0], size=N_ROWS)
MODES = pytest.mark.parametrize("independent", [False, True])


def judged(counts=X, labels=LABELS, **options):
    return label_significance(counts, labels, **{"n_jobs": 1} | options)


def columns(found):
    return {name: np.asarray(found.table[name]) for name in found.table}


def assert_same(found, expected):
    for name, values in columns(expected).items():
        np.testing.assert_array_equal(columns(found)[name], values)
    np.testing.assert_array_equal(found.linkage, expected.linkage)


def root_p(*args, **options):
    return columns(judged(*args, **options))["p_value"][-1]


@MODES
@pytest.mark.parametrize(
    "rows",
    [{}, {"batch": BATCH}, {"sample_weight": WEIGHTS}],
    ids=["plain", "batch", "weights"],
)
def test_different_groups_are_distinct_and_a_cut_one_is_not(independent, rows):
    found = judged(independent=independent, **rows)
    table = columns(found)
    verdicts = dict(zip(table["groups"], table["verdict"], strict=True))
    assert verdicts.pop("b, c") == verdicts.pop("b") == verdicts.pop("c")
    assert set(verdicts.values()) == {"distinct"}
    assert table["verdict"][1] == "not distinct"
    assert found.sentences[1].startswith("b is not distinct from c (p = ")
    assert found.sentences[0].endswith("(p < 0.001).")
    assert found.summary == "Distinct from their neighbours: 2 of 4 groups."
    assert table["rows"].tolist()[:4] == [80, *table["rows"][1:3], 80]
    p, n = table["p_adjusted"], len(found.groups)
    for node, (left, right) in enumerate(found.linkage[:, :2].astype(int), start=n):
        below = {
            *table["groups"][left].split(", "),
            *table["groups"][right].split(", "),
        }
        assert below == {*table["groups"][node].split(", ")}
        for child in (left, right):
            assert p[child] >= p[node]
    carried = CountTable(X).with_rows(**rows)
    assert_same(judged(carried, independent=independent), found)


def test_groups_are_joined_as_the_clusters_of_a_fit():
    model = ThreeCPO(6, groups=(1,), random_state=0).fit(X, batch=BATCH)
    found = judged(labels=model.labels_, batch=BATCH, independent=True)
    np.testing.assert_array_equal(found.linkage, model.tree_)
    copies = np.repeat(np.arange(N_ROWS), WEIGHTS.astype(int))
    weighted = judged(sample_weight=WEIGHTS, independent=True)
    copied = judged(X[copies], LABELS[copies], independent=True)
    np.testing.assert_allclose(weighted.linkage, copied.linkage)


@pytest.mark.parametrize("r", [None, 1.0])
def test_clusters_of_noise_are_not_distinct(r):
    """Although any permutation test calls them so."""
    called = 0
    for seed in range(2):
        rng = np.random.default_rng(seed)
        rates = 3.0 if r is None else 3 * rng.gamma(r, 1 / r, (300, 30))
        noise = rng.poisson(rates, (300, 30))
        model = ThreeCPO(3, column_penalty=None, random_state=0).fit(noise)
        k_means = KMeans(2, n_init=1, random_state=0).fit_predict(np.sqrt(noise))
        for labels in (model.labels_, k_means):
            called += root_p(noise, labels) <= 0.05
            assert root_p(noise, labels, independent=True) < 0.001
    assert called <= 1


@MODES
def test_labels_that_say_nothing_are_not_distinct_where_there_are_clusters(independent):
    labels = np.random.default_rng(5).integers(2, size=N_ROWS)
    assert root_p(labels=labels, independent=independent) > 0.05


def test_p_values_of_permutations_are_uniform():
    """Also at the root of a tree that joins the most similar of several groups."""
    p = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        noise = rng.poisson(3 * rng.gamma(1, 1, (60, 8)))
        p.append(root_p(noise, rng.integers(5, size=60), independent=True))
    assert np.mean(np.array(p) <= 0.05) <= 0.1
    assert 0.35 < np.mean(p) < 0.65


def test_permutations_stay_in_their_batches(monkeypatch):
    """The batch changes counts, and has more of one label."""
    original, seen = distinct.sum_by_labels, set()

    def spied(counts, labels, k, *others):
        if k == 2 and counts.batches is not None:
            seen.add(int(labels[counts.batches == 0].sum()))
        return original(counts, labels, k, *others)

    monkeypatch.setattr(distinct, "sum_by_labels", spied)
    rng = np.random.default_rng(1)
    counts = X * np.where(BATCH[:, None] * (np.arange(30) < 15), 3, 1)
    labels = (rng.random(N_ROWS) < 0.2 + 0.6 * BATCH).astype(int)
    for independent in (False, True):
        assert root_p(counts, labels, batch=BATCH, independent=independent) > 0.05
    assert seen == {int(labels[BATCH == 0].sum())}
    assert root_p(counts, labels, independent=True) < 0.001


@MODES
def test_groups_without_a_common_batch_are_not_compared(independent):
    found = judged(batch=TRUE > 0, independent=independent)
    assert found.sentences[0] == "a has no batch in common with d."
    assert columns(found)["verdict"].tolist() == [
        *("no common batch", "not distinct", "not distinct", "no common batch"),
        *("not distinct", "no common batch", "distinct"),
    ]


def test_rows_that_cannot_be_tested_are_left_out_and_counted():
    counts, labels, weights = X.copy(), LABELS.copy(), WEIGHTS.copy()
    labels[[0, 7, 9]] = "", None, np.nan
    counts[[0, 11]] = 0
    weights[20:24] = 0
    lost = [0, 7, 9, 11, 20, 21, 22, 23]
    found = judged(counts, labels, sample_weight=weights, batch=BATCH)
    assert found.summary.endswith(
        "Rows left out: 3 without a label, 1 without counts, 4 of weight 0."
    )
    kept = np.setdiff1d(np.arange(N_ROWS), lost)
    rows = {"sample_weight": weights[kept], "batch": BATCH[kept]}
    assert_same(judged(counts[kept], labels[kept], **rows), found)


@MODES
def test_a_group_of_one_row(independent):
    labels = np.where(np.arange(N_ROWS) == 17, "alone", LABELS)
    table = columns(judged(labels=labels, independent=independent))
    assert table["rows"][table["groups"] == "alone"].tolist() == [1]
    assert 0 < table["p_value"][-1] <= 1


def test_too_few_counts_to_tell():
    short = np.eye(30, dtype=int)[RNG.integers(30, size=N_ROWS)]
    found = judged(short)
    assert set(columns(found)["verdict"]) == {"too few counts", "not tested"}
    assert found.sentences[0] == "a has too few counts to tell it from b, c, d."


@MODES
def test_containers_and_threads_give_the_same_bits(independent):
    expected = judged(independent=independent)
    known = CountTable(sp.csr_array(X), labels={"kind": LABELS}).with_rows(
        known_labels=TRUE
    )
    found = judged(known, None, n_jobs=3, independent=independent)
    assert found.name == "kind"
    assert_same(found, expected)
    series = pd.Series(LABELS, name="kind").astype("category")
    assert_same(judged(pd.DataFrame(X), series, independent=independent), expected)
    other = judged(random_state=1, independent=independent)
    assert not np.array_equal(columns(other)["z"], columns(expected)["z"])


@pytest.mark.parametrize(
    ("counts", "labels", "options", "said"),
    [
        (X, ["a"] * N_ROWS, {}, "one group, 'a', so there is nothing to test"),
        (X, [None] * N_ROWS, {}, "no label for any row with counts"),
        (X, range(N_ROWS), {}, "a different value in every row"),
        (X, LABELS[1:], {}, "239 values for 240 rows"),
        (X, {"a": LABELS, "b": LABELS}, {}, "not 2 kinds"),
        (CountTable(X), None, {}, "not 0 kinds"),
        (X, LABELS, {"alpha": 1}, "alpha=1 must be between 0 and 1"),
        (X, LABELS, {"independent": "no"}, "independent='no' must be True or False"),
        (da.from_array(X), LABELS, {}, "needs the counts in memory; pass a sample"),
    ],
)
def test_refusals_are_one_sentence(counts, labels, options, said):
    with pytest.raises((ValueError, TypeError), match=said) as error:
        judged(counts, labels, **options)
    assert "\n" not in str(error.value)
