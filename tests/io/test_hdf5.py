"""AnnData in h5ad and zarr, 10x files in HDF5, and BIOM."""

import gzip
import json
import pickle
import warnings

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr
from tables import refused

from model_files import Planted
from threecpo import read_counts
from threecpo.io import DataFormatError
from threecpo.io.blocks import open_blocks
from threecpo.io.isolated import blocks_of

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


def writer(folder, kind, zarr_format=2):
    def writing(data, name="t"):
        path = folder / f"{name}.{kind}"
        with (
            warnings.catch_warnings(action="ignore"),
            anndata.settings.override(zarr_write_format=zarr_format),
        ):
            getattr(data, f"write_{kind}")(path)
        return path

    return writing


@pytest.fixture(params=[("h5ad",), ("zarr", 2), ("zarr", 3)], ids=str)
def write_any(request, tmp_path):
    return writer(tmp_path, *request.param)


@pytest.fixture
def write(tmp_path):
    return writer(tmp_path, "h5ad")


@pytest.mark.parametrize(
    ("make", "dtype"),
    [(np.asarray, "i4"), (sp.csr_matrix, "f4"), (sp.csc_matrix, "i4")],
)
def test_x_is_read_if_it_holds_whole_numbers(make, dtype, write_any):
    table = read_counts(write_any(adata(make(Y.astype(dtype)))))
    np.testing.assert_array_equal(table.X.toarray(), Y)
    assert table.row_names.tolist() == ["cell1", "cell2"]
    assert table.column_names.tolist() == ["g1", "g2", "g3"]
    assert table.description == "counts of X"


def test_the_layer_of_counts_goes_first(write_any):
    layers = {"counts": sp.csr_matrix(Y), "other": sp.csr_matrix(2 * Y)}
    path = write_any(adata(sp.csr_matrix(3 * Y), layers=layers))
    np.testing.assert_array_equal(read_counts(path).X.toarray(), Y)
    for layer, factor in {"other": 2, "X": 3, "counts": 1}.items():
        table = read_counts(path, layer=layer)
        np.testing.assert_array_equal(table.X.toarray(), factor * Y)


def test_raw_has_columns_of_its_own(write_any):
    data = adata(sp.csr_matrix(Y))
    data.raw = data
    part = data[:, :2].copy()
    part.X = part.X / 3
    path = write_any(part)
    assert read_counts(path, layer="raw").shape == (2, 3)
    assert read_counts(path, layer="X").shape == (2, 2)
    refused(path, r"not integers\. Pass layer='raw', which holds counts")
    reason = r"no other matrix of the file holds counts\. Look for .* before normalis"
    refused(write_any(adata(Y / 3), "normalised"), reason)


def test_a_layer_that_is_not_there_is_told(write_any):
    path = write_any(adata(sp.csr_matrix(Y), layers={"log": sp.csr_matrix(Y / 3)}))
    reason = "it has no layer 'counts'; pass layer= as one of 'log', 'X'"
    refused(path, reason, layer="counts")
    nothing = write_any(adata(None), "nothing")
    refused(nothing, r"it has no X; pass layer=")


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_values_that_are_no_counts_are_told_with_their_names(make, write_any):
    bad = Y.copy()
    bad[1, 2] = -1
    refused(write_any(adata(make(bad))), "row 'cell2', column 'g3' holds -1")
    bad[1, 2] = np.nan
    refused(write_any(adata(make(bad))), "row 'cell2', column 'g3' holds NaN")


@pytest.mark.parametrize(
    ("column", "labels", "names"),
    [
        ("kind", [0, 1], ["b", "a", "c"]),
        ("depth", [0, -1], ["10"]),
        ("site", [0, 1], ["x", "y"]),
        ("good", [1, 0], ["False", "True"]),
    ],
)
def test_labels_are_a_column_of_obs(column, labels, names, write_any):
    path = write_any(adata(sp.csr_matrix(Y)))
    table = read_counts(path, labels=column)
    assert table.labels.tolist() == labels
    assert table.label_names.tolist() == names
    refused(path, "obs has no column 'type' for labels=", labels="type")


def test_files_from_before_version_0_7_are_told(write):
    path = write(adata(Y))
    with h5py.File(path, "r+") as file:
        del file["obs"]
        file["obs"] = np.array([(b"a", 1), (b"b", 2)], [("index", "S5"), ("n", "i4")])
    refused(path, r"AnnData before 0\.7; read the file wi")


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
    refused(path, r"t\.h5ad")


@pytest.mark.parametrize("place", ["X", "obs/site"])
def test_arrays_that_claim_more_than_they_store_are_refused(place, write):
    def inflate(file):
        attributes = dict(file[place].attrs)
        del file[place]
        shape = (2**20, 2**10) if place == "X" else (2**30,)
        file.create_dataset(place, shape=shape, dtype="f4", chunks=True)
        file[place].attrs.update(attributes)

    path = damaged(write(adata(Y)), inflate)
    refused(path, "unpacks to more than", labels="site")


def test_other_files_are_told(tmp_path):
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        file["x"] = [1, 2]
    refused(tmp_path / "t.h5ad", "it is not an AnnData file")
    zarr.open_group(tmp_path / "t.zarr", mode="w").create_array("x", data=Y)
    refused(tmp_path / "t.zarr", "it is not an AnnData")


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


RNG = np.random.default_rng(0)
MOLECULES = RNG.poisson(0.7, (7, 5))
CELLS = [f"AAAC-{i}" for i in range(7)]
IDS = [f"ENSG{j}" for j in range(5)]
SYMBOLS = ["CD3E", "GNLY", "MS4A1", "GNLY", ""]
GENES = ["CD3E", "GNLY (ENSG1)", "MS4A1", "GNLY (ENSG3)", "ENSG4"]
KINDS = ["Gene Expression"] * 3 + ["Antibody Capture"] * 2


def write_matrix(file, name, version=3, **changes):
    """Write a group as Cell Ranger does: genes x cells by columns, names as bytes."""
    X = sp.csc_matrix(MOLECULES.T)
    parts = {"data": X.data.astype(np.int32), "indices": X.indices.astype(np.int64)}
    parts |= {"indptr": X.indptr.astype(np.int64), "shape": np.array(X.shape, "i4")}
    parts["barcodes"] = np.array(CELLS, "S")
    ids, symbols = np.array(IDS, "S"), np.array(SYMBOLS, "S")
    if version == 2:
        parts |= {"genes": ids, "gene_names": symbols}
    else:
        parts |= {"features/id": ids, "features/name": symbols}
        parts["features/feature_type"] = np.array(KINDS, "S")
        parts["features/_all_tag_keys"] = np.array(["genome"], "S")
    for part, values in (parts | changes).items():
        if values is not None:
            file[f"{name}/{part}"] = values


def cellbender(file):
    write_matrix(file, "matrix")
    file["metadata/fraction"] = 0.5
    file["droplet_latents/cell_probability"] = np.ones(7)
    file["global_latents/phi"] = [1.0, 2.0]


def read_blocks(tenx, **options):
    with open_blocks(tenx, block_counts=4, **options) as source:
        return [read().matrix().toarray() for read in source.readers]


@pytest.fixture(params=["version 3", "version 2", "cellbender"])
def tenx(request, tmp_path):
    tenx = tmp_path / "cells.h5"
    with h5py.File(tenx, "w") as file:
        if request.param == "version 2":
            write_matrix(file, "hg19", 2)
        elif request.param == "version 3":
            file.attrs["chemistry_description"] = "Single Cell 3' v3"
            write_matrix(file, "matrix")
        else:
            cellbender(file)
    return tenx


def test_cells_become_rows(tenx):
    table = read_counts(tenx)
    np.testing.assert_array_equal(table.X.toarray(), MOLECULES)
    assert table.row_names.tolist() == CELLS
    assert table.column_names.tolist() == GENES


def test_blocks_are_the_same_rows(tenx):
    with open_blocks(tenx, block_counts=4) as source:
        blocks = [read().matrix().toarray() for read in source.readers]
    assert len(blocks) > 2
    np.testing.assert_array_equal(np.vstack(blocks), MOLECULES)
    assert source.column_names.tolist() == GENES
    assert source.row_names.tolist() == CELLS


def test_scanpy_reads_the_same(tenx):
    scanpy = pytest.importorskip("scanpy")
    with pytest.warns(UserWarning, match="unique"):
        adata = scanpy.read_10x_h5(tenx, gex_only=False)
    np.testing.assert_array_equal(read_counts(tenx).X.toarray(), adata.X.toarray())


def test_one_kind_of_features(tmp_path):
    tenx = tmp_path / "cells.h5"
    with h5py.File(tenx, "w") as file:
        write_matrix(file, "matrix")
    table = read_counts(tenx, layer="Antibody Capture")
    np.testing.assert_array_equal(table.X.toarray(), MOLECULES[:, 3:])
    assert table.column_names.tolist() == GENES[3:]
    blocks = read_blocks(tenx, layer="Antibody Capture")
    np.testing.assert_array_equal(np.vstack(blocks), MOLECULES[:, 3:])
    assert read_counts(tenx).description == (
        "counts of matrix: 3 of Gene Expression, 2 of Antibody Capture"
    )


def test_one_of_two_genomes(tmp_path):
    tenx = tmp_path / "cells.h5"
    with h5py.File(tenx, "w") as file:
        write_matrix(file, "hg19", 2)
        write_matrix(file, "mm10", 2, data=np.full(np.count_nonzero(MOLECULES), 9))
    refused(tenx, r"layer= as one of 'hg19', 'mm10'\.$")
    assert set(read_counts(tenx, layer="mm10").X.data) == {9}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"features/id": None}, "neither genes nor features/id"),
        ({"features/name": np.array([b"x"])}, "1 entries for 5 genes"),
        ({"features/name": np.zeros((5, 2))}, r"is no(t a)? list of "),
        ({"shape": np.array([5])}, r"shape \[5\]"),
        ({"shape": np.array([9, 7])}, "names of 5 genes"),
        ({"shape": np.array([5, 9])}, "damaged|pointers"),
        ({"indices": np.full(np.count_nonzero(MOLECULES), 99)}, "damaged"),
        ({"indptr": np.array([0, 3, 2, 4, 5, 6, 7, 8])}, "damaged"),
        ({"data": np.array([b"x"])}, r"not? (a )?list of numbers|beyond its counts"),
        ({"barcodes": np.array([b"x"])}, "1 names for 7 rows"),
        ({"barcodes": np.array([b"x"] * 7)}, "rows 1 and 2 are both called 'x'"),
        ({"barcodes": None}, r"not a 10x file: no group in it has barcodes"),
    ],
)
def test_damage_is_named(changes, reason, tmp_path):
    tenx = tmp_path / "cells.h5"
    with h5py.File(tenx, "w") as file:
        write_matrix(file, "matrix", **changes)
    for read, layer in ((read_counts, None), (read_blocks, "Gene Expression")):
        with pytest.raises(DataFormatError, match=reason) as raised:
            read(tenx, layer=layer)
        assert "\n" not in str(raised.value)


def test_a_negative_count_is_named(tmp_path):
    tenx = tmp_path / "cells.h5"
    with h5py.File(tenx, "w") as file:
        write_matrix(file, "matrix", data=np.full(np.count_nonzero(MOLECULES), -1))
    refused(tenx, r"row 'AAAC-0', column .* holds -1")


def test_every_advice_of_an_error_leads_to_a_table(tmp_path):
    tenx = tmp_path / "cells.h5"
    anndata.AnnData(sp.csr_matrix(MOLECULES.astype("f4"))).write_h5ad(tenx)
    refused(tenx, "pass format='h5ad'")
    assert read_counts(tenx, format="h5ad").shape == MOLECULES.shape
    other = tmp_path / "cells.h5ad"
    with h5py.File(other, "w") as file:
        write_matrix(file, "matrix")
    refused(other, "pass format='10x-h5'")
    assert read_counts(other, format="10x-h5").shape == MOLECULES.shape
    refused(other, "one of 'Gene Expression', 'Antibody", format="10x-h5", layer="RNA")


SAMPLES = np.array([[3, 0, 1], [0, 5, 0]])


@pytest.fixture(scope="module")
def biom_table():
    biom = pytest.importorskip("biom")
    metadata = [{"taxonomy": ["k__Bacteria", f"p__{i}"]} for i in range(3)]
    return biom.Table(SAMPLES.T, ["o1", "o2", "ö3"], ["s1", "s2"], metadata)


@pytest.fixture(params=["hdf5", "json", "json.gz"])
def biom(request, biom_table, tmp_path):
    biom = tmp_path / "t.biom"
    if request.param == "hdf5":
        with h5py.File(biom, "w") as file:
            biom_table.to_hdf5(file, "a test")
    else:
        content = biom_table.to_json("a test").encode()
        packed = request.param == "json.gz"
        biom.write_bytes(gzip.compress(content) if packed else content)
    return biom


def test_samples_become_rows(biom):
    table = read_counts(biom)
    np.testing.assert_array_equal(table.X.toarray(), SAMPLES)
    assert table.row_names.tolist() == ["s1", "s2"]
    assert table.column_names.tolist() == ["o1", "o2", "ö3"]
    assert read_counts(biom, transpose=True).shape == (3, 2)


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
    biom = in_json(tmp_path, matrix_type="dense", data=[[1, 2], [3, 4]])
    assert read_counts(biom).X.toarray().tolist() == [[1, 3], [2, 4]]


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
    refused(in_json(tmp_path, **changes), reason)


def test_text_that_is_no_table_is_refused(tmp_path):
    for content in ("[]", "{}", "{", "[" * 100_000):
        (tmp_path / "t.biom").write_text(content)
        refused(tmp_path / "t.biom", r"t\.biom")


def in_hdf5(biom, table):
    with h5py.File(biom, "w") as file:
        table.to_hdf5(file, "a test")
    return biom


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file["sample/matrix/indices"].__setitem__(0, 99),
        lambda file: file["sample/matrix"].__delitem__("data"),
        lambda file: file["observation"].__delitem__("ids"),
    ],
)
def test_damaged_tables_are_refused(change, biom_table, tmp_path):
    biom = in_hdf5(tmp_path / "t.biom", biom_table)
    with h5py.File(biom, "r+") as file:
        change(file)
    refused(biom, r"t\.biom")


def test_biom_is_never_unpickled(biom_table, tmp_path):
    mark = tmp_path / "mark"
    biom = in_hdf5(tmp_path / "t.biom", biom_table)
    stored = np.void(pickle.dumps(Planted(mark)))
    with h5py.File(biom, "r+") as file:
        file["observation/metadata/plan"] = stored
        file["sample/metadata/plan"] = stored
        file.attrs["plan"] = stored
    assert read_counts(biom).shape == SAMPLES.shape
    with h5py.File(biom, "r+") as file:
        del file["sample/ids"]
        file["sample/ids"] = np.array([stored, stored])
    with pytest.raises(DataFormatError):
        read_counts(biom)
    assert not mark.exists()


def test_the_two_kinds_of_hdf5_are_not_mistaken(biom_table, tmp_path):
    biom = in_hdf5(tmp_path / "t.h5ad", biom_table)
    refused(biom, r"not an AnnData file.* pass format='biom'")
    assert read_counts(biom, format="biom").shape == SAMPLES.shape
    with h5py.File(tmp_path / "t.biom", "w") as file:
        file.create_group("obs")
    refused(tmp_path / "t.biom", "of BIOM; pass format='h5ad'")
