"""Files as people have them: each is read, or its error leads to a fit.

``python tests/io/test_real_files.py FOLDER`` writes all of them there.
"""

import gzip
import io
import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
import xlsxwriter
from pyarrow import parquet
from sklearn.metrics import adjusted_rand_score

from threecpo import ThreeCPO, read_counts
from threecpo.io import DataFormatError

NARROW, BREAKLESS = "\u202f", "\u00a0"
ENGLISH = "customer,bread,milk\nAnn,3,0\nBob,0,12\n"
GERMAN = "Kunde;Brot;Käse\nJörg;3;0\nBärbel;0;12\n"
FRENCH = "Élève;pain;lait\nZoé;3;0\nRené;0;12\n"
COUNTS = [[3, 0], [0, 12]]
LARGE = [[1234, 0], [3, 1234567]]
MONEY = [[1234.5, 0], [3, 0.75]]


class Case(NamedTuple):
    """A file; its counts, or a sentence and the options that lead to them."""

    name: str
    content: bytes
    counts: list
    sentence: str
    options: dict
    rows: tuple = ()
    columns: tuple = ()
    # Of tables with clusters, the cluster of each row by its name.
    truth: dict | None = None


def case(
    name, held, counts, sentence="", rows=(), columns=(), encoding="utf-8", **options
):
    content = held if isinstance(held, bytes) else held.encode(encoding)
    truth = options.pop("truth", None)
    return Case(name, content, counts, sentence, options, rows, columns, truth)


def _languages():
    english, german, french = ("Ann", "Bob"), ("Jörg", "Bärbel"), ("Zoé", "René")
    yield case("english.csv", ENGLISH, COUNTS, rows=english)
    yield case("german-bom.csv", GERMAN, COUNTS, rows=german, encoding="utf-8-sig")
    windows = FRENCH.replace("\n", "\r\n")
    yield case("french-windows.csv", windows, COUNTS, rows=french)
    tabs = windows.replace(";", "\t")
    yield case("french-unicode.txt", tabs, COUNTS, rows=french, encoding="utf-16")
    yield case("german-no-last-end.csv", GERMAN.rstrip(), COUNTS, rows=german)
    packed = gzip.compress(GERMAN.encode(), mtime=0)
    yield case("german.csv.gz", packed, COUNTS, rows=german)
    yield case("old-mac.csv", ENGLISH.replace("\n", "\r"), COUNTS, rows=english)
    for encoding in ("cp1252", "mac-roman"):
        yield case(
            f"german-{encoding}.csv",
            GERMAN,
            COUNTS,
            r"is not in UTF-8 \(byte 0x\w\w\); save the file as UTF-8, or pass "
            "encoding=, such as 'cp1252'",
            german,
            encoding=encoding,
            encoding_=encoding,
        )


def _excel():
    yield case("sep.csv", f"sep=;\r\n{GERMAN}", COUNTS, rows=("Jörg", "Bärbel"))
    yield case("sep-tab.csv", "sep=\t\nk\ta,b\tc\nx\t3\t0\ny\t0\t12\n", COUNTS)
    yield case("sep-bom.csv", f"sep=;\n{GERMAN}", COUNTS, encoding="utf-8-sig")
    yield case("sep-quoted.csv", f'"sep=;"\n{GERMAN}', COUNTS)
    yield case("blank-columns.csv", "k;a;b;;\nx;3;0;;\ny;0;12;;\n", COUNTS)
    yield case("blank-rows.csv", "k;a;b\nx;3;0\ny;0;12\n;;\n;;\n", COUNTS)
    yield case("blank-middle.csv", "k;a;b\nx;3;0\n;;\ny;0;12\n", COUNTS)
    yield case("blank-first.csv", "\n\nk;a;b\nx;3;0\ny;0;12\n", COUNTS)
    yield case("title.csv", "Umsatz 2024;;\n;;\nk;a;b\nx;3;0\ny;0;12\n", COUNTS)
    yield case("quoted.csv", '"k","a","b"\n"x","3","0"\n"y","0","12"\n', COUNTS)
    lines = 'k;"a\nb";c\nx;3;0\ny;0;12\n'
    yield case("line-end-in-name.csv", lines, COUNTS, columns=("a\nb", "c"))
    doubled = 'k;"a ""b""";"c;d"\nx;3;0\ny;0;12\n'
    yield case("quotes-in-name.csv", doubled, COUNTS, columns=('a "b"', "c;d"))
    yield case(
        "cell-without-a-name.csv",
        "k;a;b;\nx;3;0;\ny;0;12;7\n",
        COUNTS,
        "line 3, column 4 has no name but holds '7'; give it one, or clear the cell",
        repaired="k;a;b;\nx;3;0;\ny;0;12;\n",
    )


def _numbers():
    thousands = "may be thousands or a fraction. Pass thousands='.' or "
    grouped = "k;a;b\nx;1{0}234;0\ny;3;1{0}234{0}567\n"
    yield case(
        "german-thousands.csv", grouped.format("."), LARGE, thousands, thousands="."
    )
    for name, space in (("space", " "), ("narrow", NARROW)):
        yield case(
            f"french-{name}.csv",
            grouped.format(space),
            LARGE,
            "pass thousands=' '",
            thousands=" ",
        )
    yield case(
        "swiss.csv", grouped.format("'"), LARGE, 'pass thousands="\'"', thousands="'"
    )
    quoted = 'k,a,b\nx,"1,234",0\ny,3,"1,234,567"\n'
    yield case("us.csv", quoted, LARGE, "pass thousands=',' or decim", thousands=",")
    commas = "k;a;b\nx;1234,5;0\ny;3;0,75\n"
    yield case("comma.csv", commas, MONEY, "pass decimal=','", decimal=",")
    euros = "k;a;b\nx;1.234,50 €;0,00 €\ny;3,00 €;0,75 €\n"
    yield case("euros.csv", euros, MONEY, "pass thousands='.'", thousands=".")
    narrow = f"k;a;b\nx;1{NARROW}234,50{BREAKLESS}€;0\ny;3;0,75\n"
    yield case(
        "euros-french.csv",
        narrow,
        MONEY,
        "pass thousands=' ', decimal=','",
        thousands=" ",
        decimal=",",
    )
    dollars = 'k,a,b\nx,"$1,234.50",$0.00\ny,$3.00,$0.75\n'
    yield case("dollars.csv", dollars, MONEY, "pass thousands=','", thousands=",")
    yield case("plain-dollars.csv", "k,a,b\nx,$3,$0\ny,$0,$12\n", COUNTS)
    yield case("point-zero.csv", "k,a,b\nx,3.0,0.0\ny,0.0,12.0\n", COUNTS)
    yield case("exponents.csv", "k,a,b\nx,3e0,0\ny,0,1.2E+01\n", COUNTS)
    yield case("spaces.csv", "k, a, b\nx, 3, 0\ny, 0, 12\n", COUNTS)
    words = "".join(
        f"{i};{w};{w}\n"
        for i, w in enumerate(["NA", "n/a", "-", "NULL", "#N/A", "NaN"])
    )
    yield case(
        "missing.csv",
        f"k;a;b\nx;3;\ny;;12\n{words}",
        [*COUNTS, *[[0, 0]] * 6],
        "Fill in 0, or pass empty='zero'",
        empty="zero",
    )


def _tables():
    lines = ["1.1.;Ann;milk;1", "1.1.;Ann;milk;2", "2.1.;Bob;tea;5", "3.1.;Bob;tea;7"]
    long = "\n".join(["date;customer;product;n", *lines])
    yield case(
        "long.csv",
        long,
        COUNTS,
        r"Read order lines with triples=\['customer', 'product', 'n'\]",
        rows=("Ann", "Bob"),
        triples=("customer", "product", "n"),
    )
    yield case("triples.csv", "who,what,n\nAnn,milk,3\nBob,tea,12\n", COUNTS)
    ones = "who,what\n" + "Ann,milk\n" * 3 + "Bob,tea\n" * 12
    yield case(
        "pairs.csv", ones, COUNTS, "pass text=", rows=("Ann", "Bob"), triples=True
    )
    labelled = "k,kind,a,b\nx,u,3,0\ny,v,0,12\n"
    sentence = r"with drop=\['kind'\], or compare clusters with it by labels=\['kind'\]"
    yield case("labels.csv", labelled, COUNTS, sentence, drop="kind")
    yield case("labels-kept.csv", labelled, COUNTS, sentence, labels="kind")
    yield case("r.csv", '"a","b"\n"x",3,0\n"y",0,12\n', COUNTS, rows=("x", "y"))
    yield case("pandas.csv", ",a,b\n0,3,0\n1,0,12\n", COUNTS, rows=("0", "1"))
    yield case("ids.csv", "sample_id,a,b\n1,3,0\n2,0,12\n", COUNTS, rows=("1", "2"))
    yield case("otus.tsv", "# from biom\n#OTU ID\ts\tt\no\t3\t0\np\t0\t12\n", COUNTS)
    bare = "3,0\n0,12\n"
    yield case("other-delimiters.csv", "k,a;b;c,d\nx;y;z,3,0\ny,0,12\n", COUNTS)
    yield case("no-header.csv", bare, COUNTS, "pass header=False if", header=False)
    yield case("bar.txt", "k|a|b\nx|3|0\ny|0|12\n", COUNTS)
    yield case(
        "twice.csv",
        "k,a,a\nx,3,0\ny,0,12\n",
        COUNTS,
        "are both called 'a'; give them different names",
        repaired="k,a,b\nx,3,0\ny,0,12\n",
    )
    yield case(
        "short-line.csv",
        "k,a,b\nx,3,0\ny,0\n",
        COUNTS,
        "line 3 has 2 fields, not 3",
        repaired="k,a,b\nx,3,0\ny,0,12\n",
    )
    yield case(
        "minus.csv",
        "k,a,b\nx,3,-1\ny,0,12\n",
        COUNTS,
        "line 2, column 'b' holds -1; counts are 0 or more",
        repaired="k,a,b\nx,3,0\ny,0,12\n",
    )


def _objects(*rows):
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _packed(**columns):
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def _workbook(rows):
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True}) as book:
        sheet = book.add_worksheet("orders")
        for at, row in enumerate(rows):
            sheet.write_row(at, 0, row)
    return file.getvalue()


def _other_formats():
    style, missing = "pass thousands='.'", "or pass empty='zero'"
    yield case(
        "kunden.jsonl",
        _objects({"Kunde": "Jörg", "Brot": 3, "Käse": 0}, {"Kunde": "Zoé", "Käse": 12}),
        COUNTS,
        f"line 2, column 'Brot' is empty. Fill in 0, {missing}",
        rows=("Jörg", "Zoé"),
        empty="zero",
    )
    yield case(
        "umsatz.jsonl",
        _objects({"k": "x", "a": "1.234,50 €", "b": 0}, {"k": "y", "a": 3, "b": 0.75}),
        MONEY,
        style,
        thousands=".",
    )
    yield case(
        "orders.jsonl",
        _objects(
            {"who": "Ann", "what": "milk", "n": 3},
            {"who": "Bob", "what": "tea", "n": 12},
        ),
        COUNTS,
        rows=("Ann", "Bob"),
    )
    yield case(
        "umsatz.parquet",
        _packed(k=["x", "y"], a=["1.234,50 €", "3"], b=[0, 0.75]),
        MONEY,
        style,
        rows=("x", "y"),
        thousands=".",
    )
    yield case(
        "missing.parquet",
        _packed(k=["x", "y"], a=[3, None], b=["NA", "12"]),
        COUNTS,
        missing,
        empty="zero",
    )
    yield case(
        "labels.parquet",
        _packed(k=["x", "y"], kind=["u", "v"], a=[3, 0], b=[0, 12]),
        COUNTS,
        r"with drop=\['kind'\], or compare clusters with it by labels=\['kind'\]",
        labels="kind",
    )


GOODS = ["bread", "milk", "eggs", "beer", "wine", "crisps", "nappies", "wipes", "toys"]


def _clustered(n=60, seed=0):
    """Counts of 9 columns in 3 clusters, by the number of the row."""
    rates = np.full((3, 9), 1.0)
    for k in range(3):
        rates[k, 3 * k : 3 * k + 3] = 12
    return np.random.default_rng(seed).poisson(rates[np.arange(n) % 3])


def _lines(header, rows):
    return "".join(",".join(map(str, row)) + "\n" for row in [header, *rows])


def _named(X, first="site"):
    return _lines(
        [first, *GOODS], ([f"p{i}", *row] for i, row in enumerate(X.tolist()))
    )


def _orders():
    """Order lines of 60 customers, in any order."""
    X, rng = _clustered(), np.random.default_rng(1)
    lines = [
        (500 + i, f"2024-{1 + t % 12:02d}-{1 + t % 28:02d}", GOODS[j], 1, 2.5)
        for i, j in np.argwhere(X).tolist()
        for t in rng.integers(0, 300, X[i, j]).tolist()
    ]
    lines = [lines[at] for at in rng.permutation(len(lines)).tolist()]
    names = ["order_id", "customer_id", "date", "product", "quantity", "unit_price"]
    rows = [(10_000 + at, *line) for at, line in enumerate(lines)]
    truth = {str(500 + i): i % 3 for i in range(60)}
    return names, rows, truth


def _order_lines():
    names, rows, truth = _orders()
    advice = r"Read order lines with triples=\['customer_id', 'product', 'quantity'\]"
    triples = {"triples": ("customer_id", "product", "quantity"), "truth": truth}
    objects = [dict(zip(names, row, strict=True)) for row in rows]
    columns = {name: [row[name] for row in objects] for name in names}
    contents = {
        "orders.csv": _lines(names, rows),
        "orders-of-a-shop.jsonl": _objects(*objects),
        "orders.parquet": _packed(**columns),
        "orders.xlsx": _workbook([names, *rows]),
    }
    for name, content in contents.items():
        yield case(name, content, None, advice, **triples)
    each = _lines([*names[1:4], names[5]], [(*row[1:4], row[5]) for row in rows])
    advice = r"Read order lines with triples=\['customer_id', 'product'\]"
    pairs = {"triples": ("customer_id", "product"), "truth": truth}
    yield case("purchases.csv", each, None, advice, **pairs)


def _values():
    truth = {f"p{i}": i % 3 for i in range(60)}
    X = _clustered()
    shares = X / X.sum(axis=1, keepdims=True)
    for name, total, digits in (("shares.csv", 1, 4), ("percentages.csv", 100, 1)):
        yield case(
            name,
            _named((total * shares).round(digits)),
            None,
            rf"sum to {total}: these are proportions, .* by {1000 // total} and round",
            truth=truth,
            repaired=_named((1000 * shares).round().astype(int)),
        )
    for name, cell in (("less", "<5"), ("percent", "5%"), ("true", "TRUE"), ("q", "?")):
        wide = "who,bread,milk\nAnn,{},0\nBob,0,12\nEve,2,2\n"
        yield case(
            f"cell-{name}.csv",
            wide.format(cell),
            [*COUNTS, [2, 2]],
            f"line 2, column 'bread' holds {re.escape(repr(cell))}, .* Correct the",
            repaired=wide.format(3),
        )


def _texts():
    words = [
        "ball goal match team win",
        "bank loan money rate tax",
        "film star song show act",
    ]
    rng = np.random.default_rng(0)
    bodies = [" ".join(rng.choice(words[i % 3].split(), 12)) for i in range(30)]
    heads = [f"News {i} of {words[i % 3].split()[i % 5]} and others" for i in range(30)]
    truth = {str(i): i % 3 for i in range(30)}
    rows = [
        [i, head, body]
        for i, (head, body) in enumerate(zip(heads, bodies, strict=True))
    ]
    yield case("titles.csv", _lines(["id", "title", "body"], rows), None, truth=truth)
    yield case(
        "two-texts.csv",
        _lines(["id", "lead", "body"], rows),
        None,
        r"2 columns contain text. Pass those .*: text=\['lead', 'body'\]",
        text=["lead", "body"],
        truth=truth,
    )


CASES = [
    *(*_languages(), *_excel(), *_numbers(), *_tables(), *_other_formats()),
    *(*_order_lines(), *_values(), *_texts()),
]


def write(case, folder):
    path = Path(folder, case.name)
    path.write_bytes(case.content)
    return path


@pytest.mark.filterwarnings("ignore:X contains values that are not integers")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_file_is_read_or_its_advice_leads_to_a_fit(case, tmp_path):
    path = write(case, tmp_path)
    options = dict(case.options)
    repaired = options.pop("repaired", None)
    if "encoding_" in options:
        options["encoding"] = options.pop("encoding_")
    if case.sentence:
        with pytest.raises(DataFormatError) as caught:
            read_counts(path)
        message = str(caught.value)
        assert str(path) in message
        assert re.search(case.sentence, message), message
        if repaired is not None:
            path.write_text(repaired)
    table = read_counts(path, **options)
    if case.truth is not None:
        labels = ThreeCPO(3, random_state=0).fit(table).labels_
        truth = [case.truth[name] for name in table.row_names]
        assert adjusted_rand_score(truth, labels) > 0.9
        return
    np.testing.assert_array_equal(table.X.toarray(), case.counts)
    for names, expected in (
        (table.row_names, case.rows),
        (table.column_names, case.columns),
    ):
        assert not expected or list(names) == list(expected)
    ThreeCPO(1).fit(table)


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    for each in CASES:
        write(each, sys.argv[1])
