"""Rules as objects: their names, and what becomes of them on other processes."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from planted_runs import assert_same_bits, run_of, settings_of, start_of

import oracle
from threecpo._core import rules
from threecpo._core.codes import NOWHERE
from threecpo._core.rules import CHI_SQUARED, EXACT, PAPER

EVERY = [EXACT, PAPER, CHI_SQUARED]


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.name)
def test_equals_itself_after_pickling_and_no_other(rule):
    other = pickle.loads(pickle.dumps(rule))
    assert [each == other for each in EVERY] == [each is rule for each in EVERY]


@pytest.mark.parametrize("name", ["exact", "paper", "chi-squared"])
def test_is_found_by_its_name(name):
    assert rules.NAMED[name].name == name


def test_settings_equal_themselves_after_pickling():
    settings = settings_of(3)
    again = pickle.loads(pickle.dumps(settings))
    assert again == settings
    assert again != replace(settings, rule=PAPER)


def test_rows_join_seeds_by_likelihood_where_chi_squared_follows(seed):
    Y, _, _ = start_of(seed)
    groups = np.ones(Y.shape[1], dtype=np.int8)
    seeds = np.full(len(Y), NOWHERE)
    seeds[[3, 7, 20]] = [0, 1, 2]
    joined = oracle.row_scores(Y + 1e-3, seeds, groups, exact=True).argmax(axis=1)
    options = {"rule": CHI_SQUARED, "allowed": (1,)}
    first, second = (run_of(Y, s, groups, None, **options) for s in (seeds, joined))
    assert_same_bits(first, second)
