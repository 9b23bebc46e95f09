"""One table of parameters: signature, docstring and checks agree with it."""

import inspect
import re
from ast import literal_eval

import numpy as np
import pytest

from threecpo import ParameterError, ThreeCPO
from threecpo._parameters import PARAMETERS, ROBUST

X = np.array([[9, 1, 5], [8, 2, 5], [1, 7, 5], [0, 9, 4]] * 3)


def documented(of):
    """Type line and text of each parameter in a numpydoc docstring."""
    section = re.split(r"\n(?:Attributes|Returns)\n-+\n", inspect.getdoc(of))[0]
    section = section.replace("\\\n", " ").split("Parameters\n----------\n")[1]
    entries = re.findall(r"(?m)^(\w[\w, ]*) : (.*)\n((?:    .*\n?)+)", section)
    return {
        name: (kind, " ".join(text.split()))
        for names, kind, text in entries
        for name in names.split(", ")
    }


def test_the_constructor_has_the_parameters_of_the_table():
    signature = inspect.signature(ThreeCPO).parameters
    assert {name: p.default for name, p in signature.items()} == {
        name: parameter.default for name, parameter in PARAMETERS.items()
    }
    assert [*signature] == [*PARAMETERS]


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_docstring_agrees_with_the_table(name):
    parameter = PARAMETERS[name]
    kind, text = documented(ThreeCPO)[name]
    default = kind.partition("default=")[2]
    assert literal_eval(default) == parameter.default
    for choice in parameter.choices:
        assert re.search(rf"\b{re.escape(str(choice))}", f"{kind} {text}")


def test_the_docstring_says_what_true_is():
    values = {key: int(value) for key, value in ROBUST.items()}
    assert (
        f"True is ``{values}``".replace("'", '"') in documented(ThreeCPO)["robust"][1]
    )


@pytest.mark.parametrize(
    "name", [name for name, each in PARAMETERS.items() if each.kind != "columns"]
)
def test_what_the_table_forbids_is_refused_by_name(name):
    with pytest.raises(ParameterError) as caught:
        ThreeCPO(**{"n_clusters": 2, name: "nonsense"}).fit(X)
    assert caught.value.parameter == name


def test_sentences_are_one_line_for_people():
    for parameter in PARAMETERS.values():
        assert re.fullmatch(r"[A-Z0-9].{10,75}\.", parameter.sentence)
