"""Any bytes and any text: a table, or our own error in one line.

Damaged files of every kind are in tests/fuzz.
"""

import warnings

import numpy as np
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from threecpo import read_counts
from threecpo.io import DataFormatError


def read(path, options):
    """Read a file; anything but a table or our own error fails the test."""
    with warnings.catch_warnings(record=True) as leaked:
        warnings.simplefilter("always")
        try:
            table = read_counts(path, **options)
        except DataFormatError as error:
            message = str(error)
            assert str(path) in message
            assert "\n" not in message
            assert len(message) < 600
            table = None
    # Files that garbage collection closes later are no warning of this file.
    assert [w for w in leaked if not issubclass(w.category, ResourceWarning)] == []
    if table is not None:
        assert table.X.nnz == np.count_nonzero(table.X.data > 0)
        assert np.isfinite(table.X.data).all()


@given(st.binary(max_size=200))
@example(b"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1\x8a")
@example(b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 " + b"1" * 99)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_a_table_or_our_own_error(tmp_path, content):
    for name in ("t", "t.csv", "t.mtx", "t.npz", "t.jsonl", "t.biom"):
        path = tmp_path / name
        path.write_bytes(content)
        read(path, {})


@given(
    st.text(st.sampled_from('01.9-e,\t;|"\n\r ax#%{}[]:\ufeff\0é'), max_size=60),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, True, False]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
def test_any_text_gives_a_table_or_our_own_error(tmp_path, text, header, triples):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    read(path, {"header": header, "triples": triples})
