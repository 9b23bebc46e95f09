"""Libraries that only some users need."""

import sys

import pytest

from threecpo._extras import require


def test_what_is_installed_is_imported():
    assert (
        require("xml.dom.minidom", "plot", "A figure") is sys.modules["xml.dom.minidom"]
    )


@pytest.mark.parametrize("module", ["no_such_library", "no_such_library.part"])
def test_what_is_missing_is_told_with_its_extra(module):
    message = (
        "A figure needs no_such_library, which is not installed. "
        'Install it with: pip install "threecpo[plot]"'
    )
    with pytest.raises(ImportError) as caught:
        require(module, "plot", "A figure")
    assert str(caught.value) == message
    assert caught.value.name == "no_such_library"
    assert isinstance(caught.value.__cause__, ImportError)
