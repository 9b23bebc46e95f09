"""A run that comes back to an earlier state ends there, also when it was resumed."""

from dataclasses import replace

import pytest
from block_fits import Crash, counts_of, crash_before_pass

from threecpo import ThreeCPO, distributed
from threecpo._core import rules

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Swapped(type(rules.PAPER)):
    """Profiles that swap names send the rows to and fro for ever."""

    def profile(self, sums, groups, **options):
        sums = replace(sums, clusters=sums.clusters[::-1].copy())
        return super().profile(sums, groups, **options)


@pytest.fixture(name="X")
def counts():
    return counts_of(0)[0]


@pytest.fixture
def start(X):
    """Labels at which the printed rule has settled."""
    return ThreeCPO(3, assignment="paper", random_state=0).fit(X).labels_


@pytest.fixture
def circling(X, start, monkeypatch):
    """Fit by a rule under which a run never settles; end it before a pass."""
    monkeypatch.setitem(rules.NAMED, "paper", Swapped())

    def fit(crash_at=None, **options):
        crash_before_pass(monkeypatch, crash_at)
        model = ThreeCPO(3, init=start, assignment="paper", max_iter=50, n_jobs=1)
        return distributed.fit(model, X, **options)

    return fit


def test_it_ends_where_it_has_been_before(circling):
    model = circling()
    assert 3 < model.n_iter_ < 10
    assert (model.history_["rows_moved"] == -1).all(), "it has not converged"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_resumed_run_ends_in_the_same_cycle(circling, tmp_path, number):
    """States before the crash are not kept: the cycle is found once more."""
    expected = circling()
    assert number < expected.n_iter_
    with pytest.raises(Crash):
        circling(number, checkpoint=tmp_path / "state")
    found = circling(checkpoint=tmp_path / "state")
    assert found.n_iter_ <= expected.n_iter_ + number
    assert found.loss_ in expected.history_["loss"]
