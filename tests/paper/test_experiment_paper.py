"""The paper's values are found, and differences are in standard deviations."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper.experiments import characteristics, paths
from paper.experiments.comparisons import (
    ABLATION,
    COCLUSTERING,
    INITIALISATION,
    TEXTS,
    TRADITIONAL,
    WEIGHTED,
    WITHOUT_OUTLIERS,
)
from paper.experiments.data import paper_names
from paper.experiments.paths import CRITERIA, K_MEANS
from paper.experiments.tables import (
    COLUMNS,
    METRICS,
    Entry,
    Spread,
    difference,
    misses,
    paper_value,
    summary,
)

K_MEANS_CHOICES = [
    f"{name} {paths.PAPER_CRITERIA[c]}" for name in K_MEANS for c in CRITERIA
]


@pytest.mark.parametrize(
    ("table", "names", "metrics"),
    [
        ("traditional", TRADITIONAL, METRICS),
        ("co-clustering", COCLUSTERING, METRICS),
        ("ablation", ABLATION, [*METRICS, "C1"]),
        ("initialisation", INITIALISATION, [*METRICS, "C1"]),
        ("outliers", ["3CPO"], WITHOUT_OUTLIERS),
        ("columns", ["3CPO"], ["C1"]),
        ("characteristics", [""], characteristics.METRICS),
        (
            "number of clusters",
            ["3CPO", "TauCC", *K_MEANS_CHOICES],
            paths.METRICS,
        ),
    ],
)
def test_every_value_of_the_paper_has_a_place(table, names, metrics):
    for data_set in paper_names():
        for name in names:
            for metric in metrics:
                value = paper_value(table, data_set, name, metric)
                assert value is not None, (data_set, name, metric)


def test_weighted_terms_have_values_on_texts():
    for data_set in TEXTS:
        for name in WEIGHTED:
            assert paper_value("text", data_set, name, "ARI") is not None


def test_some_values_by_heart():
    assert paper_value("traditional", "BBCSports", "3CPO", "ARI") == (90.1, 2.9)
    assert paper_value("co-clustering", "HDendritic", "CROINFO", "ARI") == (81.9, 1.3)
    assert paper_value("number of clusters", "WebKB", "3CPO", "K") == (9, None)
    assert paper_value("traditional", "tcga5", "3CPO", "ARI") is None
    assert paper_value("traditional", "BBCSports", "3CPO", "C1") is None


@pytest.mark.parametrize(
    ("ours", "paper", "expected"),
    [
        (Spread(90.0, 1.0), Spread(94.0, 2.0), -2.0),
        (Spread(90.0, 4.0), Spread(94.0, 2.0), -1.0),
        (Spread(90.1, 0.0), Spread(90.0, 0.0), 2.0),
        (Spread(90.1), Spread(90.0), 2.0),
        (Spread(6.0), Spread(5.0), 20.0),
        (Spread(5.0, 1.0), None, None),
    ],
)
def test_differences_are_in_the_larger_deviation(ours, paper, expected):
    assert difference(ours, paper) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("mean", "marked"), [(94.0, False), (93.9, True), (106.0, False), (106.2, True)]
)
def test_more_than_two_deviations_are_marked(mean, marked):
    entry = Entry("BBCNews", "KM", "ARI", Spread(mean, 1.0), Spread(100.0, 3.0))
    assert entry.marked == marked
    assert ("**" in str(entry)) == marked
    assert entry.row()["marked"] == int(marked)
    assert len(misses([entry])) == (2 if marked else 0)
    assert f"{int(not marked)} are within" in summary([entry])


numbers = st.floats(-1e3, 1e3)
deviations = st.none() | st.floats(0, 1e2)


@given(numbers, deviations, numbers, deviations)
def test_differences_turn_their_sign_with_the_sides(a, s, b, t):
    one, two = Spread(a, s), Spread(b, t)
    assert difference(one, two) == -difference(two, one)
    assert math.isfinite(difference(one, two))
    assert tuple(Entry("d", "m", "x", one, two).row()) == COLUMNS


@given(st.lists(numbers, min_size=1, max_size=9))
def test_spreads_are_of_all_executions(values):
    spread = Spread.of(values)
    assert min(values) - 1e-9 <= spread.mean <= max(values) + 1e-9
    assert (spread.std is None) == (len(values) == 1)


def test_a_value_without_a_paper_has_no_difference():
    entry = Entry("tcga5", "KM", "ARI", Spread(91.0, 0.0))
    assert str(entry) == "91.0 ± 0.0"
    assert entry.row()["difference"] is None
    assert not entry.marked


def test_no_minus_before_zero():
    assert str(Spread(-0.01, 0.0)) == "0.0 ± 0.0"
    assert str(Spread(-0.06)) == "-0.1"
