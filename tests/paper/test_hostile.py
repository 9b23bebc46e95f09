"""Damaged and hostile files: one clear error, and nothing left behind."""

import gzip
import io
import os
import stat
import tarfile
import zipfile

import made_up
import pytest

from paper.datasets import DataFormatError, load
from paper.datasets.archives import members

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
