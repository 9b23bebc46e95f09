"""One count a line: row, column, count."""

import numpy as np
import pytest

from threecpo import read_counts
from threecpo.io import DataFormatError
from threecpo.io import lines as lines_module

TRIPLES = "customer,product,quantity\nann,milk,2\nbob,bread,1\nann,milk,3\n"


@pytest.fixture
def read(tmp_path):
    def reading(text, name="t.csv", **options):
        (tmp_path / name).write_bytes(text.encode())
        return read_counts(tmp_path / name, **options)

    return reading


def is_basket(table):
    assert table.row_names.tolist() == ["ann", "bob"]
    assert table.column_names.tolist() == ["milk", "bread"]
    assert table.X.toarray().tolist() == [[5, 0], [0, 1]]


@pytest.mark.parametrize(
    "text",
    [
        TRIPLES,
        TRIPLES.replace(",", "\t"),
        TRIPLES.replace("customer,product,quantity\n", ""),
        TRIPLES.replace("ann", '"ann"').replace("2", "2.0"),
        TRIPLES + "\n",
    ],
)
def test_triples_are_found_by_their_shape(text, read):
    is_basket(read(text))


def test_names_of_numbers_are_triples_if_the_third_column_is_called_count(read):
    text = "row,column,{}\n1,7,2\n1,8,3\n"
    table = read(text.format("count"))
    assert table.column_names.tolist() == ["7", "8"]
    assert table.X.toarray().tolist() == [[2, 3]]
    assert read(text.format("sum")).shape == (2, 3)
    assert read(text.format("sum"), triples=True).shape == (1, 2)
    assert read(text.format("count"), triples=False).shape == (2, 3)


def test_a_wide_table_of_three_columns_stays_wide(read):
    assert read("plot,ants,2019\na,1,2\nb,3,4\n").shape == (2, 2)
    assert read("plot,kind,n\na,x,2\nb,y,4\n", labels="kind").shape == (2, 1)
    assert read("plot,kind,n\na,x,2\nb,y,4\n", drop="kind").shape == (2, 1)


def test_triples_may_be_turned_round(read):
    table = read(TRIPLES, transpose=True)
    assert table.row_names.tolist() == ["milk", "bread"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ann,milk", "line 5 has 2 fields, not 3"),
        ("ann,milk,", "line 5, column 3 is empty. Fill in 0"),
        ("ann,milk,one", "line 5, column 3 holds 'one', which is not a number"),
        ("ann,milk,-2", "line 5, column 3 holds -2; counts are 0 or more"),
        ("ann,milk,nan", "line 5, column 3 holds NaN"),
        ("ann,milk,1e99", r"line 5, column 3 holds 1e\+99; counts must be"),
        ("\xffnn,milk", "line 5"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(line, reason, read, monkeypatch):
    for block in (8, 1 << 20):
        monkeypatch.setattr(lines_module, "BLOCK", block)
        with pytest.raises(DataFormatError, match=reason):
            read(f"{TRIPLES}{line}\nann,milk,3\n")


def test_sums_beyond_exact_counts_are_refused(read):
    half = 2**52
    reason = "row 'a', column 'x' holds 9.0072e.15; counts must be"
    with pytest.raises(DataFormatError, match=reason):
        read(f"row,column,count\na,x,{half}\na,x,{half}\n")


def test_the_advice_about_more_columns_leads_to_a_table(read):
    text = "day,who,what,n\n1,ann,milk,2\n1,bob,bread,1\n2,ann,milk,3\n"
    with pytest.raises(
        DataFormatError, match="triples= needs three columns, but there are 4"
    ):
        read(text, triples=True)
    is_basket(read(text, triples=("who", "what", "n")))
    is_basket(read(text, triples=True, drop="day"))


def test_pairs_count_one_a_line(read, monkeypatch):
    monkeypatch.setattr(lines_module, "BLOCK", 8)
    text = "day,who,what\n" + "1,ann,milk\n" * 5 + '2,bob,"bread"\n'
    is_basket(read(text, triples=("who", "what")))
    is_basket(
        read(text.replace("1,", "").replace("2,", "").replace("day,", ""), triples=True)
    )
    with pytest.raises(DataFormatError, match="line 8 has 2 fields, not 3"):
        read(text + "x,y\n", triples=("who", "what"))


def test_long_names_of_products_are_no_texts(read):
    names = [f"white hanging heart of glass number {i}" for i in range(4)]
    lines = [f"{who},{name},1" for who in ("ann", "bob") for name in names]
    table = read("\n".join(["who,what,sold", *lines]) + "\n")
    assert table.column_names.tolist() == names
    lines = [f"c{i},{name},1" for i, name in enumerate(names)]
    table = read("\n".join(["who,what,quantity", *lines]) + "\n")
    assert table.column_names.tolist() == names


def test_many_names_are_numbered_in_order_of_appearance():
    from threecpo.io.lines import Cut, Names

    rng = np.random.default_rng(0)
    words = [f"n{'ä' * (i % 3)}{i % 9000}" for i in rng.integers(0, 10**6, 30_000)]
    names, found = Names(), []
    for start in range(0, len(words), 7000):
        block = "".join(f"x,{word}\n" for word in words[start : start + 7000])
        found += names.numbers(Cut.of(block.encode(), ",", 2), 1).tolist()
    order = {word: i for i, word in enumerate(dict.fromkeys(words))}
    assert found == [order[word] for word in words]
    assert names.texts() == list(order)
    assert names.number(words[5]) == found[5]
    assert names.number("") == len(order)
