"""The most telling words of each cluster, of C0 and of C-."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from threecpo.text import stemmer

from .files import markdown_table
from .measures import words as top_words
from .tables import best_execution, best_of, threecpo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .cells import Values
    from .data import Data
    from .study import Study

DATA_SETS = ("BBCSports", "BBCNews")
SHOWN = 10
# The words that the paper lists for each class, and for C0 and C-.
_LISTS = {
    "BBCSports": {
        "rugby": "half six their franc nation the rugbi ireland wale england",
        "athletics": "year indoor world race athlet her olymp she in the",
        "cricket": "four day by run his test wicket over off ball",
        "tennis": "the australian she her final in seed roddick set open",
        "football": "unit leagu have chelsea club that he is we it",
        "C0": "as at with but was on for of and to",
        "C-": "former move face month week old intern injuri last said",
    },
    "BBCNews": {
        "politics": "tori blair would govern said parti elect labour he mr",
        "entertainment": "music was for award best of in and film the",
        "sport": "player after england game play win we his he but",
        "business": "said firm bank market compani us of it in the",
        "tech": "can user phone game are peopl that technolog mobil use",
        "C0": "about new up their an this will as is to",
        "C-": "12 earlier 20 januari charg 2003 third dure follow week",
    },
}
PAPER_WORDS = {
    name: {title: words.split() for title, words in table.items()}
    for name, table in _LISTS.items()
}
COLUMNS = ("data_set", "partition", "class", "rank", "word", "in_paper")


def words(study: Study) -> None:
    """The most telling words of each cluster, of C0 and of C-."""
    rows, parts = [], []
    for data in study.data(DATA_SETS):
        values = best_execution(study, top_words, data, threecpo(), n=SHOWN)
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
    """Partition, class and stems of every cluster, then of C0 and C-."""
    # The paper lists stems; columns are named by the commonest word of each.
    stems = stemmer("english")
    for cluster, sizes in enumerate(values["classes"]):
        label = int(np.argmax(sizes))
        yield "C1", data.label_name(label), stems(values["words"].get(str(cluster), []))
    for group in ("C0", "C-"):
        yield group, group, stems(values["words"].get(group, []))
