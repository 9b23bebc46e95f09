"""Facts of counts and fits, and what may not be counts in a table."""

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    adjusted_rand_score,
    completeness_score,
    homogeneity_score,
    normalized_mutual_info_score,
)

from fitting import TRUE, X, fit
from threecpo import CountTable, ThreeCPO, report, results
from threecpo._plain import plain
from threecpo.results import check_input, describe_counts, fit_facts, row_table
from threecpo.results.facts import separation_line
from threecpo.results.input_checks import dispersions_both_ways, find_problems


def accuracy(truth, labels):
    """The best of all one-to-one namings, tried one by one."""
    n_names = max(truth.max(), labels.max()) + 1
    namings = permutations(range(n_names))
    return max(np.mean(np.array(naming)[labels] == truth) for naming in namings)


def purity(truth, labels):
    commonest = [np.bincount(truth[labels == k]).max() for k in np.unique(labels)]
    return sum(commonest) / len(truth)


def test_rows_without_a_label_are_left_out():
    """With them, no score would be 1: they are in all clusters."""
    truth = np.array([0, 0, 1, 1, 2, 2, -1, -1, -1])
    labels = np.array([1, 1, 2, 2, 0, 0, 0, 1, 2])
    assert set(results.agreement(truth, labels).values()) == {1.0}


def test_scores_are_those_of_the_rows_with_labels(model):
    truth = TRUE.copy()
    truth[::3] = -1
    known = truth >= 0
    found = results.agreement(truth, model.labels_)
    pair = truth[known], model.labels_[known]
    assert found == {
        "ARI": adjusted_rand_score(*pair),
        "NMI": normalized_mutual_info_score(*pair),
        "ACC": accuracy(*pair),
        "purity": purity(*pair),
        "homogeneity": homogeneity_score(*pair),
        "completeness": completeness_score(*pair),
    }
    assert found["ARI"] != adjusted_rand_score(truth, model.labels_)


def test_facts_are_those_of_the_model(any_model):
    facts = results.fit_facts(any_model)
    labels, groups = any_model.labels_, any_model.column_groups_
    assert facts["parameters"]["outliers"] == any_model.outliers
    assert facts["seed"] == 0
    assert (facts["rows"], facts["columns"]) == X.shape
    assert facts["clusters"] == any_model.n_clusters_
    assert facts["cluster_sizes"] == [(labels == k).sum() for k in range(3)]
    assert facts["outliers"] == (labels < 0).sum()
    assert facts["column_groups"] == {
        "relevant": (groups == 1).sum(),
        "shared": (groups == 0).sum(),
        "noise": (groups == -1).sum(),
    }
    assert facts["loss"] == any_model.loss_
    assert facts["iterations"] == any_model.n_iter_
    assert json.loads(json.dumps(facts)) == facts


def test_rows_of_the_fit_have_the_columns_of_its_table(any_model):
    rows = results.row_table(any_model)
    again = results.predicted_rows(any_model, X)
    assert list(again) == list(rows)[:6]
    for name, values in again.items():
        assert values.dtype == rows[name].dtype
        assert values.tolist() == rows[name].tolist()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_change_nothing(n_jobs):
    model = fit(n_jobs=n_jobs)
    expected = results.row_table(model)["margin"]
    found = results.predicted_rows(model, np.tile(X, (20, 1)))["margin"]
    assert found.tobytes() == np.tile(expected, 20).tobytes()


def test_other_columns_are_refused(model):
    with pytest.raises(ValueError, match="X has 9 features"):
        results.predicted_rows(model, X[:, 1:])


@st.composite
def two_sets_of_columns(draw):
    """Wanted columns, columns of a table, and its counts."""
    names = [f"n{j}" for j in range(12)]
    wanted = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    held = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    row = st.lists(st.integers(0, 5), min_size=len(held), max_size=len(held))
    counts = draw(st.lists(row, min_size=1, max_size=4))
    return wanted, held, np.array(counts)


@given(two_sets_of_columns())
def test_every_count_finds_its_column(case):
    wanted, held, counts = case
    rows = [f"r{i}" for i in range(len(counts))]
    table = CountTable(counts, row_names=rows, column_names=held)
    matched = results.match_columns(wanted, table)
    of_column = {name: counts[:, j] for j, name in enumerate(held)}
    expected = [of_column.get(name, np.zeros(len(counts))) for name in wanted]
    X = matched.table.X.toarray()
    np.testing.assert_array_equal(X, np.column_stack(expected))
    assert matched.table.column_names.tolist() == wanted
    assert matched.table.row_names.tolist() == rows
    assert matched.missing == [name for name in wanted if name not in held]
    assert matched.extra == [name for name in held if name not in wanted]


def test_a_table_in_the_same_order_is_not_copied():
    table = CountTable([[1, 2]], column_names=["a", "b"])
    assert results.match_columns(["a", "b"], table).table is table


def test_a_table_without_names_is_refused():
    with pytest.raises(ValueError, match="no column names"):
        results.match_columns(["a"], CountTable([[1]]))


def test_a_table_without_counts():
    facts = results.describe_counts(CountTable(np.zeros((3, 2), dtype=int)))
    assert (facts["empty_rows"], facts["empty_columns"]) == (3, 2)
    assert facts["overdispersion"] == {"median": 0.0, "above_2": 0.0}
    assert facts["least"] == facts["most"] == facts["total"] == 0.0


def test_the_least_count_is_0_unless_all_are_stored():
    assert results.describe_counts(CountTable([[3, 4]]))["least"] == 3.0
    assert results.describe_counts(CountTable([[3, 0]]))["least"] == 0.0


def test_names_that_occur_twice():
    table = CountTable([[1, 2], [3, 4]], ["a", "a"], ["x", "y"])
    facts = results.describe_counts(table)
    assert facts["repeated_row_names"] == ["a"]
    assert facts["repeated_column_names"] == []


def test_columns_in_another_order_keep_labels_and_names_of_rows():
    kinds = {"type": ["x", "y"], "donor": ["1", ""]}
    table = CountTable(
        [[1, 2], [3, 4]], row_names=["r", "s"], column_names=["a", "b"], labels=kinds
    )
    matched = results.match_columns(["b", "a"], table).table
    assert matched.X.toarray().tolist() == [[2, 1], [4, 3]]
    assert list(matched.column_names) == ["b", "a"]
    assert list(matched.row_names) == ["r", "s"]
    found = {kind: texts.tolist() for kind, texts in matched.label_kinds.items()}
    assert found == kinds


N = 300


def counts(n=N, m=30, rate=4.0, seed=0):
    return np.random.default_rng(seed).poisson(rate, (n, m))


def named(array, **columns):
    """Counts with further columns of these names, in front."""
    names = [*columns, *(f"item {j}" for j in range(array.shape[1]))]
    beside = [np.asarray(values)[:, None] for values in columns.values()]
    return CountTable(np.hstack([*beside, array]), column_names=names)


def lines(table, word):
    return [line for line in check_input(table) if word in line]


def test_plain_counts_have_no_problems(seed):
    assert check_input(counts(seed=seed)) == []
    assert check_input(sp.csr_array(counts(rate=0.1, m=200, seed=seed))) == []


def test_ids_under_any_name():
    for ids in (
        np.arange(1, N + 1),
        np.random.default_rng(0).permutation(N) + 7,
        12_000 + 3 * np.random.default_rng(0).permutation(N),
        np.cumsum(np.random.default_rng(0).integers(1, 50, N)),
    ):
        (line,) = check_input(named(counts(), CustomerID=ids))
        assert "column 'CustomerID' looks like an ID" in line
        assert "index='CustomerID', or exclude it with drop=['CustomerID']" in line


def test_ids_of_some_rows_alone_are_no_ids():
    """Beyond the sample too: one repeated number, and they may be counts."""
    for n in (40, 6000):
        ids = np.random.default_rng(0).permutation(n) + 10_000
        array = counts(n, 25)
        assert lines(named(array, key=ids), "looks like an ID")
        ids[1] = ids[3]
        assert not lines(named(array, key=ids), "looks like an ID")


def test_totals_beside_ids():
    for n in (20, 6000):
        array = counts(n, 25)
        table = named(array, key=np.arange(n) + 1, Total=array.sum(axis=1))
        assert lines(table, "column 'Total' is the sum of all others")
        off = array.sum(axis=1)
        off[1] += 1
        assert not lines(named(array, key=np.arange(n) + 1, Total=off), "sum of all")


def test_a_row_of_totals():
    array = counts(50)
    table = CountTable(np.vstack([array, array.sum(axis=0)]))
    assert lines(table, "row '51' is the sum of all others")
    array[0, 0] += 1
    assert not lines(CountTable(np.vstack([array, counts(50).sum(axis=0)])), "sum of")


def test_ages_and_years():
    for name, low, high, found in (
        ("Age", 18, 80, True),
        ("customerAge", 18, 80, True),
        ("Alter", 18, 80, True),
        ("âge", 18, 80, True),
        ("when", 1950, 2020, True),
        ("page views", 18, 80, False),
        ("age", 18, 400, False),
        ("bread", 18, 80, False),
    ):
        values = np.random.default_rng(1).integers(low, high + 1, N)
        values[:2] = low, high
        table = named(counts(), **{name: values})
        expected = f"column {name!r} ranges from {low} to {high} in all rows"
        assert bool(lines(table, expected)) is found


def test_codes():
    rng = np.random.default_rng(0)
    for values, found in (
        (rng.integers(1, 4, N), True),
        (rng.integers(0, 4, N), False),  # may be counts
        (rng.poisson(6, N) + 1, False),
        (rng.integers(1, 4, N) + 7, False),
        (np.ones(N, dtype=int), False),
    ):
        assert bool(lines(named(counts(), Region=values), "looks like a code")) is found
    (line,) = lines(
        named(counts(m=5), A=np.resize([1, 2], N), B=np.resize([1, 3], N)), "code"
    )
    assert line.startswith("columns 'A' and 'B' have few small values")
    assert "labels=['A', 'B'], or exclude them with drop=['A', 'B']." in line
    # A word of every text, a survey of ratings, and few rows.
    assert not lines(named(counts(m=100), word=np.resize([1, 2], N)), "code")
    assert not lines(rng.integers(1, 6, (N, 30)), "code")
    assert not lines(named(counts(20), Region=np.resize([1, 2], 20)), "code")


def test_proportions_and_rarefied_counts():
    shares = counts() / counts().sum(axis=1, keepdims=True)
    assert lines(shares, "sum to 1: these are proportions")
    assert lines(100 * shares, "sum to 100: these are proportions")
    assert not lines(50 * shares, "proportions")
    rarefied = np.random.default_rng(0).multinomial(100, np.ones(30) / 30, N)
    assert check_input(rarefied) == [
        "all rows sum to 100, so they look normalised or rarefied."
    ]


GENES = [f"ENSG{i:011d}" for i in range(40)]
SYMBOLS = ["MT-CO1", "RPL3", "RPS27A", *(f"G{i}" for i in range(37))]
OTUS = [f"OTU_{i}" for i in range(40)]
BARCODES = [
    f"{'ACGTTGCAAC'}{'ACGT'[i % 4]}{'TGCA'[i // 4 % 4]}GATC-1" for i in range(60)
]
CELLS = [f"cell {i}" for i in range(60)]
TOWNS = [f"{chr(65 + i % 26)}{chr(97 + i // 26)}ville" for i in range(60)]


@pytest.mark.parametrize(
    ("rows", "columns", "transposed"),
    [
        (GENES, BARCODES, True),
        (SYMBOLS, BARCODES, True),
        (OTUS, TOWNS, True),
        (TOWNS[:40], BARCODES, True),
        (TOWNS[:40], CELLS, True),
        (CELLS, TOWNS[:40], False),
        (BARCODES, GENES, False),
        (BARCODES, SYMBOLS, False),
        (TOWNS, OTUS, False),
        (CELLS[:40], BARCODES, False),
        (GENES, SYMBOLS, False),
        (TOWNS[:40], TOWNS, False),
        (None, BARCODES, False),
    ],
)
def test_names_of_a_transposed_table(rows, columns, transposed):
    array = counts(40 if rows is None else len(rows), len(columns))
    table = CountTable(array, row_names=rows, column_names=columns)
    assert bool(lines(table, "looks transposed, by the names")) is transposed


def test_thousands_that_were_read_as_fractions():
    for values, found in (
        ([1.234, 2.5, 17, 999, 3.001, 4.017, 8.123, 1.999], True),
        ([1.234, 2.517, 17, 0.125, 3.001, 4.017, 8.123], False),
        ([1.2345, 2.517, 17, 3.001, 4.017, 8.123], False),
        ([1.5, 2.5, 3.25, 4.5, 6.5, 1.25, 17], False),
        ([1.234, 2.517, 1700, 3.001, 4.017, 8.123], False),
    ):
        array = np.resize(values, (20, len(values) + 1))
        assert bool(lines(CountTable(array), "thousands='.'")) is found


def test_copied_rows_are_counted_unless_they_come_by_chance():
    array = counts()
    assert lines(np.vstack([array, array[:5]]), "5 rows are identical to")
    assert not lines(counts(2000, 3, 1.0), "identical")
    assert not lines(counts(2000, 40, 0.02), "identical")


def test_few_rows_with_most_of_the_counts():
    array = counts()
    array[:15] *= 20
    (line,) = lines(array, "5 % of the rows contain")
    assert line.endswith("robust=True.")
    share = array[:15].sum() / array.sum()
    assert find_problems(CountTable(array))["deepest_rows"] == pytest.approx(share)


def test_columns_with_most_of_the_counts():
    rates = np.full(40, 2.0)
    rates[7] = 60
    table = named(np.random.default_rng(0).poisson(rates, (N, 40)))
    (line,) = lines(table, "of all counts")
    assert line.startswith("column 'item 7' contains 4")
    assert line.endswith("drop=['item 7'].")
    rates[[7, 8, 9]] = 20
    (line,) = lines(named(np.random.default_rng(0).poisson(rates, (N, 40))), "contain")
    assert line.startswith("3 columns contain")
    assert all(f"'item {j}'" in line for j in (7, 8, 9))


def test_money_and_logarithms():
    rng = np.random.default_rng(0)
    money = np.rint(rng.lognormal(6, 1.5, (N, 30)))
    (line,) = lines(money, "(money?)")
    assert "--transform log1p" in line
    assert lines(np.rint(np.log1p(money)), "logarithms or averages")
    assert not lines(counts() > 3, "logarithms")


def turned_table():
    """Sites of three kinds and many species, of which a few are common."""
    rng = np.random.default_rng(0)
    rates = 0.05 * np.ones((3, 400))
    rates[np.arange(12) % 3, np.arange(12)] = 60
    return rng.poisson(rates[rng.integers(0, 3, 60)])


def test_a_table_that_lies_on_its_side():
    table = turned_table()
    assert lines(table.T, "looks transposed")
    assert lines(table.T, "transpose=True")
    assert not lines(np.vstack([table, table + 1]), "looks transposed")


def test_dispersions_are_those_of_the_core():
    from threecpo.results.facts import overdispersion

    table = CountTable(turned_table())
    of_columns, of_rows = dispersions_both_ways(table.counts)
    np.testing.assert_allclose(of_columns, overdispersion(table.counts), rtol=0.1)
    turned = CountTable(turned_table().T)
    np.testing.assert_allclose(of_rows, dispersions_both_ways(turned.counts)[0])


def test_tables_of_any_size_are_looked_at():
    for shape in [(1, 1), (1, 5), (2, 1), (3, 3)]:
        for array in (np.zeros(shape), np.ones(shape), np.full(shape, 1e15)):
            assert isinstance(check_input(array), list)
            assert describe_counts(CountTable(array))["rows"] == shape[0]


class TestSeparation:
    def fit(self, strong):
        rng = np.random.default_rng(0)
        rates = np.full((2, 40), 5.0)
        rates[0, :10] = rates[1, 10:20] = 9
        rates[0, :strong] = rates[1, 20 - strong : 20] = 60
        return ThreeCPO(2, random_state=0).fit(
            named(rng.poisson(rates[np.arange(200) % 2]))
        )

    def test_few_columns_that_separate(self):
        facts = fit_facts(self.fit(1))
        assert sorted(facts["separation"]["columns"]) == ["item 0", "item 19"]
        assert 0.7 < facts["separation"]["share"] < 1
        assert separation_line(facts, "genes").startswith("these 2 genes make ")

    def test_many_columns_that_separate(self):
        assert separation_line(fit_facts(self.fit(10))) == ""

    def test_the_report_says_it(self):
        model = self.fit(1)
        summary = report.summarise(model, row_table(model))
        said = "These 2 columns make "
        assert summary["about_columns"][1].startswith(said)
        assert said in report.render(summary)


@pytest.mark.parametrize(
    ("name", "fires"),
    [
        ("wholesales", ["money"]),
        ("sporta", ["identical"]),
        ("optdigits", []),
        ("bbcsports", ["identical"]),
        ("reuters", ["identical"]),
        ("newsgroups20", ["no counts", "identical", "5 % of the rows"]),
        ("tcga5", ["logarithms"]),
    ],
)
def test_real_tables(name, fires, load_data):
    found = check_input(load_data(name)[0])
    assert len(found) == len(fires)
    for line, word in zip(found, fires, strict=True):
        assert word in line


VALUES = [
    (None, None),
    (True, True),
    (np.bool_(False), False),
    (np.int64(3), 3),
    (np.float32(0.5), 0.5),
    (float("inf"), None),
    (np.float64("nan"), None),
    ((1, 0, -1), [1, 0, -1]),
    (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    (np.array([0.5, np.nan]), [0.5, None]),
    (np.array(3.0), 3.0),
    (np.array(["a", None], dtype=object), ["a", None]),
    ({"a": np.arange(2), 3: (None,)}, {"a": [0, 1], "3": [None]}),
    (np.random.default_rng(0), "Generator"),
    (np.random.RandomState(0), "RandomState"),
    (np.mean, "mean"),
    (Path("a", "b"), "a/b"),
]


def test_values():
    for value, expected in VALUES:
        found = plain(value)
        assert found == expected
        json.dumps(found, allow_nan=False)


def test_long_arrays_can_stand_for_their_content():
    same, other = np.zeros(20, int), np.ones(20, int)
    assert plain(same, longest=10) == plain(same.copy(), longest=10)
    assert plain(same, longest=10) != plain(other, longest=10)
    assert plain(same, longest=20) == [0] * 20


def test_a_model_stands_for_its_sums():
    one, other = fit(), fit(n_clusters=2)
    assert plain(one) == plain(fit()) != plain(other)
