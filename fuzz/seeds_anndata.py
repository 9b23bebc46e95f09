"""Small AnnData, 10x and BIOM files, to be mutated."""

from __future__ import annotations

import io
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from .seeds import made, table

if TYPE_CHECKING:
    from pathlib import Path

    from .target import Tree


def h5ad(layout: str) -> list[Tree]:
    """Files with X of a layout, plain and compressed; "layers" has X and two more."""
    return [
        made(lambda folder: adata(layout).write_h5ad(folder / "t.h5ad")),
        made(
            lambda folder: adata(layout).write_h5ad(
                folder / "t.h5ad", compression="gzip"
            )
        ),
    ]


def adata(layout: str) -> Any:
    """An AnnData of six cells with labels."""
    import anndata
    import pandas as pd

    given: Any = table()
    X = given.X.astype(np.float32)
    index = pd.Index(given.row_names.astype(str))
    obs = pd.DataFrame({"label": pd.Categorical(list("uvvuvu"))}, index=index)
    var = pd.DataFrame(index=pd.Index(given.column_names.astype(str)))
    if layout != "layers":
        X = X.toarray() if layout == "dense" else X.asformat(layout)
        return anndata.AnnData(X, obs=obs, var=var)
    layers = {"counts": X.copy(), "dense": X.toarray()}
    found = anndata.AnnData(X / 2, obs=obs, var=var, layers=layers)
    found.raw = found
    return found


def zarr_folders() -> list[Tree]:
    """AnnData as zarr: sparse and dense, of both formats of zarr, packed and not.

    Those that are not packed have no copy of all metadata either.
    """
    ways = (
        *(("csr", 2, "packed"), ("csr", 3, "plain"), ("csr", 2, "plain")),
        *(("dense", 3, "plain"), ("csr", 3, "packed"), ("layers", 2, "plain")),
    )
    return [made(_write_zarr, *way) for way in ways]


def _write_zarr(folder: Path, layout: str, version: Any, form: str) -> None:
    import anndata
    import zarr

    # Older AnnData asks the setting even where the group has a format.
    with anndata.settings.override(zarr_write_format=version):
        if form == "packed":
            adata(layout).write_zarr(folder / "t")
            return
        group = zarr.open_group(folder / "t", mode="w", zarr_format=version)
        option = "compressor" if version == 2 else "compressors"
        anndata.io.write_elem(group, "/", adata(layout), dataset_kwargs={option: None})


def tenx_hdf5() -> list[Tree]:
    """10x matrices of Cell Ranger 3, with two kinds of features, and of version 2."""
    return [{"t.h5": _tenx(version)} for version in (3, 2)]


def _tenx(version: int) -> bytes:
    import h5py

    given: Any = table()
    X, genes = given.X, given.column_names.astype("S")
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        group = file.create_group("matrix" if version == 3 else "hg19")
        for part in ("data", "indices", "indptr"):
            values = getattr(X, part).astype(np.int32)
            group.create_dataset(part, data=values, chunks=True, compression="gzip")
        group["shape"] = np.array(X.shape[::-1])
        group["barcodes"] = given.row_names.astype("S")
        if version == 2:
            named = {"genes": genes, "gene_names": genes}
        else:
            kinds = np.array([b"Gene Expression"] * 4 + [b"Antibody Capture"])
            named = {"features/id": genes, "features/name": genes}
            named["features/feature_type"] = kinds
            named["features/genome"] = np.array([b"hg19"] * 5)
            # CellBender keeps more than the counts.
            for part in ("phi", "swapping_fraction", "barcode_indices"):
                file[f"metadata/{part}"] = np.arange(20.0)
        for name, values in named.items():
            group[name] = values
    return content.getvalue()


def biom(kind: str) -> list[Tree]:
    """BIOM tables in HDF5 or JSON."""
    import biom as library

    given: Any = table()
    X = given.X.toarray().T
    names = ([*given.column_names], [*given.row_names])
    metadata = [{"taxonomy": ["k", f"p{i}"]} for i in range(X.shape[0])]
    sites = [{"site": ("gut", "skin")[i % 2]} for i in range(X.shape[1])]
    when = datetime(2020, 1, 1)
    out = []
    for extra in (None, metadata):
        made_table = library.Table(X, *names, extra, sites)
        if kind == "json":
            text = made_table.to_json("fuzz", creation_date=when)
            out.append({"t.biom": text.encode()})
        else:
            out.append({"t.biom": _biom_in_hdf5(made_table, when)})
    if kind == "json":
        samples = b'{"columns":[{"id":"s","metadata":{"site":1}}],"matrix_type":"dense"'
        counts = b',"rows":[{"id":"a"},{"id":"b"}],"data":[[1],[2]],"shape":[2,1]}'
        out.append({"t.biom": samples + counts})
    return out


def _biom_in_hdf5(given: Any, when: datetime) -> bytes:
    import h5py

    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        given.to_hdf5(file, "fuzz", creation_date=when)
    return content.getvalue()
