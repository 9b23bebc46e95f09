"""Commands on results: cut, merge, split, report, names, files of other programs."""

import json
import os
import re
import zipfile
from pathlib import Path

import anndata
import numpy as np
import pytest
from running import (
    COLUMNS,
    FILES,
    ROWS,
    X,
    assert_one_line,
    contents,
    facts_of,
    rows_of,
    written_csv,
)

import threecpo
from threecpo import results
from threecpo.cli._small_files import read_names
from threecpo.results import table_files


@pytest.fixture
def run(run):
    run.fitted("-k", 5)
    return run


def test_a_cut_needs_no_counts(run):
    table = threecpo.read_counts("cells.npz")
    Path("cells.npz").unlink()
    run("cut", "cells.threecpo", "-k", 3)
    new = Path("cells-3.threecpo")
    assert {path.name for path in new.iterdir()} == FILES
    model = threecpo.load(new / "model.npz")
    rows, before = (rows_of(name) for name in (new, "cells.threecpo"))
    assert model.n_clusters_ == 3
    np.testing.assert_array_equal(model.labels_, model.predict(table))
    np.testing.assert_array_equal(rows["cluster"], model.labels_)
    assert list(rows) == list(before)
    np.testing.assert_array_equal(rows["map_x"], before["map_x"])
    run("report", new, "--title", "Three & more", "--rows", "sites")
    page = (new / "report.html").read_text(encoding="utf-8")
    assert "<h1>Three &amp; more</h1>" in page
    assert 'id="colour-column"' in page  # by the counts of the fit before
    run.wrong("predict", new, "cells.threecpo")


def test_with_counts_it_goes_on_from_there(run):
    facts = run(
        "cut", "cells.threecpo", "-k", 3, "--counts", "cells.npz", "--json"
    ).json
    model = threecpo.load(Path(facts["output"], "model.npz"))
    assert model.record_.fine is None
    assert facts["changed_from"]["clusters"] == 5
    plain = threecpo.load("cells.threecpo/model.npz").cut(3)
    assert model.loss_ <= plain.loss_


def test_merge_joins_what_is_named(run):
    run("merge", "cells.threecpo", "0,3", "1,2", "-o", "m", "--no-report")
    before = threecpo.load("cells.threecpo/model.npz")
    merged = threecpo.load("m/model.npz")
    np.testing.assert_array_equal(
        merged.labels_, before.merge([[0, 3], [1, 2]]).labels_
    )
    assert not Path("m/report.html").exists()


def lines_of(done):
    """Origin, size and name of each new cluster, as printed."""
    header, *lines = done.out.splitlines()[1:]
    assert header.split()[:5] == ["new", "=", "old", "size", "name"]
    parts = [re.split(r"\s{2,}", line.strip()) for line in lines]
    return [each[1:4] for number, each in enumerate(parts) if each[0] == str(number)]


def test_old_numbers_are_printed_and_kept(run):
    before = threecpo.load("cells.threecpo/model.npz")
    done = run("merge", "cells.threecpo", "1,4", "-o", "m")
    model = threecpo.load("m/model.npz")
    origins = facts_of("m")["changed_from"]["origins"]
    for new, old in enumerate(origins):
        inside = np.isin(before.labels_, old)
        np.testing.assert_array_equal(inside, model.labels_ == new)
        assert lines_of(done)[new][0] == " + ".join(map(str, old))
    assert [1, 4] in origins


def test_clusters_may_be_named_in_place_of_numbers(run):
    names = threecpo.load("cells.threecpo/model.npz").cluster_names_.tolist()
    by_name = run("merge", "cells.threecpo", f"{names[0]},{names[3]}", "-o", "a")
    by_number = run("merge", "cells.threecpo", "0,3", "-o", "b")
    assert lines_of(by_name) == lines_of(by_number)


def test_names_are_given_by_old_numbers(run):
    names = {"0": "all", "1": "all", "2": "c", "3": "d", "4": "e"}
    Path("names.json").write_text(json.dumps(names))
    given = ["--names", "names.json"]
    found = lines_of(run("merge", "cells.threecpo", "0,1", *given, "-o", "m"))
    for origin, _, name in found:
        assert name == names[origin.split()[0]]
    # The same in a list, where every line is an old cluster.
    Path("names.txt").write_text("\n".join(names.values()))
    again = run("merge", "cells.threecpo", "0,1", "--names", "names.txt", "-o", "n")
    assert lines_of(again) == found
    # Names of old clusters that stay apart must tell them apart.
    assert_one_line(
        run.wrong("merge", "cells.threecpo", "2,3", *given, "-o", "twice"),
        "both named 'all'",
    )
    assert not Path("twice").exists()


@pytest.mark.parametrize("more", [[], ["--counts", "cells.npz"]])
def test_given_names_stay_with_their_clusters(more, run):
    run("fit", "cells.npz", "-k", 3, "-o", "three")
    Path("names.txt").write_text("kind 0\nkind 1\nkind 2")
    run("report", "three", "--names", "names.txt")
    found = lines_of(run("merge", "three", "0,2", *more))
    assert {origin for origin, *_ in found} == {"0 + 2", "1"}
    for origin, _, name in found:
        assert (name == f"kind {origin}") == ("+" not in origin)
    found = lines_of(run("split", "three", "kind 1", *more))
    assert len(found) == 4
    assert [origin for origin, *_ in found].count("part of 1") == 2
    for origin, _, name in found:
        assert (name == f"kind {origin}") == ("part" not in origin)


def test_a_table_of_other_clusters_is_refused(run):
    run("merge", "cells.threecpo", "0,1", "-o", "m")
    assert_one_line(
        run.wrong("report", "m", "--names", "cells.threecpo/clusters.csv"),
        "describes other clusters: cluster 0 has",
    )


def test_a_split_reads_the_counts_of_the_fit_again(run):
    assert len(lines_of(run("split", "cells.threecpo", 0, "--into", 3))) == 7
    model = threecpo.load("cells-split.threecpo/model.npz")
    table = threecpo.read_counts("cells.npz")
    expected = threecpo.load("cells.threecpo/model.npz").split(table, 0, 3)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    Path("cells.npz").rename("other.npz")
    assert_one_line(
        run.wrong("split", "cells.threecpo", 2, "-o", "new"),
        "split needs the counts of the fit, and cells.npz is not there; pass --counts",
    )


def test_words_for_rows_are_remembered(run):
    run("report", "cells.threecpo", "--rows", "mouse")
    done = run("merge", "cells.threecpo", "0,1")
    assert done.out.startswith("155 mice in 4 clusters")
    done = run("cut", "cells-merged.threecpo", "-k", 2)
    assert done.out.startswith("155 mice in 2 clusters")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("cut", "cells.threecpo"), "either -k or --height"),
        (("cut", "cells.threecpo", "-k", 2, "--height", 1), "either -k or --height"),
        (("cut", "cells.threecpo", "-k", 9), "more than the 5 clusters"),
        (("cut", "cells.npz", "-k", 2), "is not a results folder"),
        (("merge", "cells.threecpo", "0"), "'0' is a single cluster"),
        (("merge", "cells.threecpo", "0,x"), "There is no cluster 'x'"),
        (("merge", "cells.threecpo", "0,9"), "clusters are 0 to 4, or their names"),
        (("split", "cells.threecpo", "7"), "There is no cluster '7'"),
        (("split", "cells.threecpo", "0", "--into", 500), "too few for"),
        (("split", "cells.threecpo", "0", "--counts", "no.npz"), "no.npz"),
        (("merge", "cells.threecpo"), "A,B"),
        (("merge", "nowhere", "0,1"), "is not a results folder"),
    ],
)
def test_bad_input_is_one_line(arguments, text, run):
    before = sorted(Path().iterdir())
    assert_one_line(run.wrong(*arguments), text)
    assert sorted(Path().iterdir()) == before


NAMES = ["T cells", "B cells", "NK"]
BY_CLUSTER = dict(zip("012", NAMES, strict=True))
GOOD = {
    "names.txt": ("T cells\n\nB cells\nNK\n", NAMES),
    "names.csv": ("cluster,size,name\n1,9,B cells\n0,9,T cells\n2,9,NK\n", BY_CLUSTER),
    "semicolon.csv": (
        '\ufeffcluster;name\r\n0;T\r\n1;"B; x"\r\n',
        {"0": "T", "1": "B; x"},
    ),
    "tab.csv": ("cluster\tname\n0\tT\n", {"0": "T"}),
    "list.json": (json.dumps(NAMES), NAMES),
    "names.json": (json.dumps(BY_CLUSTER), BY_CLUSTER),
}


def test_kinds_of_files(tmp_path):
    for name, (content, expected) in GOOD.items():
        (tmp_path / name).write_text(content, encoding="utf-8", newline="")
        assert read_names(tmp_path / name, 3, (9, 9, 9)) == expected, name


BAD = {
    "too few": ("n.txt", b"a\nb\n", "there are 2 names for 3 clusters"),
    "too many": ("n.json", b'["a", "b", "c", "d"]', "there are 4 names for 3"),
    "twice": ("n.txt", b"a\nb\n a \n", "two clusters are named 'a'"),
    "twice in json": ("n.json", b'{"0": "a", "1": "a"}', "two clusters are named 'a'"),
    "cluster twice": ("n.csv", b"cluster,name\n1,a\n1,b\n", "cluster '1' twice"),
    "key twice": ("n.json", b'{"1": "a", "1": "b"}', "names cluster '1' twice"),
    "unknown": ("n.csv", b"cluster,name\n3,a\n", "no cluster 3 to name; they are 0 to"),
    "a number": ("n.json", b'["a", "b", 3]', "a name must be text, not 3"),
    "nothing": ("n.json", b'["a", "b", null]', "a name must be text, not None"),
    "Latin-1": ("n.csv", "cluster,name\n0,\xfc\n".encode("latin-1"), "CSV UTF-8"),
    "UTF-16": ("n.txt", "a\nb\nc\n".encode("utf-16"), "it is not UTF-8 from byte 0 on"),
    "a workbook": ("n.csv", b"PK\x03\x04\xff\xfe", "it is not UTF-8"),
    "a cut line": ("n.csv", b"size,cluster,name\n9,0\n", "line 2: the name is missing"),
    "deep": ("n.json", b"[" * 100_000, "does not contain names of clusters"),
    "large": ("n.txt", b"a" * (2 << 20), "too large for names"),
    "missing": ("n.txt", None, "n.txt"),
}


def test_bad_names_are_refused(tmp_path):
    for file, content, message in BAD.values():
        path = tmp_path / file
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
        with pytest.raises((ValueError, OSError), match=re.escape(message)) as caught:
            read_names(path, 3, (9, 9, 9))
        assert file in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_is_no_file_is_refused(run, npz, tmp_path):
    run.fitted("-k", 3, "--no-report", "-o", "out")
    os.mkfifo("pipe")
    for name, kind in (("pipe", "a named pipe"), (tmp_path, "a folder")):
        assert_one_line(
            run.wrong("report", "out", "--names", name), f"it is {kind}, not a file"
        )


HOSTILE = ['=HYPERLINK("x")', "'-1+1", "</script><b>, \u202e", "@a;b"]


def test_names_like_formulas_come_through_as_they_are(run, npz):
    Path("n.json").write_text(json.dumps(HOSTILE))
    run.fitted("-k", 4, "-o", "out")
    # The table of a fit is a file of names: nothing is added to them.
    for names in ("n.json", "out/clusters.csv"):
        run("report", "out", "--names", names)
        for line in Path("out/clusters.csv").read_text().splitlines()[1:]:
            assert line.split(",")[1].strip('"')[0] in "'<"
        assert "</script><b>" not in Path("out/report.html").read_text()
        assert results.read_table("out/clusters.csv")["name"].tolist() == HOSTILE
        assert threecpo.load("out/model.npz").cluster_names_.tolist() == HOSTILE
        assert set(rows_of("out")["name"]) == {*HOSTILE}


@pytest.fixture
def out(run, npz):
    run.fitted("-k", 3, "-o", "out")
    Path("n.txt").write_text("T cells\nB cells\nNK\n")
    return Path("out")


def test_they_are_in_all_files(out, run, npz):
    done = run("report", out, "--names", "n.txt")
    assert done == (0, "Report: out/report.html\n", "")
    found = contents(out)
    assert results.read_table(out / "clusters.csv")["name"].tolist() == NAMES
    assert set(rows_of(out)["name"]) == {*NAMES}
    assert {*NAMES} < set(results.read_table(out / "top_columns.csv")["name"])
    assert threecpo.load(out / "model.npz").cluster_names_.tolist() == NAMES
    assert json.loads(found["run.json"])["cluster_names"] == NAMES
    page = found["report.html"].decode()
    assert page.count("<bdi>B cells</bdi>") > 3
    # Results that are ours throughout may be replaced.
    run("fit", npz, "-k", 2, "-o", out, "--force")


def test_its_own_table_may_be_edited(out, run, npz):
    table = out / "clusters.csv"
    first = results.read_table(table)["name"][0]
    edited = table.read_text().replace(f"0,{first},", "0,T cells,")
    table.write_text(edited)
    run("report", out, "--names", table)
    assert table.read_text() == edited
    assert "T cells" in set(rows_of(out)["name"])
    # What somebody has edited is not replaced.
    assert_one_line(run.wrong("fit", npz, "-k", 2, "-o", out, "--force"), "out")


def test_bad_names_change_nothing(out, run):
    before = contents(out)
    for content, message in (
        ('{"CD19": "B cells"}', "no cluster 'CD19'"),
        ('["a", "a", "b"]', "two clusters are named 'a'"),
    ):
        Path("n.json").write_text(content)
        assert_one_line(run.wrong("report", out, "--names", "n.json"), message)
        assert contents(out) == before


def test_it_is_made_again_from_the_other_files(run):
    run.fitted("-k", "auto", "--max-clusters", 4)
    before = contents("cells.threecpo")
    Path("cells.npz").unlink()
    Path("cells.threecpo/report.html").unlink()
    done = run("report", "cells.threecpo")
    assert done == (0, "Report: cells.threecpo/report.html\n", "")
    assert contents("cells.threecpo") == before


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"columns": [0], "values": ["AA=="], "strongest": [[0], [0]]}',
        '{"columns": [99], "values": [""], "strongest": []}',
        '{"columns": [true], "values": ["AA=="], "strongest": [[]]}',
    ],
)
def test_damaged_counts_of_the_map_are_refused(run, text):
    run.fitted("-k", 2)
    Path("cells.threecpo/map_counts.json").write_text(text)
    assert_one_line(
        run.wrong("report", "cells.threecpo"),
        "map_counts.json is damaged. Delete it, or run",
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("labels.csv", ""),
        ("labels.csv", "row,cluster,nearest,margin\na,0,0,1\n"),
        ("model.npz", "no model"),
        ("run.json", '{"format": "threecpo-run", "input": 3}'),
        ("k_path.csv", "n_clusters\n1\n"),
    ],
)
def test_damaged_files_are_one_line_and_the_old_report_stays(name, text, run):
    run.fitted("-k", 2)
    Path("cells.threecpo", name).write_text(text)
    before = contents("cells.threecpo")
    assert_one_line(run.wrong("report", "cells.threecpo"))
    assert contents("cells.threecpo") == before


@pytest.mark.parametrize("name", ["labels.csv", "model.npz"])
def test_missing_files(name, run):
    run.fitted("-k", 2)
    Path("cells.threecpo", name).unlink()
    assert_one_line(run.wrong("report", "cells.threecpo"), name)


def test_a_workbook_of_what_was_found(run, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    names = ["=1+1", "+cmd|' /C calc'!A0", "http://a.b", *COLUMNS[3:]]
    written_csv(tmp_path / "t.csv", X, ["=HYPERLINK(1)", *ROWS[1:]], names)
    run("fit", "t.csv", "-k", 3, "-o", "out", "--write", "xlsx")
    book = openpyxl.load_workbook(tmp_path / "out" / "segments.xlsx")
    sheets = ["rows", "clusters", "profile", "markers", "columns", "table"]
    assert book.sheetnames == sheets
    header, *lines = book["table"].values
    assert header == ("row", "cluster", "name", *names)
    assert [list(line[3:]) for line in lines] == X.tolist()
    rows = list(book["rows"].values)
    labels = rows_of(tmp_path / "out")
    assert list(rows[0]) == list(labels)
    assert [row[0] for row in rows[1:]] == labels["row"].tolist()
    assert [row[1] for row in rows[1:]] == labels["cluster"].tolist()
    cells = [cell for sheet in book for line in sheet.iter_rows() for cell in line]
    assert {cell.data_type for cell in cells} <= {"s", "n"}
    assert not any(cell.hyperlink for cell in cells)
    with zipfile.ZipFile(tmp_path / "out" / "segments.xlsx") as file:
        assert not any(b"<f>" in file.read(name) for name in file.namelist())
    run_file = facts_of(tmp_path / "out")
    assert "segments.xlsx" in run_file["files"]
    run("fit", "t.csv", "-k", 3, "-o", "out", "--write", "xlsx", "--force")


def test_more_rows_than_a_sheet_holds(run, monkeypatch, tmp_path):
    monkeypatch.setattr(table_files, "MOST_ROWS", 100)
    assert_one_line(
        run.wrong("fit", "cells.npz", "-k", 3, "-o", "out", "--write", "xlsx"),
        "leave out --write xlsx",
    )
    assert not (tmp_path / "out").exists()


def test_an_anndata_of_what_was_found(run, tmp_path):
    run("fit", "cells.npz", "-k", 3, "-o", "out", "--write", "h5ad")
    adata = anndata.read_h5ad(tmp_path / "out" / "segments.h5ad")
    model = threecpo.load(tmp_path / "out" / "model.npz")
    assert adata.obs_names.tolist() == ROWS
    assert adata.var_names.tolist() == COLUMNS
    np.testing.assert_array_equal(adata.X.toarray(), X)
    assert adata.obs["threecpo"].tolist() == model.labels_.astype(str).tolist()
    assert adata.obs["label"].notna().all()
    groups = {"relevant": 1, "shared": 0, "noise": -1}
    found = adata.var["threecpo_group"].map(groups).tolist()
    assert found == model.column_groups_.tolist()
    run.wrong(
        "fit", "cells.npz", "-k", 3, "--write", "h5ad", "--max-memory", "1GB", "-o", "x"
    )


def test_a_missing_library_is_said_before_the_fit(run, monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "xlsxwriter", None)
    assert_one_line(
        run.wrong("fit", "cells.npz", "-k", 3, "-o", "out", "--write", "xlsx"),
        'pip install "threecpo[io]"',
    )
    assert not (tmp_path / "out").exists()
