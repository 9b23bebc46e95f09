"""The labelled count tables of the comparison, by kind, from small to large."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# Names and numbers of classes.
_SETS = {
    "texts": "federalist300 3, re0 13, re1 23, bbcsports 5, tr12 8, stackoverflow 20, "
    "octis_dblp 4, tr11 9, classic3 3, tr41 10, tr45 10, wap 20, agnews8000 4, "
    "bbcnews 5, k1b 6, hitech 6, reuters 5, webkb 6, la2 6, poliblog_blog6 6, "
    "newsgroups20 20",
    "cells": "tms_liver 5, starmap_mpfc 15, zheng500 3, pbmc10x_top2000 8, "
    "zilionis_lung 4, worm_neuron 10, human_kidney_top2000 11, cbmc_top2000 15, "
    "cellmix_pure4 4, mix_dropseq_3cl 3, pancreas_endocrine 8, "
    "mix_celseq2_3cl 3, mouse_bladder 16, zheng_mudan9 9, goolam_embryo 5, "
    "pollen 10, mix_celseq2_5cl 5, baron_h1 14, pbmc_kang 8, celllines_li 7",
    "other": "wholesales 2, bci_habitat 5, oldfrench_genre 2, dietswap_nation 2, "
    "ravel_vaginal 5, sporta 2, optdigits 10, tcga5 5, mnist4k 10, tcga2 2",
}
KINDS = {
    kind: {name: int(k) for name, k in map(str.split, sets.split(", "))}
    for kind, sets in _SETS.items()
}
CLASSES = {name: k for kind in KINDS.values() for name, k in kind.items()}


def data_files(folders: Iterable[Path]) -> dict[str, Path]:
    """Return the files of data sets in some folders, by name, the smallest first."""
    files = [file for folder in folders for file in folder.glob("*.npz")]
    files.sort(key=lambda file: file.stat().st_size)
    return {file.stem: file for file in files if file.stem in CLASSES}
