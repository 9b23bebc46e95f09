"""Every loader on small files laid out as the published ones, damaged and hostile."""

import gzip
import hashlib
import io
import os
import re
import socket
import stat
import sys
import tarfile
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import made_up
import numpy as np
import pytest

from paper import datasets
from paper.datasets import SOURCES, DataFormatError, DataNotFoundError, load
from paper.datasets.archives import members
from paper.datasets.files import home as data_home
from threecpo import CountTable

# Rows, columns, labels and counts that the made-up files hold.
EXPECTED = {
    "wholesales": (
        None,
        ["Fresh", "Milk", "Grocery", "Frozen", "Detergents_Paper", "Delicassen"],
        ["Retail", "Horeca"],
        [[12669, 9656, 7561, 214, 2674, 1338], [7057, 0, 9568, 1762, 3293, 1776]],
    ),
    "sport_articles": (
        ["Text0001", "Text0002"],
        ["CC", "a&b"],
        ["subjective", "objective"],
        [[4, 0], [0, 7]],
    ),
    "optdigits": (
        None,
        [f"px_{row}_{column}" for row in range(8) for column in range(8)],
        ["7", "0", "3"],
        [[0] * 63 + [16]] * 3,
    ),
    "bbcsports": (
        ["bbcsport/sport/001.txt", "bbcsport/tech/001.txt", "bbcsport/tech/002.txt"],
        ["café", "goal", "phones", "the"],
        ["sport", "tech", "tech"],
        [[0, 1, 0, 1], [0, 0, 2, 0], [1, 0, 1, 0]],
    ),
    "bbcnews": (
        ["bbc/sport/001.txt", "bbc/tech/001.txt", "bbc/tech/002.txt"],
        ["café", "goal", "phones", "the"],
        ["sport", "tech", "tech"],
        [[0, 1, 0, 1], [0, 0, 2, 0], [1, 0, 1, 0]],
    ),
    "webkb": (
        ["webkb/course/misc/http:^^c", "webkb/student/texas/http:^^b"],
        ["abc", "book", "cern", "exam", "mime", "server", "version"],
        ["course", "student"],
        [[0, 0, 1, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0, 0]],
    ),
    "reuters": (
        ["1", "4", "5"],
        [
            "at",
            "corn",
            "correction",
            "in",
            "much",
            "profit",
            "reuter",
            "text",
            "type",
            "unproc",
            "up",
        ],
        ["earn", "grain", "acq"],
        [
            [1, 0, 0, 0, 1, 2, 1, 0, 0, 0, 1],
            [0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0],
            [0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 0],
        ],
    ),
    "20newsgroups": (
        [
            "20news-bydate-train/rec.autos/7",
            "20news-bydate-train/sci.med/9",
            "20news-bydate-test/sci.med/10",
        ],
        ["car", "pills"],
        ["rec.autos", "sci.med", "sci.med"],
        [[2, 0], [0, 2], [0, 1]],
    ),
    "gene_expression": (
        ["sample_0", "sample_1"],
        ["gene_0", "gene_1"],
        ["PRAD", "BRCA"],
        [[0, 3], [1, 0]],
    ),
    "human_dendritic": (
        ["c-1", "c_2"],
        ["A1BG", "A2M", "ZZ"],
        ["CD1C", "pDC"],
        [[0, 100, 0], [4, 0, 0]],
    ),
    "mouse_atlas": (
        ["T.cell_1.GC", "NK.AA"],
        ["Gnai3", "Cdc45"],
        ["T-cell", "NK"],
        [[1, 0], [0, 7]],
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_published_layout_is_read(name, tmp_path):
    made_up.WRITERS[name](tmp_path)
    table = load(name, data_home=tmp_path)
    rows, columns, labels, counts = EXPECTED[name]
    assert isinstance(table, CountTable)
    np.testing.assert_array_equal(table.X.toarray(), counts)
    assert table.counts.whole
    assert table.row_names is None if rows is None else list(table.row_names) == rows
    assert list(table.column_names) == columns
    assert [table.label_names[label] for label in table.labels] == labels
    assert list(table.label_names) == sorted(table.label_names)
    assert table.name == SOURCES[name].paper_name
    assert all((table.description, table.citation, table.licence, table.source))


def test_every_data_set_has_a_layout_here():
    assert set(EXPECTED) == set(made_up.WRITERS) == set(SOURCES)


@pytest.mark.parametrize("name", ["bbcnews", "20newsgroups"])
def test_texts_take_the_options_of_count_terms(name, tmp_path):
    made_up.WRITERS[name](tmp_path)
    assert load(name, data_home=tmp_path, max_features=2).shape[1] == 2
    words = load(name, data_home=tmp_path, stem=None).column_names
    assert set(words) & {"phones", "book", "pills"}


def test_bad_options_fail_before_anything_is_looked_for(tmp_path):
    with pytest.raises(ValueError, match="max_features=0 must be"):
        load("bbcnews", data_home=tmp_path, max_features=0)
    with pytest.raises(ValueError, match="stem='klingon' is not"):
        load("bbcnews", data_home=tmp_path, stem="klingon")


def test_the_folder_of_the_environment_is_used(tmp_path, monkeypatch):
    made_up.wholesales(tmp_path)
    monkeypatch.setenv("THREECPO_DATA", str(tmp_path))
    assert load("wholesales").shape == (2, 6)


def test_data_home_goes_before_the_environment(tmp_path, monkeypatch):
    given, named = tmp_path / "given", tmp_path / "named"
    given.mkdir()
    named.mkdir()
    made_up.wholesales(named)
    (given / "Wholesale customers data.csv").write_bytes(
        made_up.WHOLESALES.splitlines(keepends=True)[0] + b"1,1,1,2,3,4,5,6\n"
    )
    monkeypatch.setenv("THREECPO_DATA", str(named))
    assert load("wholesales", data_home=given).X.sum() == 21


def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path):
    path = tmp_path / "Wholesale customers data.csv"
    path.write_bytes(b"\xef\xbb\xbf" + made_up.WHOLESALES)
    assert load("wholesales", data_home=tmp_path).shape == (2, 6)


def test_the_data_sets_are_those_of_the_papers_table():
    assert [source.paper_name for source in SOURCES.values()] == [
        *("Wholesales", "SportA", "Optdigits", "BBCSports", "BBCNews", "WebKB"),
        *("Reuters", "20NewsG", "MouseAtlas", "GeneExp", "HDendritic"),
    ]


def test_files_are_registered_well():
    names = [file.name for source in SOURCES.values() for file in source.files]
    assert len(set(names)) == len(names)
    for source in SOURCES.values():
        assert all((source.description, source.licence, source.home, source.citation))
        for file in source.files:
            assert file.url.startswith(("https://", "http://mlg.ucd.ie/"))
            assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
            assert "/" not in file.name


def test_an_unknown_data_set_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="no data set 'iris'; there are wholesales, "):
        load("iris")


KEPT = "20newsgroups.parsed.npz"


@pytest.fixture
def folder(tmp_path):
    made_up.newsgroups(tmp_path)
    return tmp_path


@pytest.fixture
def parses(monkeypatch):
    """Number of times that the archive was parsed."""
    calls, parse = [], datasets._TEXTS["20newsgroups"]

    def counted(*args):
        calls.append(args)
        return parse(*args)

    monkeypatch.setitem(datasets._TEXTS, "20newsgroups", counted)
    return calls


def same(a, b):
    np.testing.assert_array_equal(a.X.toarray(), b.X.toarray())
    for field in ("row_names", "column_names", "labels", "label_names", "row_titles"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))


def test_the_second_time_nothing_is_parsed(folder, parses):
    first = load("20newsgroups", data_home=folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        "20news-bydate.tar.gz",
        KEPT,
    ]
    same(load("20newsgroups", data_home=folder), first)
    assert len(parses) == 1


def test_other_options_are_parsed_anew(folder, parses):
    load("20newsgroups", data_home=folder)
    assert "cars" in load("20newsgroups", data_home=folder, stem=None).column_names
    assert load("20newsgroups", data_home=folder, max_features=1).shape == (3, 1)
    assert len(parses) == 3


def test_another_file_is_parsed_anew(folder, parses):
    load("20newsgroups", data_home=folder)
    messages = {"20news-bydate-train/sci.med/1": b"From: me\n\nother words"}
    (folder / "20news-bydate.tar.gz").write_bytes(made_up.tarred(messages))
    assert load("20newsgroups", data_home=folder).shape == (1, 2)
    assert len(parses) == 2


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00"])
def test_a_damaged_copy_is_no_harm(damage, folder, parses):
    first = load("20newsgroups", data_home=folder)
    (folder / KEPT).write_bytes(damage)
    same(load("20newsgroups", data_home=folder), first)
    same(load("20newsgroups", data_home=folder), first)
    assert len(parses) == 2


def test_a_copy_with_impossible_columns_is_no_harm(folder, parses):
    first = load("20newsgroups", data_home=folder)
    with np.load(folder / KEPT) as file:
        arrays = dict(file)
    arrays["indices"] = arrays["indices"] + 1000
    np.savez(folder / KEPT, **arrays)
    same(load("20newsgroups", data_home=folder), first)
    assert len(parses) == 2


def test_a_folder_that_is_not_for_writing_stays_as_it_is(folder, parses):
    folder.chmod(0o555)
    try:
        for _ in range(2):
            assert load("20newsgroups", data_home=folder).shape == (3, 2)
        assert [path.name for path in folder.iterdir()] == ["20news-bydate.tar.gz"]
    finally:
        folder.chmod(0o755)
    assert len(parses) == 2


def test_a_full_disk_leaves_nothing_behind(folder, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    assert load("20newsgroups", data_home=folder).shape == (3, 2)
    assert [path.name for path in folder.iterdir()] == ["20news-bydate.tar.gz"]


CELLS = "dataset1_sm_uc3.txt.gz"


def refused(name, folder, reason):
    """Loading fails with one message that says which file, why and what to do."""
    before = sorted(folder.iterdir())
    with pytest.raises(DataFormatError, match=reason) as caught:
        load(name, data_home=folder)
    message = str(caught.value)
    assert str(folder) in message
    assert "Delete it and get it again from http" in message
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("name", ["human_dendritic", "bbcnews"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\n<!DOCTYPE html><html>404</html>", "web page"),
        (b"<html>moved</html>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0a\n", "Git LFS"),
        (b"", "empty"),
        (b"PK\x03\x04 and then something else", "cannot be read"),
    ],
)
def test_something_else_in_place_of_the_file(name, content, reason, tmp_path):
    made_up.WRITERS[name](tmp_path)
    for path in tmp_path.iterdir():
        path.write_bytes(content)
    refused(name, tmp_path, reason)


def each_data_set(folder):
    """Every data set, made up in a folder of its own."""
    for name, write in made_up.WRITERS.items():
        (folder / name).mkdir()
        write(folder / name)
        yield name, folder / name


def test_truncated_files(tmp_path):
    for name, folder in each_data_set(tmp_path):
        for path in folder.iterdir():
            path.write_bytes(path.read_bytes()[:-9])
        refused(name, folder, "cannot be read")


def test_archives_of_something_else(tmp_path):
    for name, folder in each_data_set(tmp_path):
        for path in folder.iterdir():
            if path.suffix == ".zip":
                made_up.zipped(path, {"readme": "x"})
            elif ".tar" in path.name or ".gtar" in path.name:
                path.write_bytes(made_up.tarred({"readme": b"x"}))
            else:
                path.write_bytes(gzip.compress(b"readme\n"))
        refused(name, folder, "it (holds|lacks|has)|is no table|is not a table")


@pytest.mark.parametrize("name", ["../evil.txt", "/etc/evil", "bbc/../../evil"])
def test_names_that_lead_out_of_the_archive(name, tmp_path):
    made_up.zipped(tmp_path / "bbc-fulltext.zip", {"bbc/tech/1.txt": "a", name: "b"})
    refused("bbcnews", tmp_path, "leads out of the archive")
    (tmp_path / "webkb-data.gtar.gz").write_bytes(made_up.tarred({name: b"b"}))
    refused("webkb", tmp_path, "leads out of the archive")


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_in_a_tar(kind, tmp_path):
    content = made_up.tarred(
        {"webkb/course/x/y": b""}, type=kind, linkname="/etc/hosts"
    )
    (tmp_path / "webkb-data.gtar.gz").write_bytes(content)
    refused("webkb", tmp_path, "a link or a device")


def test_links_in_a_zip(tmp_path):
    info = zipfile.ZipInfo("bbc/tech/001.txt")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "bbc-fulltext.zip", "w") as archive:
        archive.writestr(info, "/etc/hosts")
    refused("bbcnews", tmp_path, "a link or a device")


def test_more_bytes_than_a_data_set_can_have(tmp_path):
    zeros = b"0" * (1 << 20)
    inner = made_up.tarred({"bomb": zeros})
    archives = {
        "a.zip": made_up.zipped(tmp_path / "a.zip", {"bomb": zeros}).read_bytes(),
        "a.tar.gz": inner,
        "a.tar.xz": made_up.tarred({"bomb": zeros}, "w:xz"),
        "a.txt.gz": gzip.compress(zeros),
        "b.zip": made_up.zipped(tmp_path / "b.zip", {"a.tar.gz": inner}).read_bytes(),
    }
    for name, content in archives.items():
        path = tmp_path / name
        path.write_bytes(content)
        assert len(content) < 1 << 16
        with members(path, 1 << 21) as each:
            assert [len(file.read()) for _, file in each] == [1 << 20]
        with (
            pytest.raises(DataFormatError, match="more than 65536 bytes"),
            members(path, 1 << 16) as each,
        ):
            [file.read() for _, file in each]


def test_a_pax_header_as_large_as_a_bomb(tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("a")
        info.pax_headers = {"comment": "x" * (1 << 20)}
        archive.addfile(info)
    path = tmp_path / "a.tar.gz"
    path.write_bytes(out.getvalue())
    with (
        pytest.raises(DataFormatError, match="more than 65536 bytes"),
        members(path, 1 << 16) as each,
    ):
        list(each)


def test_archives_nest_only_once(tmp_path):
    path = tmp_path / "d.zip"
    content = b"the core"
    for name in ("c.txt", "c.zip", "b.zip"):
        content = made_up.zipped(path, {name: content}).read_bytes()
    with members(path, 1 << 20) as each:
        assert [name for name, _ in each] == ["c.zip"]


def test_a_zip_with_a_password(tmp_path):
    path = tmp_path / "bbc-fulltext.zip"
    made_up.zipped(path, {"bbc/tech/001.txt": "words"})
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    path.write_bytes(bytes(content))
    refused("bbcnews", tmp_path, "encrypted")


def test_a_flipped_byte_is_found_by_the_checksum_of_the_zip(tmp_path):
    path = tmp_path / "bbc-fulltext.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("bbc/tech/001.txt", "words words")
    path.write_bytes(path.read_bytes().replace(b"words words", b"words sword"))
    refused("bbcnews", tmp_path, "CRC")


def test_a_wrong_checksum_far_behind_the_last_member_is_found(tmp_path):
    made_up.webkb(tmp_path)
    path = tmp_path / "webkb-data.gtar.gz"
    padding = bytes(1 << 21)
    content = gzip.compress(gzip.decompress(path.read_bytes()) + padding)
    path.write_bytes(content[:-8] + bytes([content[-8] ^ 1]) + content[-7:])
    refused("webkb", tmp_path, "CRC")


BILLION_LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>',
    '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/hosts">]>',
    '<!DOCTYPE x SYSTEM "http://127.0.0.1/x.dtd">',
)


@pytest.mark.parametrize("declaration", BILLION_LAUGHS)
def test_declarations_in_the_spreadsheet_are_refused(declaration, tmp_path):
    content = made_up.spreadsheet(made_up.SPORT_ROWS, declaration)
    made_up.sport_articles(tmp_path, content)
    refused("sport_articles", tmp_path, "declares a document type or entities")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("no xml", "no spreadsheet in XML"),
        (
            "<Workbook><Worksheet><Data>x</Data></Worksheet></Workbook>",
            "no spreadsheet",
        ),
        ("<Workbook/>", "has no rows"),
        (made_up.spreadsheet([["TextID", "CC"]]), r"lacks \['URL', 'Label'"),
        (made_up.spreadsheet([made_up.SPORT_ROWS[0], ["x"]]), "lacks values in row 0"),
        (made_up.spreadsheet(made_up.SPORT_ROWS).replace(">7<", ">x<"), "to float"),
        (made_up.spreadsheet(made_up.SPORT_ROWS).replace(">7<", ">-7<"), "Negative"),
    ],
)
def test_spreadsheets_of_another_kind(content, reason, tmp_path):
    made_up.sport_articles(tmp_path, content)
    refused("sport_articles", tmp_path, reason)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a;b\n1;2\n", "its first line is 'a;b'"),
        (made_up.WHOLESALES + b"1,2,3\n", "row 3 has 3 values, not 8"),
        (made_up.WHOLESALES.replace(b"7057", b"lots"), "invalid literal"),
        (made_up.WHOLESALES.decode().encode("utf-16"), "codec can't decode"),
    ],
)
def test_tables_of_another_kind(content, reason, tmp_path):
    (tmp_path / "Wholesale customers data.csv").write_bytes(content)
    refused("wholesales", tmp_path, reason)


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (b'"gene"\t"c_2"\n"A"\t1\n', "has 2 cells, the counts 1"),
        (b'"c-1"\t"c_2"\n"A"\t1\t2\n"B"\t1\n', "line 3 has 2 fields, not 3"),
        (b'"c-1"\t"c_2"\n"A"\t1\tmany\n', "is not a number"),
        (b'"c-1"\t"c_2"\n"A"\t1\tnan\n', "holds NaN"),
        (b'"c-1"\t"c_2"\n"A"\t1\t1e300\n', "holds 1e.300; counts must be"),
        (b'"c-1"\t"c_2"\n', "no lines below the names"),
        (b'"c-1"\t"c_3"\n"A"\t1\t2\n', "no line for the cell c_3"),
        (b'"c-1"\t"c_2"\n"A\xff"\t1\t2\n', "line 2 is not in UTF-8"),
    ],
)
def test_cells_of_another_kind(cells, reason, tmp_path):
    made_up.human_dendritic(tmp_path)
    (tmp_path / CELLS).write_bytes(gzip.compress(cells))
    refused("human_dendritic", tmp_path, reason)


def test_a_file_that_may_not_be_read_stays_an_error_of_the_system(tmp_path):
    made_up.wholesales(tmp_path)
    path = tmp_path / "wholesale+customers.zip"
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(PermissionError):
        load("wholesales", data_home=tmp_path)


NAME = "wholesale+customers.zip"


class Server:
    """Answers each path from a queue of (status, content); the last one stays."""

    def __init__(self):
        self.answers, self.asked = {}, []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                queue = outer.answers[self.path]
                status, content = queue.pop(0) if len(queue) > 1 else queue[0]
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def server():
    pytest.importorskip("pooch")
    server = Server()
    thread = Thread(target=server.http.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.http.shutdown()
    thread.join()
    server.http.server_close()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _: None)


@pytest.fixture
def content(tmp_path):
    folder = tmp_path / "published"
    folder.mkdir()
    made_up.wholesales(folder)
    return (folder / NAME).read_bytes()


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def publish(monkeypatch, url, sha256=None):
    """Let Wholesales be published at a URL."""
    source = SOURCES["wholesales"]
    file = replace(source.files[0], url=url, sha256=sha256)
    changed = replace(source, files=(file,))
    monkeypatch.setitem(SOURCES, "wholesales", changed)


def left_in(folder):
    return sorted(path.name for path in folder.rglob("*"))


def test_a_file_is_downloaded_once(server, content, home, monkeypatch):
    publish(monkeypatch, f"{server.url}/x", hashlib.sha256(content).hexdigest())
    server.answers["/x"] = [(200, content)]
    for _ in range(2):
        assert load("wholesales", data_home=home).shape == (2, 6)
    assert server.asked == ["/x"]
    assert left_in(home) == [NAME]


def test_a_failed_answer_is_tried_again(server, content, home, monkeypatch):
    publish(monkeypatch, f"{server.url}/x", hashlib.sha256(content).hexdigest())
    server.answers["/x"] = [(503, b"busy"), (200, content[:-5]), (200, content)]
    assert load("wholesales", data_home=home).shape == (2, 6)
    assert server.asked == ["/x"] * 3
    assert left_in(home) == [NAME]


def test_a_wrong_checksum_is_an_error(server, content, home, monkeypatch):
    publish(monkeypatch, f"{server.url}/x", "0" * 64)
    server.answers["/x"] = [(200, content)]
    with pytest.raises(DataFormatError, match="checksum differs") as caught:
        load("wholesales", data_home=home)
    assert all(part in str(caught.value) for part in (NAME, server.url, str(home)))
    assert left_in(home) == []


@pytest.mark.parametrize("sent", [b"<!doctype html>sorry", b"PK\x03\x04 not a zip"])
def test_a_download_that_cannot_be_read_does_not_stay(sent, server, home, monkeypatch):
    publish(monkeypatch, f"{server.url}/x")
    server.answers["/x"] = [(200, sent)]
    with pytest.raises(DataFormatError, match="cannot be read as Wholesales"):
        load("wholesales", data_home=home)
    assert left_in(home) == []


def test_a_missing_page_is_an_error_that_says_what_to_do(server, home, monkeypatch):
    publish(monkeypatch, f"{server.url}/x")
    server.answers["/x"] = [(404, b"gone")]
    with pytest.raises(DataNotFoundError, match="404") as caught:
        load("wholesales", data_home=home)
    assert all(part in str(caught.value) for part in (NAME, server.url, str(home)))
    assert left_in(home) == []


def test_being_offline_is_an_error_that_says_what_to_do(home, monkeypatch):
    pytest.importorskip("pooch")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/x"
    publish(monkeypatch, url)
    with pytest.raises(DataNotFoundError, match="THREECPO_DATA") as caught:
        load("wholesales", data_home=home)
    assert isinstance(caught.value, OSError)
    assert all(part in str(caught.value) for part in (NAME, url, str(home)))


def test_a_folder_that_is_none_is_an_error(server, content, tmp_path, monkeypatch):
    publish(monkeypatch, f"{server.url}/x")
    server.answers["/x"] = [(200, content)]
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataNotFoundError, match="cannot be downloaded"):
        load("wholesales", data_home=tmp_path / "file" / "home")


def test_without_pooch_local_files_are_read_and_others_ask_for_it(
    tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "pooch", None)
    made_up.wholesales(tmp_path)
    assert load("wholesales", data_home=tmp_path).shape == (2, 6)
    with pytest.raises(ImportError, match="--group paper"):
        load("human_dendritic", data_home=tmp_path)
    monkeypatch.delenv("THREECPO_DATA", raising=False)
    with pytest.raises(ImportError, match="THREECPO_DATA"):
        load("wholesales")


def test_the_default_folder_is_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("THREECPO_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_home(None).name in ("threecpo", "Cache")


def test_a_home_may_be_named_by_a_tilde(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert data_home("~/data") == tmp_path / "data"
