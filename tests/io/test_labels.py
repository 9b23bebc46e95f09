"""Labels of rows: of several kinds in every format, or in a table of their own."""

import json
import warnings

import h5py
import numpy as np
import pandas as pd
import pytest
from tables import PLAIN, kinds_of, refused

from threecpo import CountTable, ThreeCPO, read_counts, write_counts
from threecpo.io import DataFormatError

TYPES, DONORS = ["T", "", "B", "T"], ["10", "9", "=2+3", "9"]
COUNTS = np.array([[3, 0], [0, 5], [1, 1], [0, 2]])
KINDS = {"type": TYPES, "donor": DONORS}
TABLE = CountTable(
    COUNTS, row_names=["a", "b", "c", "d"], column_names=["ants", "bees"], labels=KINDS
)
WRITTEN = ["t.csv", "t.npz", "t.parquet", "t.h5ad"]


def written(path, table=TABLE, **options):
    write_counts(table, path, **options)
    return path


@pytest.mark.parametrize("name", WRITTEN)
def test_all_kinds_come_back_under_their_names(name, tmp_path):
    path = written(tmp_path / name)
    asked = {} if name == "t.npz" else {"labels": ["type", "donor"]}
    table = read_counts(path, **asked)
    assert kinds_of(table) == KINDS
    assert table.label_kind == "type"
    assert table.labels.tolist() == [1, -1, 0, 1]
    np.testing.assert_array_equal(table.X.toarray(), COUNTS)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.h5ad"])
def test_the_first_that_is_asked_for_is_the_first(name, tmp_path):
    path = written(tmp_path / name)
    table = read_counts(path, labels=["donor", "type", "donor"])
    assert list(kinds_of(table)) == ["donor", "type"]
    assert list(table.label_names) == ["9", "10", "=2+3"]
    assert table.shape == COUNTS.shape


def test_only_the_first_kind_may_be_called_otherwise(tmp_path):
    path = written(tmp_path / "t.csv", labels="kind")
    assert path.read_text().startswith(",kind,donor,ants,bees\n")
    with pytest.raises(DataFormatError, match="a column is called 'donor'"):
        write_counts(TABLE, tmp_path / "u.csv", labels="donor")
    with pytest.raises(DataFormatError, match="a column is called 'ants'"):
        write_counts(TABLE, tmp_path / "u.csv", labels="ants")


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_texts_have_them_too(kind, tmp_path):
    texts = ["one ant walks here", "two bees fly there", "ants and bees", "no bee"]
    path = tmp_path / f"t.{kind}"
    frame = pd.DataFrame({"words": texts} | KINDS)
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    table = read_counts(
        path, text="words", labels=["type", "donor"], text_options={"stem": None}
    )
    assert kinds_of(table) == KINDS


def test_lines_that_are_not_tidy_keep_the_order_of_rows(tmp_path):
    lines = ["id,type,ants,donor", *(f"{i},t{i % 3},{i},d{i % 7}" for i in range(9000))]
    lines[5001] = '5000,"t2",5000,"d2"'
    (tmp_path / "t.csv").write_text("\n".join(lines))
    table = read_counts(tmp_path / "t.csv", labels=["type", "donor"])
    assert kinds_of(table) == {
        "type": [f"t{i % 3}" for i in range(9000)],
        "donor": [f"d{i % 7}" for i in range(9000)],
    }


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"label_kinds": np.array(["type", "type"])}, "label_kinds are not names"),
        ({"label_kinds": np.arange(2)}, "label_kinds are of type int64"),
        ({"label_kinds": np.array([], dtype=str)}, "labels of some kind are missing"),
        ({"label_kinds": np.array(["type", "a", "b"])}, "labels of 'b' are missing"),
        ({"labels_1": np.array(["x"])}, "labels 'donor' has 1 values for 4 rows"),
    ],
)
def test_damaged_kinds_of_an_npz_are_one_line(changes, reason, tmp_path):
    path = written(tmp_path / "t.npz")
    with np.load(path) as arrays:
        np.savez(path, **dict(arrays) | changes)
    refused(path, reason)


SAMPLES = "k,a,b\ns1,3,0\ns2,0,12\ns3,1,1\n"
FRAME = pd.DataFrame(
    {"sample": ["s3", "s1", "s2"], "site": ["gut", "skin", None], "age": [4, 7, 9]}
)


@pytest.fixture
def counts(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text(SAMPLES)
    return path


def _write(frame, path):
    if path.suffix == ".xlsx":
        frame.to_excel(path, index=False)
    elif path.suffix == ".parquet":
        frame.set_index("sample").to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ";")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
def test_labels_are_found_by_the_names_of_rows(counts, tmp_path, suffix):
    metadata = _write(FRAME, tmp_path / f"m{suffix}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read_counts(counts, metadata=metadata, labels=["age", "site"])
    kinds = kinds_of(table)
    assert kinds == {"age": ["7", "9", "4"], "site": ["skin", "", "gut"]}
    assert list(table.label_names) == ["4", "7", "9"]
    assert table.X.toarray().tolist() == [[3, 0], [0, 12], [1, 1]]


def _h5(path):
    with h5py.File(path, "w") as file:
        group = file.create_group("matrix")
        parts = {"data": [3, 1, 50], "indices": [0, 2, 1], "indptr": [0, 2, 3]}
        parts |= {"shape": [3, 2], "barcodes": ["a", "b"], "features/id": list("xyz")}
        for name, values in parts.items():
            group[name] = values


def _biom(path):
    with h5py.File(path, "w") as file:
        file["sample/ids"], file["observation/ids"] = ["a", "b"], list("xyz")
        parts = {"data": [3.0, 1.0, 50.0], "indices": [0, 2, 1], "indptr": [0, 2, 3]}
        for name, values in parts.items():
            file[f"sample/matrix/{name}"] = values
        file["sample/metadata/site"] = ["gut", "skin"]
        file["sample/metadata/lineage"] = [["x", "y"], ["x", "z"]]


def _json_biom(path):
    samples = [{"id": "a", "metadata": {"site": "gut"}}, {"id": "b", "metadata": None}]
    rows = [{"id": name} for name in "xyz"]
    data = [[0, 0, 3], [2, 0, 1], [1, 1, 50]]
    path.write_text(json.dumps({"rows": rows, "columns": samples, "data": data}))


WRITERS = {
    "t.h5": _h5,
    "t.biom": _biom,
    "t-json.biom": _json_biom,
    **{name: lambda path: write_counts(PLAIN, path) for name in ("t.npz", "t.h5ad")},
    "folder": lambda path: write_counts(PLAIN, path, format="10x"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_takes_labels_from_a_table(name, tmp_path):
    path, metadata = tmp_path / name, tmp_path / "m.csv"
    WRITERS[name](path)
    metadata.write_text("cell,donor,age\nb,D2,3\na,D1,4\n")
    table = read_counts(path, metadata=metadata, labels=["donor", "age"])
    assert kinds_of(table) == {"donor": ["D1", "D2"], "age": ["4", "3"]}
    assert table.X.toarray().tolist() == [[3, 0, 1], [0, 50, 0]]


@pytest.mark.parametrize(("name", "sites"), [("t.biom", "skin"), ("t-json.biom", "")])
def test_biom_has_metadata_of_samples(name, sites, tmp_path):
    WRITERS[name](tmp_path / name)
    table = read_counts(tmp_path / name, labels="site")
    assert list(table.label_kinds["site"]) == ["gut", sites]
    refused(tmp_path / name, r"has no column 'x' for labels=. Available: '", labels="x")


def test_a_taxonomy_is_no_label(tmp_path):
    _biom(tmp_path / "t.biom")
    refused(tmp_path / "t.biom", "is not a list of values", labels="lineage")


def test_labels_of_both_tables_in_the_order_asked_for(tmp_path, counts):
    metadata = _write(FRAME, tmp_path / "m.csv")
    counts.write_text("k,donor,a\ns1,D1,3\ns2,D2,4\ns3,D1,5\n")
    table = read_counts(counts, metadata=metadata, labels=["site", "donor", "age"])
    assert list(table.label_kinds) == ["site", "donor", "age"]
    assert list(table.label_kinds["donor"]) == ["D1", "D2", "D1"]
    npz = tmp_path / "t.npz"
    write_counts(CountTable([[1], [2]], labels={"u": [1, 2], "v": [3, 4]}), npz)
    assert list(read_counts(npz, labels="v").label_kinds) == ["v"]
    refused(npz, r"no column 'w' for labels=\. Available: 'u'", labels="w")


def test_what_is_missing_here_or_there_is_counted(tmp_path, counts):
    metadata = tmp_path / "m.csv"
    metadata.write_text("sample,site\ns9,x\n#q2:types,categorical\ns1,gut\n,\n")
    sentence = (
        r"m\.csv: 2 of 3 rows have no metadata \('s2', 's3'\), and 1 of 2 names in it "
        r"has no row of counts \('s9'\)"
    )
    advice = r"; leave rows without metadata out by only_matched=True\.$"
    with pytest.warns(UserWarning, match=sentence + advice):
        table = read_counts(counts, metadata=metadata, labels="site")
    assert table.labels.tolist() == [0, -1, -1]
    with pytest.warns(UserWarning, match=r"csv: 1 of 2 names in it has no row .*\)\.$"):
        table = read_counts(counts, metadata=metadata, labels="site", only_matched=True)
    assert list(table.row_names) == ["s1"]
    assert list(table.label_kinds["site"]) == ["gut"]
    assert table.X.toarray().tolist() == [[3, 0]]
    ThreeCPO(1).fit(table)


def test_rows_without_metadata_need_metadata(counts):
    with pytest.raises(ValueError, match="only_matched= is about metadata=, which is"):
        read_counts(counts, only_matched=True)


def test_a_table_that_lies_on_its_side(tmp_path):
    path, metadata = tmp_path / "otus.tsv", tmp_path / "map.tsv"
    path.write_text("#OTU ID\ts1\ts2\ttaxonomy\no1\t4\t0\tFungi\no2\t1\t2\tAlgae\n")
    metadata.write_text("#SampleID\tsite\ns2\tskin\ns1\tgut\n")
    options = {"transpose": True, "drop": "taxonomy", "labels": "site"}
    refused(path, "the new rows with metadata=", **options)
    table = read_counts(path, metadata=metadata, **options)
    assert list(table.label_kinds["site"]) == ["gut", "skin"]
    ThreeCPO(1).fit(table)


MISTAKES = {
    "no labels": (
        "sample,site\ns1,gut\n",
        {"labels": ()},
        "name the columns to take by labels=; it has 'site'",
        {"labels": "site"},
    ),
    "another column": (
        "sample,site\ns1,gut\n",
        {"labels": "sites"},
        "it has no column 'sites' for labels=. Available: 'site'",
        {"labels": "site"},
    ),
    "names elsewhere": (
        "n,site,sample\n1,gut,s1\n2,gut,s2\n",
        {},
        r"\('1', '2'\) is that of a row \('s1', .*; pass metadata_index='sample', wh",
        {"metadata_index": "sample"},
    ),
    "other names": (
        "sample,site\nS1,gut\n",
        {},
        r"\('S1'\) is that of a row \('s1', 's2', 's3'\); write them alike, or pass",
        {"mended": "sample,site\ns1,gut\n"},
    ),
    "names twice": (
        "sample,site,n\ns1,gut,s1\ns2,x,s2\ns1,y,s3\ns2,y,s4\n",
        {},
        r"column 'sample' names 2 rows more than once \('s1', 's2'\); keep one line",
        {"metadata_index": "n"},
    ),
    "an unknown index": (
        "sample,site\ns1,gut\n",
        {"metadata_index": "x"},
        "it has no column 'x' for metadata_index=. Available: 'sample', 'site'",
        {"metadata_index": "sample"},
    ),
    "no names of rows": (
        "sample,site\ns1,gut\n",
        {"index": False, "drop": "k"},
        "the counts have none; pass index= if a column",
        {"index": "k"},
    ),
    "another encoding": (
        "sample,site\ns1,Käse\n".encode("cp1252"),
        {},
        "m.csv: line 2 is not in UTF-8 .* pass encoding=",
        {"encoding": "cp1252"},
    ),
}


@pytest.mark.filterwarnings("ignore:.*has no (metadata|row of counts)")
@pytest.mark.filterwarnings("ignore:.*have no metadata")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_every_advice_leads_to_a_fit(mistake, tmp_path, counts):
    text, options, reason, mended = MISTAKES[mistake]
    metadata = tmp_path / "m.csv"
    metadata.write_bytes(text if isinstance(text, bytes) else text.encode())
    given = {"metadata": metadata, "labels": "site"}
    refused(counts, reason, **given | options)
    if "mended" in mended:
        metadata.write_text(mended["mended"])
        mended = {}
    table = read_counts(counts, **given | mended)
    assert table.labels[0] >= 0
    ThreeCPO(1).fit(table)


def test_an_encoding_of_the_counts_leaves_metadata_as_they_are(tmp_path):
    path, metadata = tmp_path / "c.csv", tmp_path / "m.csv"
    path.write_bytes("k;a\nBär;1\nOtt;2\n".encode("cp1252"))
    metadata.write_text("k;site\nBär;Käse\nOtt;x\n", encoding="utf-8")
    table = read_counts(path, metadata=metadata, labels="site", encoding="cp1252")
    assert list(table.label_kinds["site"]) == ["Käse", "x"]


def test_other_files_are_no_metadata(tmp_path, counts):
    np.savez(tmp_path / "m.npz", a=1)
    refused(
        counts,
        r"is a table \(csv, .*\), not npz",
        metadata=tmp_path / "m.npz",
        labels="a",
    )
    refused(counts, r"no\.csv does not exist", metadata=tmp_path / "no.csv", labels="a")
    with pytest.raises(ValueError, match="metadata=, which is not given"):
        read_counts(counts, metadata_index="n")
    write_counts(PLAIN, tmp_path / "t.mtx")
    refused(tmp_path / "t.mtx", "in a separate file with metadata=", labels="site")
