"""Which counts of an AnnData are taken: layers, raw, files, views."""

import logging

import numpy as np
import pytest
import scipy.sparse as sp

import threecpo.anndata
from anndata_cells import (
    X,
    anndata,
    check,
    expected,
    log_normalised,
    made,
)
from threecpo.anndata import cluster


@pytest.mark.parametrize(
    ("layers", "asked", "taken"),
    [
        ({}, None, "X"),
        ({}, "X", "X"),
        ({"counts": X + 1, "raw": X}, "raw", "layers['raw']"),
        ({"counts": X}, None, "layers['counts']"),
        ({"counts": X + 1}, "X", "X"),
        ({"spliced": X + 1}, None, "X"),
        ({"X": X}, "X", "layers['X']"),
    ],
)
def test_the_matrix_that_is_taken_is_reported(layers, asked, taken, caplog):
    adata = made(layers={name: sp.csr_matrix(y) for name, y in layers.items()})
    with caplog.at_level(logging.INFO, logger="threecpo"):
        cluster(adata, 3, layer=asked)
    check(adata, expected())
    assert caplog.messages == [f"Using the counts of adata.{taken}."]
    assert adata.uns["threecpo"]["layer"] == taken


def test_fractions_in_x_are_refused_with_what_to_pass():
    adata = made()
    adata.layers["raw counts"] = adata.X.copy()
    adata.raw = adata
    adata.X = log_normalised(X)
    with pytest.raises(ValueError, match="not integers") as caught:
        cluster(adata, 3)
    message = str(caught.value)
    assert "layer=" in message
    assert "'raw counts'" in message
    assert "use_raw=True" in message
    assert not list(adata.obs)
    assert not adata.uns


def test_fractions_are_used_with_a_warning_where_they_are_asked_for():
    ratios = np.round(X / 7, 2).astype(np.float32)
    adata = made(ratios, "dense")
    with pytest.warns(UserWarning, match="not integers"):
        cluster(adata, 3, layer="X")
    with pytest.warns(UserWarning, match="not integers"):
        check(adata, expected(array=ratios))


@pytest.mark.parametrize(
    ("container", "mode"), [("dense", "r"), ("csr matrix", "r+"), ("csc matrix", "r")]
)
def test_a_backed_anndata_is_read_and_its_file_stays(tmp_path, container, mode):
    path = tmp_path / "cells.h5ad"
    made(container=container).write_h5ad(path)
    before = path.read_bytes()
    backed = anndata.read_h5ad(path, backed=mode)
    try:
        cluster(backed, 3)
        check(backed, expected())
        assert backed.isbacked
    finally:
        backed.file.close()
    if mode == "r":
        assert path.read_bytes() == before


def test_views_of_backed_anndata_need_a_copy(tmp_path):
    path = tmp_path / "cells.h5ad"
    made().write_h5ad(path)
    backed = anndata.read_h5ad(path, backed="r")
    try:
        view = backed[20:]
        with pytest.raises(ValueError, match="view of a backed AnnData"):
            cluster(view, 3)
        copied = cluster(view, 3, copy=True)
        check(copied, expected(array=X[20:]))
        assert not copied.isbacked
    finally:
        backed.file.close()


def test_duplicate_gene_names_are_no_obstacle():
    adata = made()
    adata.var_names = ["gene"] * X.shape[1]
    cluster(adata, 3)
    check(adata, expected())


class TestRaw:
    """``use_raw=True``: counts of ``adata.raw``, whose genes may be more."""

    @pytest.fixture
    def adata(self):
        full = made()
        full.raw = full.copy()
        part = full[:, 2:8].copy()
        part.X = log_normalised(X[:, 2:8])
        return part

    def test_raw_counts_are_taken(self, adata):
        cluster(adata, 3, use_raw=True)
        model = expected()
        assert adata.uns["threecpo"]["layer"] == "raw.X"
        names = np.array(["0", "1", "2"])
        np.testing.assert_array_equal(adata.obs["threecpo"], names[model.labels_])
        groups = np.array(["shared", "relevant", "noise"])[model.column_groups_]
        np.testing.assert_array_equal(adata.var["threecpo_group"], groups[2:8])
        rates = adata.varm["threecpo_rates"]
        np.testing.assert_array_equal(rates, model.cluster_rates_.T[2:8])

    def test_genes_that_raw_lacks_have_no_group(self, adata):
        names = list(adata.var_names)
        adata.var_names = ["another gene", *names[1:]]
        cluster(adata, 3, use_raw=True)
        assert adata.var["threecpo_group"].isna().tolist() == [True] + [False] * 5
        assert np.isnan(adata.varm["threecpo_rates"][0]).all()
        assert not np.isnan(adata.varm["threecpo_rates"][1:]).any()

    def test_a_backed_raw_is_read(self, adata, tmp_path):
        adata.write_h5ad(tmp_path / "cells.h5ad")
        backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
        try:
            cluster(backed, 3, use_raw=True)
            assert backed.uns["threecpo"]["loss"] == expected().loss_
        finally:
            backed.file.close()

    def test_the_report_is_made_of_the_same_counts(self, adata, tmp_path):
        cluster(adata, 3, use_raw=True)
        threecpo.anndata.report(adata, tmp_path / "report.html", title="Raw")
        assert "raw.X" in (tmp_path / "report.html").read_text("utf-8")
