"""The most telling words of each cluster, of C0 and of C-."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._measures import words
from ._paper_words import PAPER_WORDS
from ._result_files import markdown_table
from ._variants import best_execution, best_of, threecpo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._data import Data
    from ._measured_cells import Values
    from ._study import Study

DATA_SETS = ("BBCSports", "BBCNews")
SHOWN = 10
COLUMNS = ("data_set", "partition", "class", "rank", "word", "in_paper")


def run(study: Study) -> None:
    rows, parts = [], []
    for data in study.data(DATA_SETS):
        values = best_execution(study, words, data, threecpo(), n=SHOWN)
        shown = []
        for partition, title, listed in partitions(data, values):
            paper = PAPER_WORDS.get(data.name, {}).get(title, ())
            rows += [
                dict(
                    zip(
                        COLUMNS,
                        (data.name, partition, title, rank, word, int(word in paper)),
                        strict=True,
                    )
                )
                for rank, word in enumerate(listed, start=1)
            ]
            marked = ", ".join(f"**{w}**" if w in paper else w for w in listed)
            common = f"{len({*listed} & {*paper})} of {len(paper)}" if paper else ""
            place = f"{partition}, {title}" if partition == "C1" else partition
            shown.append([place, marked, common])
        header = ["group", "words, the most telling first", "in the paper's list"]
        parts += [f"## {data.name}", markdown_table(header, shown, texts=2)]
    study.write_csv(COLUMNS, rows)
    study.write_page(
        "Words",
        f"{best_of(study)} Relevant words by the difference of their rate in the "
        "cluster to the overall rate, the others by their rate; a cluster is named by "
        "its commonest class. Words in **bold** are in the paper's list too.",
        *parts,
    )


def partitions(data: Data, values: Values) -> Iterator[tuple[str, str, list[str]]]:
    """Partition, class and words of every cluster, then of C0 and C-."""
    for cluster, sizes in enumerate(values["classes"]):
        label = int(np.argmax(sizes))
        yield "C1", data.label_name(label), values["words"].get(str(cluster), [])
    for group in ("C0", "C-"):
        yield group, group, values["words"].get(group, [])
