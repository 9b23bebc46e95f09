"""Which files of the paper's data sets are on this machine."""

from __future__ import annotations

import os
from pathlib import Path

# By data set its files as published, each with those that may stand instead.
FILES: dict[str, dict[str, tuple[str, ...]]] = {
    "wholesales": {"wholesale+customers.zip": ("Wholesale customers data.csv",)},
    "sport_articles": {"sports+articles+for+objectivity+analysis.zip": ()},
    "optdigits": {
        "optical+recognition+of+handwritten+digits.zip": (
            "optdigits.tra",
            "optdigits.tes",
        )
    },
    "bbcsports": {"bbcsport-fulltext.zip": ()},
    "bbcnews": {"bbc-fulltext.zip": ()},
    "webkb": {"webkb-data.gtar.gz": ("webkb-data.tar.xz",)},
    "reuters": {
        "reuters+21578+text+categorization+collection.zip": ("reuters21578.tar.xz",)
    },
    "20newsgroups": {"20news-bydate.tar.gz": ("20news-bydate.tar.xz",)},
    "gene_expression": {
        "gene+expression+cancer+rna+seq.zip": ("TCGA-PANCAN-HiSeq-801x20531.tar.gz",)
    },
    "human_dendritic": {"dataset1_sm_uc3.txt.gz": (), "sample_sm_uc3.txt.gz": ()},
    "mouse_atlas": {
        "filtered_total_batch1_seqwell_batch2_10x.txt.gz": (),
        "filtered_total_sample_ext_organ_celltype_batch.txt.gz": (),
    },
}


def missing_files(data_set: str) -> list[str]:
    """Names of the files of a data set that would have to be downloaded."""
    folder = _data_home()
    if folder is None:
        return list(FILES[data_set])
    return [
        name
        for name, instead in FILES[data_set].items()
        if not _all_in(folder, (name,)) and not (instead and _all_in(folder, instead))
    ]


def _all_in(folder: Path, names: tuple[str, ...]) -> bool:
    return all((folder / name).is_file() for name in names)


def _data_home() -> Path | None:
    """Where loaders look: the folder of THREECPO_DATA, or the cache of downloads."""
    given = os.environ.get("THREECPO_DATA")
    if given:
        return Path(given).expanduser()
    try:
        import pooch
    except ImportError:
        return None
    return Path(pooch.os_cache("threecpo"))
