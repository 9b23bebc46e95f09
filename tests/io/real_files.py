"""Small files as people have them, with what becomes of each.

``python tests/io/real_files.py FOLDER`` writes all of them there.
"""

import gzip
import io
import json
import sys
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyarrow import parquet

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


def case(
    name, text, counts, sentence="", rows=(), columns=(), encoding="utf-8", **options
):
    content = text if isinstance(text, bytes) else text.encode(encoding)
    return Case(name, content, counts, sentence, options, rows, columns)


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
    thousands = "may be a number of thousands or a fraction; pass thousands='.' or "
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
        "fill in 0 for no count, or pass empty='zero'",
        empty="zero",
    )


def _tables():
    long = "date;who;what;n\n1.1.;Ann;milk;3\n2.1.;Bob;tea;12\n"
    yield case(
        "long.csv",
        long,
        COUNTS,
        "leave them out by drop=",
        rows=("Ann", "Bob"),
        triples=("who", "what", "n"),
    )
    yield case("triples.csv", "who,what,n\nAnn,milk,3\nBob,tea,12\n", COUNTS)
    ones = "who,what\n" + "Ann,milk\n" * 3 + "Bob,tea\n" * 12
    yield case(
        "pairs.csv", ones, COUNTS, "pass text=", rows=("Ann", "Bob"), triples=True
    )
    labelled = "k,kind,a,b\nx,u,3,0\ny,v,0,12\n"
    sentence = r"leave it out by drop=\['kind'\] or pass it as labels= or index="
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


def _other_formats():
    style, missing = "pass thousands='.'", "or pass empty='zero'"
    yield case(
        "kunden.jsonl",
        _objects({"Kunde": "Jörg", "Brot": 3, "Käse": 0}, {"Kunde": "Zoé", "Käse": 12}),
        COUNTS,
        f"line 2, column 'Brot' is empty; fill in 0 for no count, {missing}",
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
        r"leave it out by drop=\['kind'\] or pass it as labels= or index=",
        labels="kind",
    )


CASES = [*_languages(), *_excel(), *_numbers(), *_tables(), *_other_formats()]


def write(case, folder):
    path = Path(folder, case.name)
    path.write_bytes(case.content)
    return path


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    for each in CASES:
        write(each, sys.argv[1])
