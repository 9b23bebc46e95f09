"""The list of data sets, and what the registry says of their files."""

import re

import pytest

import threecpo.datasets as datasets
from threecpo.datasets import catalogue
from threecpo.datasets._registry import SOURCES


def test_the_data_sets_are_those_of_the_papers_table():
    assert [entry.paper_name for entry in catalogue().values()] == [
        *("Wholesales", "SportA", "Optdigits", "BBCSports", "BBCNews", "WebKB"),
        *("Reuters", "20NewsG", "MouseAtlas", "GeneExp", "HDendritic"),
    ]


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_an_entry_has_a_public_loader_of_its_name(name):
    entry = catalogue()[name]
    assert entry.name == name
    assert entry.load is getattr(datasets, f"fetch_{name}")
    assert f"fetch_{name}" in datasets.__all__
    assert all((entry.description, entry.licence, entry.home))


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_files_are_registered_well(name):
    for file in SOURCES[name].files:
        assert file.url.startswith(("https://", "http://mlg.ucd.ie/"))
        assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
        assert "/" not in file.name


def test_file_names_are_unique():
    names = [file.name for source in SOURCES.values() for file in source.files]
    assert len(set(names)) == len(names)
