"""The report about the clusters of an AnnData."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import threecpo.anndata
from anndata_cells import (
    TRUE,
    X,
    made,
)
from threecpo.anndata import cluster, report


class TestReport:
    @pytest.mark.parametrize(
        ("change", "part"),
        [
            (lambda adata: adata[5:], r"has \d+ of the \d+ cells"),
            (lambda adata: adata[:, 2:], r"lacks 2 of the \d+ genes"),
        ],
    )
    def test_parts_of_the_fit_are_refused(self, tmp_path, change, part):
        adata = made()
        cluster(adata, 3)
        with pytest.raises(ValueError, match=part):
            threecpo.anndata.report(change(adata).copy(), tmp_path / "report.html")
        assert not list(tmp_path.iterdir())

    def test_the_matrix_of_the_fit_must_be_there(self, tmp_path):
        adata = made(layers={"counts": sp.csr_matrix(X)})
        cluster(adata, 3)
        del adata.layers["counts"]
        with pytest.raises(
            ValueError, match=r"^layers\['counts'\], which the clusters"
        ):
            threecpo.anndata.report(adata, tmp_path / "report.html")


class TestLabels:
    @pytest.fixture
    def adata(self):
        adata = made()
        cluster(adata, 3)
        adata.obs["cell_type"] = pd.Categorical([f"type {k}" for k in TRUE])
        adata.obs["donor"] = [i % 2 for i in range(len(X))]
        adata.obs.loc[adata.obs_names[:5], "donor"] = np.nan
        return adata

    def test_columns_of_obs_are_compared(self, adata):
        summary = report(adata, labels=["cell_type", "donor"]).summary
        assert [part["name"] for part in summary["labels"]] == ["cell_type", "donor"]
        model = threecpo.anndata.model(adata)
        crossed = pd.crosstab(model.labels_, adata.obs["donor"]).to_numpy()
        assert summary["labels"][1]["values"] == ["0", "1"]
        assert sorted(map(sorted, summary["labels"][1]["counts"])) == sorted(
            map(sorted, crossed.tolist())
        )
        assert (
            "5 cells without a value are left out"
            in (summary["labels"][1]["agreement"])
        )
        (part,) = report(adata, labels="cell_type").summary["labels"]
        assert part == summary["labels"][0]

    def test_they_stay_with_their_cells_in_another_order(self, adata):
        both = ["cell_type", "donor"]
        pages = [report(each, labels=both).html for each in (adata, adata[::-1, ::-1])]
        assert pages[0] == pages[1]
        for place, name in enumerate(both):
            assert f'<option value="{place}">{name}</option>' in pages[0]

    def test_rows_are_cells_unless_they_are_called_otherwise(self, adata):
        assert "cells in 3 clusters" in report(adata).summary["lead"]
        nuclei = report(adata, row_noun="nuclei")
        assert "nuclei in 3 clusters" in nuclei.summary["lead"]

    @pytest.mark.parametrize("asked", ["type", ["cell_type", "type"]])
    def test_a_column_that_is_not_there_is_named(self, adata, asked):
        with pytest.raises(
            ValueError, match=r"^labels='type' is not a column of obs, "
        ):
            report(adata, labels=asked)


def test_a_report_may_have_another_key():
    adata = made()
    cluster(adata, 2, key_added="two")
    assert "cells in 2 clusters" in repr(report(adata, key_added="two"))
    with pytest.raises(
        ValueError, match=r"no model under uns\['threecpo'\].*key_added="
    ):
        report(adata)
