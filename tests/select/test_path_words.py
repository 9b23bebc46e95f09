"""What a path says of its choice, and how its clusters divide."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from k_paths import TRUE, X, path_of

from containers import kinds_of
from threecpo import results
from threecpo.select import choice_of
from threecpo.select.choice import difference, divided


def choice(totals, first=1, criterion="mdl", measured=None):
    n_clusters = np.arange(first, first + len(totals))
    table = {
        "n_clusters": n_clusters,
        "found": n_clusters,
        "total": np.array(totals, dtype=float),
        "criterion": [criterion] * len(totals),
    }
    if measured is not None:
        table["reproducibility"] = [measured.get(k, np.nan) for k in n_clusters]
    return choice_of(table)


LITTLE = "halves of the data agree little on the clusters"


class TestChoice:
    def test_a_clear_minimum(self):
        found = choice([900, 400, 100, 130, 300])
        assert (found.best, found.runner_up, found.behind) == (3, 4, 30)
        assert found.gain == 800
        assert found.flat == (3,)
        assert not found.falls_at_end
        assert found.sentence() == "Chose 3 clusters."

    def test_a_flat_valley_is_named(self):
        found = choice([900, 400, 100, 104, 108, 300])
        assert found.flat == (3, 4, 5)
        assert found.sentence() == "Chose 3 clusters; 4 and 5 fit almost as well."
        one = choice([900, 400, 100, 200, 108, 300])
        assert one.sentence() == "Chose 3 clusters; 5 fits almost as well."
        assert choice([900, 104, 108, 200, 100, 103, 300]).sentence() == (
            "Chose 5 clusters; 2 to 6 fit almost as well."
        )

    def test_a_total_that_falls_to_the_end_is_named(self):
        found = choice([900, 700, 500, 300])
        assert found.falls_at_end
        more = "more than 4, the largest number tried, may fit better"
        assert found.sentence() == f"Chose 4 clusters; {more}."
        both = choice([900, 700, 301, 300]).sentence()
        assert both == f"Chose 4 clusters; 3 fits almost as well; {more}."

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            ({3: 0.8, 4: 0.92, 5: 0.95}, ", and 5 is the most reproducible"),
            ({3: 0.9, 4: 0.7, 5: 0.6}, ", but 3 is the most reproducible"),
            ({3: 0.8, 4: 0.7, 5: 0.85}, ", and none is clearly more reproducible"),
            ({3: 0.8, 5: 0.9001}, ", and 5 is the most reproducible"),
            ({4: 0.9, 5: 0.1}, ""),
            ({3: 0.8}, ""),
            ({3: 0.3, 4: 0.7}, f", and 4 is the most reproducible; {LITTLE}"),
            ({3: 0.49}, f"; {LITTLE}"),
        ],
    )
    def test_the_most_reproducible_number_is_named(self, values, words):
        found = choice([900, 400, 100, 104, 108, 300], measured=values)
        assert dict(found.reproducibility) == values
        flat = "Chose 3 clusters; 4 and 5 fit almost as well"
        assert found.sentence() == f"{flat}{words}."

    @pytest.mark.parametrize(
        ("other", "words"),
        [(0.95, "and is more"), (0.8, "and is about as"), (0.6, ", but 3 is the most")],
    )
    def test_one_other_number_is_compared(self, other, words):
        found = choice([900, 400, 100, 104, 300], measured={3: 0.8, 4: other})
        text = "Chose 3 clusters; 4 fits almost as well"
        assert found.sentence() == f"{text} {words} reproducible.".replace(" ,", ",")

    def test_a_spread_of_numbers_is_measured(self):
        assert choice([900, 400, 100, 130]).to_measure == [3]
        assert choice([900, 400, 100, 104, 108, 300]).to_measure == [3, 4, 5]
        many = choice([900, *[101] * 6, 100, *[102] * 8])
        assert many.to_measure == [2, 6, 8, 12, 16]
        # One cluster is always found again.
        assert choice([100, 100.1, 300]).to_measure == [2]

    def test_no_clusters(self):
        found = choice([100, 200, 300])
        assert found.gain == 200
        assert found.sentence() == ("Chose 1 cluster, as none are distinct.")

    def test_one_fit_has_no_runner_up(self):
        found = choice([5.0], first=4)
        assert found.runner_up is None
        assert found.sentence() == "Chose 4 clusters, the only number tried."

    def test_fits_that_lost_clusters_are_no_other_number(self):
        table = {"n_clusters": [1, 2, 3, 9], "found": [1, 2, 3, 1]}
        table |= {"total": [100.0, 140.0, 300.0, 100.5], "criterion": ["mdl"] * 4}
        found = choice_of(table)
        assert (found.runner_up, found.flat) == (2, (1,))
        same = {"n_clusters": [1, 2], "found": [1, 1], "total": [5.0, 6.0]}
        assert choice_of(same | {"criterion": ["mdl"]}).runner_up is None

    def test_what_is_not_a_number_is_never_best_or_second(self):
        found = choice([np.nan, 5, 9, np.nan])
        assert (found.best, found.runner_up) == (2, 3)

    @given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12))
    def test_of_any_totals(self, totals):
        found = choice(totals)
        order = np.argsort(totals, kind="stable") + 1
        assert (found.best, found.runner_up) == (order[0], order[1])
        assert found.behind == sorted(totals)[1] - min(totals)
        assert found.best in found.flat
        assert found.sentence().endswith(".")


class TestWords:
    def test_a_division(self):
        a = np.repeat([0, 1], [60, 40])
        b = np.repeat([0, 2, 1], [60, 30, 10])
        assert difference(a, b, 3) == "With 3, cluster 1 would split."
        assert difference(b, a, 2) == "With 2, clusters 1 and 2 would merge."

    def test_crumbs_are_left_out(self):
        assert divided([1, 0, 99]) == [99]
        assert divided([10, 0, 90]) == [90, 10]
        a = np.zeros(100, dtype=int)
        b = np.repeat([0, 1], [99, 1])
        assert difference(a, b, 2) == "With 2, the clusters hardly change."

    def test_many_divisions_are_counted(self):
        a = np.repeat(np.arange(5), 20)
        b = np.arange(100) // 10
        said = difference(a, b, 10)
        assert said == "With 10, clusters 0, 1, 2 and 2 more would split."


@pytest.fixture(scope="module")
def path():
    return path_of()


def test_a_path_has_its_choice(path):
    table = results.path_table(path)
    assert path.choice == choice_of(table)
    assert path.runner_up == path.choice.runner_up
    assert path.sentence().startswith(path.choice.sentence())
    assert results.figure_data.k_path(table)["sentence"] == path.choice.sentence()


def test_divisions_count_the_rows_of_both(path):
    table = path.divisions()
    for a, b, k, following, rows in zip(
        table["cluster"],
        table["next_cluster"],
        table["n_clusters"],
        table["next_n_clusters"],
        table["rows"],
        strict=True,
    ):
        upper, lower = (path.estimator(int(n)).labels_ for n in (k, following))
        assert rows == ((upper == a) & (lower == b)).sum() > 0
    for k in path.n_clusters[:-1]:
        assert table["rows"][table["n_clusters"] == k].sum() == len(X)


def test_one_level_below_the_best(path):
    best, following = path.choice.best, path.choice.best + 1
    below = path.below()
    assert len(below) == best == len(np.unique(TRUE))
    labels, lower = (path.estimator(k).labels_ for k in (best, following))
    for cluster, parts in enumerate(below):
        counted = np.bincount(lower[labels == cluster])
        assert parts == divided(counted)
    assert path_of(n_clusters=[1, 2, 3]).below() == []


def test_a_single_fit_has_no_divisions():
    path = path_of(n_clusters=[2])
    assert path.divisions()["rows"].shape == (0,)
    assert path.sentence() == path.choice.sentence()


class TestPlaces:
    def test_every_cluster_has_a_circle_and_its_rows(self, path):
        part = results.cluster_path(path.divisions())
        levels = [each["n_clusters"] for each in part["clusters"]]
        assert levels == sorted(levels)
        for k in path.n_clusters:
            here = [each for each in part["clusters"] if each["n_clusters"] == k]
            labels = path.estimator(int(k)).labels_
            assert {each["cluster"]: each["rows"] for each in here} == dict(
                enumerate(np.bincount(labels))
            )
            assert len({each["x"] for each in here}) == len(here)
            assert all(0 < each["x"] < 1 for each in here)

    def test_lines_join_neighbouring_levels(self, path):
        part = results.cluster_path(path.divisions(), last=4)
        clusters = part["clusters"]
        assert max(each["n_clusters"] for each in clusters) == 4
        for line in part["lines"]:
            upper, lower = clusters[line["from"]], clusters[line["to"]]
            assert lower["n_clusters"] == upper["n_clusters"] + 1
            assert line["share"] == line["rows"] / lower["rows"] > 0.05

    def test_parts_stand_below_what_they_come_from(self):
        table = {
            "n_clusters": np.array([2, 2, 2]),
            "cluster": np.array([0, 1, 1]),
            "next_n_clusters": np.array([3, 3, 3]),
            "next_cluster": np.array([1, 0, 2]),
            "rows": np.array([50, 60, 40]),
        }
        part = results.cluster_path(table)
        order = [
            each["cluster"]
            for each in part["clusters"]
            if each["rows"] and each["n_clusters"] == 3
        ]
        assert order == [1, 0, 2]

    def test_a_cluster_of_outliers_of_the_level_above_stands_last(self):
        table = {
            "n_clusters": np.array([1, 2, 2]),
            "cluster": np.array([0, 0, 1]),
            "next_n_clusters": np.array([2, 3, 3]),
            "next_cluster": np.array([1, 0, 2]),
            "rows": np.array([50, 7, 40]),
        }
        part = results.cluster_path(table)
        found = [
            (each["n_clusters"], each["cluster"], each["rows"])
            for each in part["clusters"]
        ]
        assert found == [(1, 0, 50), (2, 1, 50), (2, 0, 7), (3, 2, 40), (3, 0, 7)]
        assert [(line["from"], line["to"]) for line in part["lines"]] == [
            (0, 1),
            (2, 4),
            (1, 3),
        ]

    def test_a_file_gives_the_same_figure(self, path, tmp_path):
        results.write_table(path.divisions(), tmp_path / "k_divisions.csv")
        read = results.read_table(
            tmp_path / "k_divisions.csv", kinds_of(path.divisions())
        )
        assert results.cluster_path(read) == results.cluster_path(path.divisions())
