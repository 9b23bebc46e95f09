"""What a path is asked for: defaults, what wins, and what is refused."""

import pytest
from k_paths import TRUE, Restarted, X, assert_same_fit, path_of

from threecpo import ThreeCPO, select_n_clusters


@pytest.fixture(scope="module")
def path():
    return path_of()


def test_what_is_given_wins_over_the_estimator_which_stays_as_it_is():
    estimator = Restarted(7, n_init=9, random_state=8, n_jobs=2, max_iter=50)
    before = estimator.get_params()
    path = path_of(n_clusters=[2], estimator=estimator, n_init=4, n_jobs=1)
    found = path.estimator(2)
    assert (found.n_init, found.random_state, found.n_jobs) == (4, 0, 1)
    assert (found.n_clusters, found.max_iter) == (2, 50)
    assert len(found.restart_losses_) == 4
    assert estimator.get_params() == before
    assert not hasattr(estimator, "labels_")


def test_seed_and_threads_not_given_are_the_estimators():
    estimator = Restarted(random_state=8, n_jobs=1)
    options = {"random_state": None, "n_init": 2, "n_clusters": [4]}
    found = path_of(estimator=estimator, **options).estimator(4)
    assert (found.random_state, found.n_jobs) == (8, 1)
    assert_same_fit(found, Restarted(4, n_init=2, random_state=8).fit(X))


@pytest.mark.parametrize(("init", "n_init"), [("random-centers", 20), ("merge", 4)])
def test_the_default_is_20_runs_or_4_that_merge(init, n_init):
    path = select_n_clusters(X, [1, 2], estimator=ThreeCPO(init=init))
    assert len(path.estimator(2).restart_losses_) == n_init


BAD = {
    "criterion": (
        {"criterion": "silhouette"},
        r"^criterion='silhouette' is not one of 'mdl-dispersion', 'mdl'\.$",
    ),
    "empty": ({"n_clusters": []}, r"^n_clusters is empty; pass numbers"),
    "too many": (
        {"n_clusters": [2, 500]},
        r"^n_samples=105 should be >= n_clusters=500: [^.]*\.$",
    ),
    "zero": (
        {"n_clusters": [0, 2]},
        r"^n_clusters=0 must be an integer of 1 or more\.$",
    ),
    "float": ({"n_clusters": [2.5]}, r"^n_clusters=2\.5 must be an integer"),
    "text": ({"n_clusters": ["auto"]}, r"^n_clusters='auto' must be an integer"),
    "runs": ({"n_init": 0}, r"^n_init=0 must be .* 1 or more, or 'auto'\.$"),
    "labels": (
        {"estimator": Restarted(init=TRUE)},
        r"^A path over the number of clusters needs init by name: [^.]*\.$",
    ),
    "model": (
        {"estimator": Restarted(init=Restarted(3, n_init=1).fit(X))},
        r"^A path over the number of clusters needs init by name: [^.]*\.$",
    ),
}


def test_bad_arguments_are_refused_in_one_clear_sentence(path):
    for options, message in BAD.values():
        with pytest.raises(ValueError, match=message):
            path_of(**options)
    with pytest.raises(ValueError, match=r"(?i)negative|0 or more|below 0"):
        path_of(-X)
    message = r"^K = 9 is not in this path; it has 1, 2, 3, 4, 5\.$"
    with pytest.raises(ValueError, match=message):
        path.estimator(9)
    with pytest.raises(ValueError, match=r"^criterion='aic' is not one of"):
        path.choose("aic")


def test_values_that_are_not_whole_are_warned_of_once():
    with pytest.warns(UserWarning, match="X contains values") as caught:
        path_of(X * 0.5, [1, 2, 3], n_init=1)
    assert len(caught) == 1
