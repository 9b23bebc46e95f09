"""Advice about checkpoints, AnnData and files of other programs leads to a fit."""

import shutil

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from anndata_cells import TRUE, anndata, log_normalised, made
from threecpo import ThreeCPO, distributed, read_counts
from threecpo import anndata as tc
from threecpo._fit.checkpoint import _locked

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
X = np.random.default_rng(0).poisson(5, (60, 4))


def fit(folder, k=2, data=X):
    model = ThreeCPO(k, n_init=2, random_state=0)
    return distributed.fit(model, data, sample_rows=20, checkpoint=folder)


def cut(folder):
    content = (folder / "state.json").read_bytes()
    (folder / "state.json").write_bytes(content[:-9])


# What is done to a checkpoint, or tried with it, and the sentence.
CHECKPOINTS = {
    "another fit": ({"k": 3}, None, "name another folder, or remove it to start again"),
    "other data": ({"data": X + 1}, None, "name another folder, or remove it"),
    "damage": ({}, cut, "is damaged: .*; remove it to start again"),
}


@pytest.mark.parametrize("case", CHECKPOINTS)
def test_checkpoints_of_something_else(case, tmp_path):
    other, damaged, sentence = CHECKPOINTS[case]
    fit(tmp_path / "state")
    if damaged is not None:
        damaged(tmp_path / "state")
    with pytest.raises(ValueError, match=sentence):
        fit(tmp_path / "state", **other)
    if "another folder" in sentence:
        fit(tmp_path / "another", **other)
    shutil.rmtree(tmp_path / "state")
    fit(tmp_path / "state", **other)


def test_a_checkpoint_among_other_files(tmp_path):
    (tmp_path / "thesis.tex").write_text("all of it")
    with pytest.raises(ValueError, match="name a folder of its own"):
        fit(tmp_path)
    fit(tmp_path / "state")


def test_a_checkpoint_in_use(tmp_path):
    (tmp_path / "state").mkdir()
    with _locked(tmp_path / "state"):
        with pytest.raises(ValueError, match="wait for it to end, or name another"):
            fit(tmp_path / "state")
        fit(tmp_path / "another")
    fit(tmp_path / "state")


def clustered(adata, **options):
    tc.cluster(adata, 2, n_init=1, **options)
    return adata


def test_views_of_a_file(tmp_path):
    made().write_h5ad(tmp_path / "t.h5ad")
    backed = anndata.read_h5ad(tmp_path / "t.h5ad", backed="r")
    with pytest.raises(
        ValueError, match=r"pass adata\[\.\.\.\]\.to_memory\(\), or copy"
    ):
        clustered(backed[:50])
    clustered(backed[:50].to_memory())
    tc.cluster(backed[:50], 2, n_init=1, copy=True)


def test_values_that_are_no_counts():
    adata = made()
    adata.layers["mine"], adata.X = adata.X, log_normalised(adata.X.toarray())
    with pytest.raises(ValueError, match="pass layer='mine', or layer='X' to use X"):
        clustered(adata)
    clustered(adata, layer="mine")
    with pytest.warns(UserWarning, match="not integers"):
        clustered(adata, layer="X")


@pytest.mark.filterwarnings("ignore:Writing zarr v2")
@pytest.mark.parametrize("ending", ["h5ad", "zarr"])
def test_files_of_normalised_values(ending, tmp_path):
    if ending == "zarr":
        pytest.importorskip("zarr")
    path, adata = tmp_path / f"t.{ending}", made()
    counts, adata.X = adata.X, log_normalised(adata.X.toarray())
    adata.layers["scaled"] = adata.X / 3

    def write():
        shutil.rmtree(path, ignore_errors=True)
        getattr(adata, f"write_{ending}")(path)

    def sensible(layer):
        model = ThreeCPO(3, random_state=0).fit(read_counts(path, layer=layer))
        assert adjusted_rand_score(TRUE[20:], model.labels_[20:]) > 0.9

    write()
    sentence = "no other matrix of the file holds counts. Look for .* before normalis"
    with pytest.raises(ValueError, match=sentence):
        read_counts(path)
    adata.layers["mine"] = counts
    write()
    with pytest.raises(ValueError, match=r"integers\. Pass layer='mine', which ho"):
        read_counts(path)
    sensible("mine")
    del adata.layers["mine"]
    adata.raw = made()
    write()
    with pytest.raises(ValueError, match="Pass layer='raw', which holds counts"):
        read_counts(path)
    sensible("raw")


def test_layers_and_columns_that_are_not_there():
    adata = made()
    adata.layers["mine"] = adata.X
    with pytest.raises(
        ValueError, match="no layer 'raw' in this AnnData; pass layer='mine'"
    ):
        clustered(adata, layer="raw")
    clustered(adata, layer="mine")
    adata.obs["donor"] = ["a", "b"] * (adata.n_obs // 2) + ["a"] * (adata.n_obs % 2)
    with pytest.raises(
        ValueError, match=r"'lab' is not a column of obs, which has .*donor"
    ):
        clustered(adata, batch_key="lab")
    clustered(adata, batch_key="donor")


def test_counts_of_dask():
    array = pytest.importorskip("dask.array")
    adata = made()
    adata.X = array.from_array(adata.X.toarray(), chunks=(50, -1))
    with pytest.raises(ValueError, match=r"fit them with threecpo\.ThreeCPO, or pass "):
        clustered(adata)
    clustered(adata.to_memory())
    distributed.fit(ThreeCPO(2, n_init=1, random_state=0), adata.X)


def test_new_cells():
    cells, new = made(), made()[:, 1:].copy()
    with pytest.raises(ValueError, match=r"call threecpo\.anndata\.cluster first"):
        tc.predict(new, cells)
    clustered(cells, key_added="mine")
    with pytest.raises(ValueError, match="or pass key_added="):
        tc.predict(new, cells)
    with pytest.raises(
        ValueError, match=r"lack 1 of .* pass missing='zero' to fill in"
    ):
        tc.predict(new, cells, key_added="mine")
    tc.predict(new, cells, key_added="mine", missing="zero")
    nameless = ThreeCPO(2, n_init=1, random_state=0).fit(cells.X)
    with pytest.raises(
        ValueError, match=r"names of genes; fit it with threecpo\.anndata"
    ):
        tc.predict(cells.copy(), nameless)


def test_a_matrix_of_r(tmp_path):
    for ending in (".rds", ".RData"):
        (tmp_path / f"t{ending}").write_bytes(b"\x1f\x8b")
        with pytest.raises(
            ValueError, match=r"write it from R with Matrix::writeMM, or"
        ):
            read_counts(tmp_path / f"t{ending}")
    # As writeMM leaves it, with the genes as rows.
    lines = [f"{j + 1} {i + 1} {X[i, j]}" for i in range(60) for j in range(4)]
    header = "%%MatrixMarket matrix coordinate integer general\n4 60 240\n"
    (tmp_path / "t.mtx").write_text(header + "\n".join(lines) + "\n")
    table = read_counts(tmp_path / "t.mtx", transpose=True)
    np.testing.assert_array_equal(table.X.toarray(), X)
    ThreeCPO(2, n_init=1).fit(table)


def test_a_loom(tmp_path):
    path, new = tmp_path / "t.loom", tmp_path / "t.h5ad"
    path.write_bytes(b"\x89HDF\r\n\x1a\n")
    advice = (
        r"with anndata\.io\.read_loom\(path\)\.write_h5ad\(new\), which needs loompy"
    )
    with pytest.raises(ValueError, match=advice):
        read_counts(path)
    loompy = pytest.importorskip("loompy")
    genes, cells = (
        {"Gene": np.array(list("abcd"))},
        {"CellID": np.arange(60).astype(str)},
    )
    loompy.create(str(tmp_path / "real.loom"), X.T, genes, cells)
    anndata.io.read_loom(tmp_path / "real.loom").write_h5ad(new)
    table = read_counts(new)
    np.testing.assert_array_equal(table.X.toarray(), X)
    ThreeCPO(2, n_init=1).fit(table)
