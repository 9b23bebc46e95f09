"""Data sets by name, from the machine alone."""

import numpy as np
import pytest
import scipy.sparse as sp

from containers import write_matrix
from paper.datasets import SOURCES, missing_files
from paper.experiments.data import Data, Library, paper_names, read_matrix, synth
from paper.experiments.paths import path_protocol
from paper.experiments.tables import Protocol, protocol


@pytest.fixture
def said():
    return []


@pytest.fixture
def library(tmp_path, monkeypatch, said):
    monkeypatch.setenv("THREECPO_DATA", str(tmp_path))
    file = write_matrix(tmp_path / "mine.npz")
    return Library([file], download=False, say=said.append)


def test_what_is_not_here_is_left_out_with_one_line(library, said, tmp_path):
    for _ in range(2):
        found = library.load(["Synth", "GeneExp", "Wholesales", "mine"])
        assert [data.name for data in found] == ["Synth", "mine"]
    assert len(said) == 2
    assert said[0].startswith("GeneExp is left out: no ")
    assert "THREECPO_DATA" in said[0]
    assert "--download" in said[0]
    assert sorted(library.reasons) == ["GeneExp", "Wholesales"]
    assert [path.name for path in tmp_path.iterdir()] == ["mine.npz"]


@pytest.mark.parametrize(
    ("present", "missing"),
    [
        ([], ["optical+recognition+of+handwritten+digits.zip"]),
        (["optical+recognition+of+handwritten+digits.zip"], []),
        (["optdigits.tra"], ["optical+recognition+of+handwritten+digits.zip"]),
        (["optdigits.tra", "optdigits.tes"], []),
    ],
)
def test_other_files_may_stand_instead_if_all_are_there(
    present, missing, tmp_path, monkeypatch
):
    monkeypatch.setenv("THREECPO_DATA", str(tmp_path))
    for name in present:
        (tmp_path / name).touch()
    assert missing_files(SOURCES["optdigits"]) == missing


def test_a_set_of_several_files_needs_them_all(tmp_path, monkeypatch):
    monkeypatch.setenv("THREECPO_DATA", str(tmp_path))
    (tmp_path / "sample_sm_uc3.txt.gz").touch()
    assert missing_files(SOURCES["human_dendritic"]) == ["dataset1_sm_uc3.txt.gz"]


def test_names_may_be_written_in_other_ways(library):
    asked = ["synth", "20newsgroups", "20NEWSG", "sporta", "sport_articles", "Mine"]
    assert library.resolve(asked) == ["Synth", "20NewsG", "SportA", "mine"]


def test_an_unknown_name_is_refused_with_those_there_are(library):
    with pytest.raises(
        ValueError, match=r"no data set 'iris'; there are Synth, .*mine"
    ):
        library.resolve(["iris"])


def test_the_paper_has_twelve_data_sets():
    assert len(paper_names()) == 12


def test_published_archives_are_the_papers_sets(raw_dir, monkeypatch, said):
    monkeypatch.setenv("THREECPO_DATA", str(raw_dir))
    library = Library([], download=False, say=said.append)
    (data,) = library.load(["Wholesales"])
    assert data.X.shape == (440, 6)
    assert data.n_clusters == 2
    assert said == []


def test_a_matrix_without_names_has_numbers(tmp_path):
    data = read_matrix(write_matrix(tmp_path / "mine.npz", names=False))
    assert data.column_names is None
    assert data.label_name(2) == "2"


def test_a_file_that_lacks_labels_is_refused(tmp_path):
    np.savez(tmp_path / "half.npz", data=[1], indices=[0], indptr=[0, 1], shape=(1, 1))
    with pytest.raises(ValueError, match=r"half.npz has no labels"):
        read_matrix(tmp_path / "half.npz")


def test_rows_without_a_class_are_refused(tmp_path):
    X = sp.csr_array([[1, 2]])
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    np.savez(tmp_path / "some.npz", **parts, shape=X.shape, labels=[-1])
    with pytest.raises(ValueError, match="some has no class for some rows"):
        read_matrix(tmp_path / "some.npz")


def test_fingerprints_know_counts_and_classes_but_no_types():
    data = synth(n_rows=30)
    same = Data("other", data.X.astype(np.float32), data.labels.astype(np.int32))
    assert same.fingerprint == data.fingerprint
    assert synth(1, n_rows=30).fingerprint != data.fingerprint


def large(n_rows, n_columns, stored=0):
    starts = np.full(n_rows + 1, stored)
    starts[0] = 0
    parts = (np.ones(stored), np.zeros(stored, int), starts)
    return Data("large", sp.csr_array(parts, shape=(n_rows, n_columns)), np.zeros(1))


def test_cuts_are_made_where_counts_become_dense():
    dense = large(14_000, 14_000)
    assert protocol("STD+KM", dense, 10, 10) == Protocol(1, 1)
    assert protocol("KM", dense, 10, 10) == Protocol(10, 10)
    assert protocol("STD+KM", large(1000, 1000), 10, 10) == Protocol(10, 10)
    assert str(Protocol(1, 1)) == "1 execution of the best of 1"


def test_paths_are_shorter_on_large_data():
    every = tuple(range(2, 31))

    def runs(method, data, asked=20):
        what = path_protocol(method, data, every, asked)
        return len(what.n_clusters), what.runs

    news, cells = large(18_846, 2000), large(14_000, 14_000, stored=6_000_000)
    assert runs("KM", news) == (29, 20)
    assert runs("RF+KM", news) == (29, 3)
    assert runs("RF+KM", large(5000, 2000)) == (29, 20)
    assert runs("STD+KM", news) == (29, 1)
    assert runs("3CPO", cells) == (29, 3)
    assert runs("3CPO", cells, 2) == (29, 2)
    assert runs("KM", cells) == (13, 1)
    assert runs("STD+KM", large(600, 43_000, stored=6_000_000)) == (13, 1)
    assert runs("STD+KM", cells) == (13, 1)
