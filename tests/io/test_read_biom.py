"""BIOM tables, as biom-format writes them."""

import gzip
import json
import pickle

import numpy as np
import pytest
from tables import Planted

from threecpo import read_counts
from threecpo.io import DataFormatError

h5py = pytest.importorskip("h5py")
Y = np.array([[3, 0, 1], [0, 5, 0]])


@pytest.fixture(scope="module")
def biom_table():
    biom = pytest.importorskip("biom")
    metadata = [{"taxonomy": ["k__Bacteria", f"p__{i}"]} for i in range(3)]
    return biom.Table(Y.T, ["o1", "o2", "ö3"], ["s1", "s2"], metadata)


@pytest.fixture(params=["hdf5", "json", "json.gz"])
def path(request, biom_table, tmp_path):
    path = tmp_path / "t.biom"
    if request.param == "hdf5":
        with h5py.File(path, "w") as file:
            biom_table.to_hdf5(file, "a test")
    else:
        content = biom_table.to_json("a test").encode()
        packed = request.param == "json.gz"
        path.write_bytes(gzip.compress(content) if packed else content)
    return path


def test_samples_become_rows(path):
    table = read_counts(path)
    np.testing.assert_array_equal(table.X.toarray(), Y)
    assert table.row_names.tolist() == ["s1", "s2"]
    assert table.column_names.tolist() == ["o1", "o2", "ö3"]
    assert read_counts(path, transpose=True).shape == (3, 2)


def in_json(tmp_path, **changes):
    table = {
        "rows": [{"id": "o1"}, {"id": "o2"}],
        "columns": [{"id": "s1"}, {"id": "s2"}],
        "matrix_type": "sparse",
        "data": [[0, 0, 3], [1, 1, 5]],
        "shape": [2, 2],
    }
    table |= changes
    given = {name: value for name, value in table.items() if value is not None}
    (tmp_path / "t.biom").write_text(json.dumps(given))
    return tmp_path / "t.biom"


def test_dense_tables_in_json(tmp_path):
    path = in_json(tmp_path, matrix_type="dense", data=[[1, 2], [3, 4]])
    assert read_counts(path).X.toarray().tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"data": None}, "lacks rows, columns or data"),
        ({"data": [[0, 0, -3]]}, "row 's1', column 'o1' holds -3"),
        ({"data": [[0, 0, float("nan")]]}, "row 's1', column 'o1' holds NaN"),
        ({"data": [[0, 9, 3]]}, "damaged"),
        ({"data": [[0, 0.5, 3]]}, "places that are not integers"),
        ({"data": [[0, 0, "x"]]}, "damaged"),
        ({"data": 7}, "damaged"),
        ({"rows": [{"id": "o"}, {"id": "o"}]}, "columns 1 and 2 are both called 'o'"),
        ({"rows": [{"name": "o"}]}, "damaged"),
        ({"matrix_type": "dense", "data": [[1, 2]]}, r"shape \(1, 2\), not \(2, 2\)"),
    ],
)
def test_json_of_another_kind_is_refused(changes, reason, tmp_path):
    with pytest.raises(DataFormatError, match=reason):
        read_counts(in_json(tmp_path, **changes))


def test_text_that_is_no_table_is_refused(tmp_path):
    for content in ("[]", "{}", "{", "[" * 100_000):
        (tmp_path / "t.biom").write_text(content)
        with pytest.raises(DataFormatError, match=r"t\.biom"):
            read_counts(tmp_path / "t.biom")


def in_hdf5(path, table):
    with h5py.File(path, "w") as file:
        table.to_hdf5(file, "a test")
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file["sample/matrix/indices"].__setitem__(0, 99),
        lambda file: file["sample/matrix"].__delitem__("data"),
        lambda file: file["observation"].__delitem__("ids"),
    ],
)
def test_damaged_tables_are_refused(change, biom_table, tmp_path):
    path = in_hdf5(tmp_path / "t.biom", biom_table)
    with h5py.File(path, "r+") as file:
        change(file)
    with pytest.raises(DataFormatError, match=r"t\.biom"):
        read_counts(path)


def test_biom_is_never_unpickled(biom_table, tmp_path):
    mark = tmp_path / "mark"
    path = in_hdf5(tmp_path / "t.biom", biom_table)
    stored = np.void(pickle.dumps(Planted(mark)))
    with h5py.File(path, "r+") as file:
        file["observation/metadata/plan"] = stored
        file["sample/metadata/plan"] = stored
        file.attrs["plan"] = stored
    assert read_counts(path).shape == Y.shape
    with h5py.File(path, "r+") as file:
        del file["sample/ids"]
        file["sample/ids"] = np.array([stored, stored])
    with pytest.raises(DataFormatError):
        read_counts(path)
    assert not mark.exists()


def test_the_two_kinds_of_hdf5_are_not_mistaken(biom_table, tmp_path):
    path = in_hdf5(tmp_path / "t.h5ad", biom_table)
    with pytest.raises(
        DataFormatError, match=r"not an AnnData file.* pass format='biom'"
    ):
        read_counts(path)
    assert read_counts(path, format="biom").shape == Y.shape
    with h5py.File(tmp_path / "t.biom", "w") as file:
        file.create_group("obs")
    with pytest.raises(DataFormatError, match="of BIOM; pass format='h5ad'"):
        read_counts(tmp_path / "t.biom")
