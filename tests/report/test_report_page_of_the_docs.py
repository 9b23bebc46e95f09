"""What docs/report.md shows is what happens."""

import doctest
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("Agg")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "report.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="the docs are not part of this copy")
def test_the_examples_run():
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted > 15
    assert result.failed == 0
    import matplotlib.pyplot as plt

    plt.close("all")
