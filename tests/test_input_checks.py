"""What may not be counts in a table, and what will dominate its clusters."""

import numpy as np
import pytest
import scipy.sparse as sp

from threecpo import CountTable, ThreeCPO, report
from threecpo.results import check_input, describe_counts, fit_facts, row_table
from threecpo.results.facts import separation_line
from threecpo.results.input_checks import dispersions_both_ways, find_problems

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
    for n in (
        40,
        6000,
    ):
        ids = np.random.default_rng(0).permutation(n) + 10_000
        array = counts(n, 25)
        assert lines(named(array, key=ids), "looks like an ID")
        ids[1] = ids[3]
        assert not lines(named(array, key=ids), "looks like an ID")


def test_totals_beside_ids():
    for n in (
        20,
        6000,
    ):
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
