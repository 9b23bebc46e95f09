"""Parsed data sets are kept beside their files, and only as long as they hold."""

import made_up
import numpy as np
import pytest

from paper import datasets
from paper.datasets import load

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
