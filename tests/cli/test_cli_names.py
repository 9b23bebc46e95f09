"""Names of clusters from a file."""

import json
import os
from pathlib import Path

import pytest
from running import assert_one_line, contents, runner, table

import threecpo
from threecpo import results


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


@pytest.fixture
def npz(tmp_path):
    threecpo.write_counts(table(), tmp_path / "cells.npz")
    return tmp_path / "cells.npz"


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("names.txt", "T cells\n\nB cells\nNK\n"),
        ("names.csv", "cluster,size,name\n1,9,B cells\n0,9,T cells\n2,9,NK\n"),
        ("names.json", '["T cells", "B cells", "NK"]'),
        ("names.json", '{"0": "T cells", "2": "NK", "1": "B cells"}'),
    ],
)
def test_names_come_from_a_file(file, content, run, npz):
    Path(file).write_text(content, encoding="utf-8")
    done = run("fit", npz, "-k", 3, "--names", file, "-o", "out")
    assert done.code == 0, done.err
    assert "T cells" in done.out
    expected = ["T cells", "B cells", "NK"]
    assert results.read_table("out/clusters.csv")["name"].tolist() == expected
    assert threecpo.load("out/model.npz").cluster_names_.tolist() == expected
    # The table itself, edited or not, is such a file.
    again = run("fit", npz, "-k", 3, "--names", "out/clusters.csv", "-o", "again")
    assert again.code == 0, again.err
    assert results.read_table("again/clusters.csv")["name"].tolist() == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [("7", "list or an object"), ("{", "holds no names"), ('["a"]', "1 names for 3")],
)
def test_a_file_without_names_is_one_line(content, message, run, npz):
    Path("names.json").write_text(content, encoding="utf-8")
    done = run("fit", npz, "-k", 3, "--names", "names.json", "-o", "out")
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not Path("out").exists()


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
    "a cut line": ("n.csv", b"size,cluster,name\n9,0\n", "line 2: there is no name"),
    "deep": ("n.json", b"[" * 100_000, "holds no names of clusters"),
    "large": ("n.txt", b"a" * (2 << 20), "too large for names"),
    "missing": ("n.txt", None, "n.txt"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_names_are_one_line_before_the_fit(name, run, npz, monkeypatch):
    file, content, message = BAD[name]
    if content is not None:
        Path(file).write_bytes(content)
    monkeypatch.setattr("threecpo.ThreeCPO.fit", None)
    done = run("fit", npz, "-k", 3, "--names", file, "-o", "out")
    assert_one_line(done, file, message)
    assert not Path("out").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_is_no_file_is_refused(run, npz, tmp_path):
    os.mkfifo("pipe")
    for name, kind in (("pipe", "a named pipe"), (tmp_path, "a folder")):
        done = run("fit", npz, "-k", 3, "--names", name, "-o", "out")
        assert_one_line(done, f"it is {kind}, not a file")


def test_names_that_do_not_fit_what_was_found_cost_no_results(run, npz):
    Path("n.json").write_text('{"CD19": "B cells"}')
    done = run("fit", npz, "-k", 3, "--names", "n.json", "-o", "out")
    assert done.code == 0, done.err
    assert "There is no cluster 'CD19' to name; they are 0 to 2." in done.err
    assert "threecpo report DIR --names FILE" in done.err
    found = results.read_table("out/clusters.csv")["name"].tolist()
    assert len(found) == 3
    assert "B cells" not in found
    assert json.loads(Path("out/run.json").read_text())["warnings"]


HOSTILE = ['=HYPERLINK("x")', "'-1+1", "</script><b>, \u202e", "@a;b"]


def test_names_like_formulas_come_through_as_they_are(run, npz):
    Path("n.json").write_text(json.dumps(HOSTILE))
    done = run("fit", npz, "-k", 4, "--names", "n.json", "-o", "out")
    assert done.code == 0, done.err
    for line in Path("out/clusters.csv").read_text().splitlines()[1:]:
        assert line.split(",")[1].strip('"')[0] in "'<"
    assert "</script><b>" not in Path("out/report.html").read_text()
    # The table of the fit is a file of names: nothing is added to them.
    again = run("fit", npz, "-k", 4, "--names", "out/clusters.csv", "-o", "again")
    assert again.code == 0, again.err
    for folder in ("out", "again"):
        expected = HOSTILE
        assert results.read_table(f"{folder}/clusters.csv")["name"].tolist() == expected
        assert threecpo.load(f"{folder}/model.npz").cluster_names_.tolist() == expected
        assert set(results.read_table(f"{folder}/labels.csv")["name"]) == {*expected}


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_spreadsheets_of_other_countries(delimiter, run, npz):
    lines = [("cluster", "size", "name"), ("0", "9", "T"), ("1", "8", '"B; x"')]
    text = "\r\n".join(delimiter.join(line) for line in lines)
    Path("n.csv").write_text(f"\ufeff{text}\r\n", encoding="utf-8", newline="")
    done = run("fit", npz, "-k", 3, "--names", "n.csv", "-o", "out")
    assert done.code == 0, done.err
    names = results.read_table("out/clusters.csv")["name"].tolist()
    assert names[:2] == ["T", "B; x"]
    assert names[2] not in ("", "T")


class TestOfAFolder:
    """``threecpo report DIR --names FILE``."""

    @pytest.fixture
    def out(self, run, npz):
        assert run("fit", npz, "-k", 3, "-o", "out").code == 0
        Path("n.txt").write_text("T cells\nB cells\nNK\n")
        return Path("out")

    def test_it_is_as_if_the_fit_had_named_them(self, out, run, npz):
        assert run("fit", npz, "-k", 3, "--names", "n.txt", "-o", "named").code == 0
        done = run("report", out, "--names", "n.txt")
        assert done == (0, "report: out/report.html\n", "")
        found, expected = contents(out), contents("named")
        for name in ("labels.csv", "clusters.csv", "top_columns.csv"):
            assert found[name] == expected[name]
        model = threecpo.load(out / "model.npz")
        assert model.cluster_names_.tolist() == ["T cells", "B cells", "NK"]
        facts, others = (json.loads(each["run.json"]) for each in (found, expected))
        assert facts["cluster_names"] == others["cluster_names"]
        page = found["report.html"].decode()
        assert page.count("<bdi>B cells</bdi>") > 3
        # Results that are ours throughout may be replaced.
        assert run("fit", npz, "-k", 2, "-o", out, "--force").code == 0

    def test_its_own_table_may_be_edited(self, out, run, npz):
        table = out / "clusters.csv"
        first = results.read_table(table)["name"][0]
        edited = table.read_text().replace(f"0,{first},", "0,T cells,")
        table.write_text(edited)
        assert run("report", out, "--names", table).code == 0
        assert table.read_text() == edited
        assert "T cells" in set(results.read_table(out / "labels.csv")["name"])
        # What somebody has edited is not replaced.
        assert_one_line(run("fit", npz, "-k", 2, "-o", out, "--force"), "out")

    @pytest.mark.parametrize(
        "name", [n for n in BAD if n not in ("too few", "missing")]
    )
    def test_bad_names_change_nothing(self, name, out, run):
        file, content, message = BAD[name]
        Path(file).write_bytes(content)
        before = contents(out)
        assert_one_line(run("report", out, "--names", file), file, message)
        assert contents(out) == before

    def test_unknown_names_change_nothing(self, out, run):
        Path("n.json").write_text('{"CD19": "B cells"}')
        before = contents(out)
        assert_one_line(run("report", out, "--names", "n.json"), "no cluster 'CD19'")
        assert contents(out) == before
