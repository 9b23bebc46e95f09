"""ARI, NMI and ACC of k-means on weighted terms (TF-IDF and BM25)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._comparison_tables import compared, protocol_of, write_compared

if TYPE_CHECKING:
    from ._study import Study

METHODS = ("3CPO", "TF-IDF+KM", "BM25+KM", "TF-IDF+SKM", "BM25+SKM")
TEXTS = ("BBCSports", "BBCNews", "WebKB", "Reuters", "20NewsG")


def run(study: Study) -> None:
    entries = compared(study, "text", study.data(TEXTS), study.methods(METHODS))
    write_compared(
        study,
        "Weighted terms",
        entries,
        protocol_of(study),
    )
