"""Arrays are written without pickle, and nothing beside them."""

import io

import numpy as np
import pytest

from threecpo._array_files import write_arrays


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_holds_the_arrays_and_nothing_else(packed):
    file = io.BytesIO()
    write_arrays(file, {"labels": np.arange(3), "name": np.array("x")}, packed=packed)
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        assert sorted(stored.files) == ["labels", "name"]
        assert stored["labels"].tolist() == [0, 1, 2]


def test_objects_are_refused():
    file = io.BytesIO()
    with pytest.raises(TypeError, match="names holds objects"):
        write_arrays(file, {"names": np.array(["x", None], dtype=object)})
    assert file.getvalue() == b""
