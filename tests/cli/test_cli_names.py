"""Names of clusters from a file."""

import json
import os
import re
from pathlib import Path

import pytest
from running import assert_one_line, contents

import threecpo
from threecpo import results
from threecpo.cli._small_files import read_names

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
    assert run("fit", npz, "-k", 3, "--no-report", "-o", "out").code == 0
    os.mkfifo("pipe")
    for name, kind in (("pipe", "a named pipe"), (tmp_path, "a folder")):
        done = run("report", "out", "--names", name)
        assert_one_line(done, f"it is {kind}, not a file")


HOSTILE = ['=HYPERLINK("x")', "'-1+1", "</script><b>, \u202e", "@a;b"]


def test_names_like_formulas_come_through_as_they_are(run, npz):
    Path("n.json").write_text(json.dumps(HOSTILE))
    assert run("fit", npz, "-k", 4, "-o", "out").code == 0
    # The table of a fit is a file of names: nothing is added to them.
    for names in ("n.json", "out/clusters.csv"):
        done = run("report", "out", "--names", names)
        assert done.code == 0, done.err
        for line in Path("out/clusters.csv").read_text().splitlines()[1:]:
            assert line.split(",")[1].strip('"')[0] in "'<"
        assert "</script><b>" not in Path("out/report.html").read_text()
        assert results.read_table("out/clusters.csv")["name"].tolist() == HOSTILE
        assert threecpo.load("out/model.npz").cluster_names_.tolist() == HOSTILE
        assert set(results.read_table("out/labels.csv", results.ROWS)["name"]) == {
            *HOSTILE
        }


class TestOfAFolder:
    """``threecpo report DIR --names FILE``."""

    @pytest.fixture
    def out(self, run, npz):
        assert run("fit", npz, "-k", 3, "-o", "out").code == 0
        Path("n.txt").write_text("T cells\nB cells\nNK\n")
        return Path("out")

    def test_they_are_in_all_files(self, out, run, npz):
        done = run("report", out, "--names", "n.txt")
        assert done == (0, "Report: out/report.html\n", "")
        found = contents(out)
        assert results.read_table(out / "clusters.csv")["name"].tolist() == NAMES
        assert set(results.read_table(out / "labels.csv", results.ROWS)["name"]) == {
            *NAMES
        }
        assert {*NAMES} < set(results.read_table(out / "top_columns.csv")["name"])
        assert threecpo.load(out / "model.npz").cluster_names_.tolist() == NAMES
        assert json.loads(found["run.json"])["cluster_names"] == NAMES
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
        assert "T cells" in set(
            results.read_table(out / "labels.csv", results.ROWS)["name"]
        )
        # What somebody has edited is not replaced.
        assert_one_line(run("fit", npz, "-k", 2, "-o", out, "--force"), "out")

    def test_bad_names_change_nothing(self, out, run):
        before = contents(out)
        for content, message in (
            ('{"CD19": "B cells"}', "no cluster 'CD19'"),
            ('["a", "a", "b"]', "two clusters are named 'a'"),
        ):
            Path("n.json").write_text(content)
            assert_one_line(run("report", out, "--names", "n.json"), message)
            assert contents(out) == before
