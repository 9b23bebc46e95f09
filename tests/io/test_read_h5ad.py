"""AnnData files: which matrix, only that one, and never a pickle."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from tables import Planted

from threecpo import read_counts
from threecpo.io import DataFormatError
from threecpo.io.isolated import blocks_of

anndata = pytest.importorskip("anndata")
h5py = pytest.importorskip("h5py")

Y = np.array([[3.0, 0, 1], [0, 5, 0]], dtype=np.float32)


def adata(X=None, **options):
    obs = pd.DataFrame(
        {
            "kind": pd.Categorical(["b", "a"], categories=["b", "a", "c"]),
            "depth": [10.0, np.nan],
            "site": ["x", "y"],
            "good": [True, False],
        },
        index=["cell1", "cell2"],
    )
    var = pd.DataFrame(index=["g1", "g2", "g3"])
    return anndata.AnnData(X, obs=obs, var=var, **options)


@pytest.fixture
def write(tmp_path):
    def writing(data, name="t.h5ad"):
        data.write_h5ad(tmp_path / name)
        return tmp_path / name

    return writing


@pytest.mark.parametrize(
    ("make", "dtype"),
    [(np.asarray, "i4"), (sp.csr_matrix, "f4"), (sp.csc_matrix, "i4")],
)
def test_x_is_read_if_it_holds_whole_numbers(make, dtype, write):
    table = read_counts(write(adata(make(Y.astype(dtype)))))
    np.testing.assert_array_equal(table.X.toarray(), Y)
    assert table.row_names.tolist() == ["cell1", "cell2"]
    assert table.column_names.tolist() == ["g1", "g2", "g3"]


def test_the_layer_of_counts_goes_first(write):
    layers = {"counts": sp.csr_matrix(Y), "other": sp.csr_matrix(2 * Y)}
    path = write(adata(sp.csr_matrix(3 * Y), layers=layers))
    np.testing.assert_array_equal(read_counts(path).X.toarray(), Y)
    for layer, factor in {"other": 2, "X": 3, "counts": 1}.items():
        table = read_counts(path, layer=layer)
        np.testing.assert_array_equal(table.X.toarray(), factor * Y)


def test_raw_has_columns_of_its_own(write):
    data = adata(sp.csr_matrix(Y))
    data.raw = data
    part = data[:, :2].copy()
    part.X = part.X / 3
    path = write(part)
    assert read_counts(path, layer="raw").shape == (2, 3)
    assert read_counts(path, layer="X").shape == (2, 2)
    reason = r"not integers\. Pass layer='raw', which holds counts"
    with pytest.raises(DataFormatError, match=reason):
        read_counts(path)


def test_a_layer_that_is_not_there_is_told(write):
    path = write(adata(sp.csr_matrix(Y), layers={"log": sp.csr_matrix(Y / 3)}))
    reason = "it has no layer 'counts'; pass layer= as one of 'log', 'X'"
    with pytest.raises(DataFormatError, match=reason):
        read_counts(path, layer="counts")
    nothing = write(adata(None), "nothing.h5ad")
    with pytest.raises(DataFormatError, match=r"it has no X; pass layer="):
        read_counts(nothing)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_values_that_are_no_counts_are_told_with_their_names(make, write):
    bad = Y.copy()
    bad[1, 2] = -1
    with pytest.raises(DataFormatError, match="row 'cell2', column 'g3' holds -1"):
        read_counts(write(adata(make(bad))))
    bad[1, 2] = np.nan
    with pytest.raises(DataFormatError, match="row 'cell2', column 'g3' holds NaN"):
        read_counts(write(adata(make(bad))))


@pytest.mark.parametrize(
    ("column", "labels", "names"),
    [
        ("kind", [0, 1], ["b", "a", "c"]),
        ("depth", [0, -1], ["10"]),
        ("site", [0, 1], ["x", "y"]),
        ("good", [1, 0], ["False", "True"]),
    ],
)
def test_labels_are_a_column_of_obs(column, labels, names, write):
    table = read_counts(write(adata(sp.csr_matrix(Y))), labels=column)
    assert table.labels.tolist() == labels
    assert table.label_names.tolist() == names


def test_files_from_before_version_0_7_are_told(write):
    path = write(adata(Y))
    with h5py.File(path, "r+") as file:
        del file["obs"]
        file["obs"] = np.array([(b"a", 1), (b"b", 2)], [("index", "S5"), ("n", "i4")])
    with pytest.raises(DataFormatError, match=r"AnnData before 0\.7; read the file wi"):
        read_counts(path)


def test_only_what_is_asked_for_is_read(write):
    layers = {"counts": sp.csr_matrix(Y), "other": sp.csr_matrix(Y)}
    path = write(adata(Y / 3, layers=layers, obsm={"X_pca": Y}))
    unwanted = ("X", "layers/other/data", "obsm/X_pca", "obs/depth")
    with h5py.File(path, "r+") as file:
        for place in unwanted:
            # Nobody can read a value of this.
            shape = file[place].shape
            del file[place]
            array = file.create_dataset(place, shape, "f4", chunks=shape, compression=4)
            array.id.write_direct_chunk((0,) * len(shape), b"none")
    table = read_counts(path, labels="site")
    np.testing.assert_array_equal(table.X.toarray(), Y)


def test_a_full_matrix_is_read_some_rows_at_a_time(write, monkeypatch):
    from threecpo.io import hierarchies

    monkeypatch.setattr(hierarchies, "PIECE", 4)
    path = str(write(adata(Y)))
    (found,) = blocks_of(hierarchies.read_rows(path, 1 << 20, "X", [(0, len(Y))]))
    assert found["lengths"].tolist() == (Y != 0).sum(1).tolist()
    np.testing.assert_array_equal(found["data"], Y[Y != 0])


def damaged(path, change):
    with h5py.File(path, "r+") as file:
        change(file)
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file["X"]["indices"].__setitem__(0, 99),
        lambda file: file["X"].attrs.__setitem__("shape", (9, 9)),
        lambda file: file["X"].attrs.__setitem__("encoding-type", "elephant"),
        lambda file: file["X"].__delitem__("data"),
        lambda file: file.__delitem__("obs"),
        lambda file: file["obs"].attrs.__delitem__("_index"),
        lambda file: file["var"].__delitem__("_index"),
    ],
)
def test_damaged_files_are_refused(change, write):
    path = damaged(write(adata(sp.csr_matrix(Y))), change)
    with pytest.raises(DataFormatError, match=r"t\.h5ad"):
        read_counts(path)


@pytest.mark.parametrize("place", ["X", "obs/site"])
def test_arrays_that_claim_more_than_they_store_are_refused(place, write):
    def inflate(file):
        attributes = dict(file[place].attrs)
        del file[place]
        shape = (2**20, 2**10) if place == "X" else (2**30,)
        file.create_dataset(place, shape=shape, dtype="f4", chunks=True)
        file[place].attrs.update(attributes)

    path = damaged(write(adata(Y)), inflate)
    with pytest.raises(DataFormatError, match="unpacks to more than"):
        read_counts(path, labels="site")


def test_other_hdf5_files_are_told(tmp_path):
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        file["x"] = [1, 2]
    with pytest.raises(DataFormatError, match="it is not an AnnData file"):
        read_counts(tmp_path / "t.h5ad")


def test_h5ad_is_never_unpickled(write, tmp_path):
    mark = tmp_path / "mark"
    stored = np.void(pickle.dumps(Planted(mark)))

    def plant(file):
        for place in ("uns/plan", "obs/plan", "layers/plan"):
            file[place] = stored
        file["obs"].attrs["pickled"] = stored
        file["X"].attrs["pickled"] = stored

    path = damaged(write(adata(sp.csr_matrix(Y))), plant)
    assert read_counts(path).shape == Y.shape
    for options in ({"labels": "plan"}, {"layer": "plan"}):
        with pytest.raises(DataFormatError):
            read_counts(path, **options)
    assert not mark.exists()


def test_labels_that_are_not_there_are_told(write):
    with pytest.raises(DataFormatError, match="obs has no column 'type' for labels="):
        read_counts(write(adata(sp.csr_matrix(Y))), labels="type")
