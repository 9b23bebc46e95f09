"""Arrays of an npz file."""

import zipfile

import numpy as np
import pytest

from threecpo.io import npz as npz_arrays


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_headers_are_parsed_by_one_thread_at_a_time(version, tmp_path, monkeypatch):
    """Python 3.11 can fail where two threads parse literals."""
    path, locked = tmp_path / "arrays.npz", []
    name = f"read_array_header_{version[0]}_{version[1]}"
    parse = getattr(np.lib.format, name)

    def seen(file):
        locked.append(npz_arrays._PARSING.locked())
        return parse(file)

    monkeypatch.setattr(np.lib.format, name, seen)
    with zipfile.ZipFile(path, "w") as archive, archive.open("a.npy", "w") as file:
        np.lib.format.write_array(file, np.arange(3), version=version)
    with npz_arrays.open_npz(path) as arrays:
        np.testing.assert_array_equal(arrays["a"], np.arange(3))
    assert locked == [True]
