"""Tables to write and read, and what makes two of them the same."""

import numpy as np
import pytest
from hypothesis import strategies as st

from strategies import count_matrices
from threecpo import CountTable, read_counts
from threecpo.io import DataFormatError

WORDS = CountTable(
    [[3, 0, 1], [0, 50, 0], [0, 0, 2**40]],
    row_names=["a", "b", "ß"],
    column_names=["x", 'y, "z"', "line\nend"],
    labels=[1, 0, -1],
    label_names=["u", "v"],
)
PLAIN = CountTable(
    [[3, 0, 1], [0, 50, 0]], row_names=["a", "b"], column_names=["x", "y", "z"]
)


def names(size, alphabet):
    return st.lists(
        st.text(alphabet, min_size=1, max_size=6),
        min_size=size,
        max_size=size,
        unique=True,
    )


ANY = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
ONE_LINE = st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"])


@st.composite
def tables(draw, alphabet=ANY, *, labelled=True, fractional=True):
    """Small tables with odd names, some with labels, some with fractions."""
    Y = draw(count_matrices(max_rows=5, max_columns=4))
    if fractional and draw(st.booleans()):
        Y = Y * draw(st.sampled_from([0.5, 0.1, 1e-7, 1 / 3]))
        # Rows that all sum to the same are refused as proportions.
        Y[0, 0] += 7
    n_rows, n_columns = Y.shape
    label = {}
    if labelled and draw(st.booleans()):
        label_names = draw(names(2, st.characters(categories=["Lu", "Nd"])))
        rows = st.lists(st.integers(-1, 1), min_size=n_rows, max_size=n_rows)
        label = {"labels": draw(rows), "label_names": label_names}
    return CountTable(
        Y,
        row_names=draw(names(n_rows, alphabet)),
        column_names=draw(names(n_columns, alphabet)),
        **label,
    )


def label_of_rows(table):
    """The name of each row's label, whatever its number."""
    if table.labels is None:
        return None
    found = table.label_names
    return [None if label < 0 else str(found[label]) for label in table.labels]


def assert_same(read, written, *, labels=True, order=True):
    assert read.shape == written.shape
    columns = list(written.column_names)
    if order:
        assert list(read.column_names) == columns
    place = {name: j for j, name in enumerate(read.column_names)}
    X = read.X[:, [place[name] for name in columns]]
    np.testing.assert_array_equal(X.toarray(), written.X.toarray())
    assert list(read.row_names) == list(written.row_names)
    if labels:
        assert label_of_rows(read) == label_of_rows(written)


def refused(path, reason, **options):
    """Reading a file fails with one line that names it."""
    with pytest.raises(DataFormatError, match=reason) as caught:
        read_counts(path, **options)
    message = str(caught.value)
    assert str(options.get("metadata") or path) in message or str(path) in message
    assert "\n" not in message
    assert not message.endswith("..") or message.endswith("...")


def kinds_of(table):
    """Kinds of labels, with those of all rows."""
    return {kind: texts.tolist() for kind, texts in table.label_kinds.items()}
