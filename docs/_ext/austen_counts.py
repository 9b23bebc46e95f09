"""Makes the counts of ``load_austen``: ``python docs/_ext/austen_counts.py CHAPTERS``.

CHAPTERS is a jsonl file, perhaps with .gz, with ``novel``, ``chapter`` and ``text`` on
each line.
"""

import gzip
import json
import sys
from pathlib import Path

import numpy as np

from threecpo.text import count_terms

TARGET = Path(__file__).parents[2] / "src" / "threecpo" / "data" / "austen.npz"


def arrays_of(path):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        chapters = [json.loads(line) for line in file]
    table = count_terms([chapter["text"] for chapter in chapters])
    return {
        "counts": table.X.toarray().astype(np.uint16),
        "words": table.column_names.astype(str),
        "novels": np.array([chapter["novel"] for chapter in chapters]),
        "chapters": np.array([chapter["chapter"] for chapter in chapters], np.uint16),
    }


if __name__ == "__main__":
    np.savez_compressed(TARGET, **arrays_of(Path(sys.argv[1])))
