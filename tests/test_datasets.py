"""Data to try things on: Austen's novels and the paper's Synth, found again."""

import hashlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from threecpo import ThreeCPO
from threecpo.datasets import load_austen, make_synth

# Of the first row, and of the whole draw, with seed 0.
FIRST_ROW = [26, 39, 52, 13, 14, 20]
FIRST_DRAW = "12e2a8c974c7b8eecfb2a7ea72000041de43d3a9901cc13e295b5ed43030c7ce"
RATIOS = np.array([[2, 3, 4, 1], [4, 1, 4, 1], [3, 2, 4, 1]])
ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT.parent / "shared" / "raw" / "austen_chapters.jsonl.gz"


@pytest.fixture(scope="module")
def table():
    return load_austen()


@pytest.fixture(scope="module")
def model(table):
    return ThreeCPO(random_state=0).fit(table)


def test_chapters_have_names_and_novels(table):
    assert table.shape == (269, 2000)
    assert table.label_kind == "novel"
    novels = table.label_kinds["novel"]
    sizes = dict(zip(*np.unique(novels, return_counts=True), strict=True))
    assert sizes == {
        "Emma": 55,
        "Mansfield Park": 48,
        "Northanger Abbey": 31,
        "Persuasion": 24,
        "Pride and Prejudice": 61,
        "Sense and Sensibility": 50,
    }
    assert len(set(table.row_names)) == 269
    words = dict(zip(table.column_names, range(2000), strict=True))
    first = table.row_names.tolist().index("Pride and Prejudice, chapter 1")
    # "My dear Mr. Bennet", and no word of Emma's.
    assert table.X[first, words["bennet"]] > 5
    assert table.X[first, words["knightley"]] == 0
    assert table.licence == "Public domain"
    assert "Gutenberg" in table.source


def test_the_clusters_are_the_six_novels(table, model):
    assert model.n_clusters_ == 6
    assert adjusted_rand_score(table.labels, model.labels_) == 1
    assert model.cluster_names_.tolist() == [
        "elizabeth / darcy / bennet",
        "emma / harriet / weston",
        "elinor / marianne / dashwood",
        "fanny / crawford / edmund",
        "catherine / tilney / thorpe",
        "anne / elliot / captain",
    ]
    groups = dict(
        zip(*np.unique(model.column_groups_, return_counts=True), strict=True)
    )
    assert groups == {1: 250, 0: 1496, -1: 254}


def test_names_and_labels_do_not_leak_into_the_clusters(table, model):
    bare = ThreeCPO(random_state=0).fit(table.X)
    np.testing.assert_array_equal(bare.labels_, model.labels_)
    assert bare.loss_ == model.loss_


def test_the_file_is_what_the_script_makes():
    if not CHAPTERS.exists():
        pytest.skip(f"{CHAPTERS.name} is not at hand")
    path = ROOT / "docs" / "_ext" / "austen_counts.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    made = script.arrays_of(CHAPTERS)
    with np.load(script.TARGET) as stored:
        assert set(stored) == set(made)
        for name, values in made.items():
            np.testing.assert_array_equal(stored[name], values)


@pytest.mark.parametrize("n_rows", [3, 10, 1000, 1001])
def test_clusters_are_as_equal_as_possible(n_rows):
    X, labels = make_synth(n_rows, random_state=0)
    sizes = np.bincount(labels, minlength=3)
    assert len(X) == sizes.sum() == n_rows
    assert sizes.max() - sizes.min() <= 1


def test_the_same_seed_gives_the_same_data():
    a, b = make_synth(random_state=3)[0], make_synth(random_state=3)[0]
    np.testing.assert_array_equal(a, b)
    assert (a != make_synth(random_state=4)[0]).any()


def test_a_random_state_is_taken_and_used():
    rng = np.random.RandomState(3)
    first, second = make_synth(random_state=rng)[0], make_synth(random_state=rng)[0]
    np.testing.assert_array_equal(first, make_synth(random_state=3)[0])
    assert (first != second).any()


def test_groups_and_clusters_are_found_on_nine_of_ten_seeds():
    found = 0
    for generator_seed in range(10):
        X, labels = make_synth(random_state=generator_seed)
        model = ThreeCPO(3, random_state=0).fit(X)
        groups = model.column_groups_.tolist() == [1, 1, 0, 0, -1, -1]
        found += groups and adjusted_rand_score(labels, model.labels_) > 0.9
    assert found >= 9


def test_the_default_draw_stays_the_same():
    """The draw of the first release, bit for bit."""
    X, _ = make_synth(random_state=0)
    assert X[0].tolist() == FIRST_ROW
    assert hashlib.sha256(X.astype("<i8").tobytes()).hexdigest() == FIRST_DRAW


@pytest.mark.parametrize("n_rows", [*range(30), 1000, 50_000])
def test_exactly_a_fifth_of_the_entries_is_perturbed(n_rows):
    X = make_synth(n_rows, random_state=0)[0]
    clean = make_synth(n_rows, perturbed=0, random_state=0)[0]
    assert np.count_nonzero(X - clean) == X.size // 5


@pytest.mark.parametrize("noise_columns", [0, 1, 20])
def test_robustness_to_more_noise_columns(noise_columns, seed):
    X, labels = make_synth(
        noise_columns=noise_columns, constant_columns=0, perturbed=0, random_state=seed
    )
    assert X.shape == (1000, 4 + noise_columns)
    sizes = X[:, [3]]
    np.testing.assert_array_equal(X[:, :4], sizes * RATIOS[labels])
    assert all(set(column) == set(range(16)) for column in X[:, 4:].T)


@pytest.mark.parametrize("noise_high", [0, 1, 100])
def test_robustness_to_higher_noise(noise_high, seed):
    X, _ = make_synth(
        2000, noise_high=noise_high, constant_columns=0, perturbed=0, random_state=seed
    )
    assert X.shape == (2000, 5)
    assert set(X[:, 4]) == set(range(noise_high + 1))


@pytest.mark.parametrize("shared_columns", [0, 1, 2, 95])
def test_runtime_over_more_shared_columns(shared_columns):
    X, _ = make_synth(shared_columns=shared_columns, perturbed=0, random_state=0)
    assert X.shape == (1000, 4 + shared_columns)
    shared = X[:, 2 : 2 + shared_columns]
    sizes = X[:, [0, 1]].sum(axis=1) // 5
    np.testing.assert_array_equal(
        shared[:, ::2], 4 * sizes[:, None] + 0 * shared[:, ::2]
    )
    np.testing.assert_array_equal(shared[:, 1::2], sizes[:, None] + 0 * shared[:, 1::2])
    assert (X[:, -1] == 20).all()


def test_all_entries_may_be_perturbed():
    X, _ = make_synth(perturbed=1, random_state=0)
    assert (X[:, 5] > 20).all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_rows": -1}, "n_rows=-1 must be an integer"),
        ({"noise_columns": -1}, "noise_columns=-1 must be an integer"),
        ({"shared_columns": 1.5}, "shared_columns=1.5 must be an integer"),
        ({"constant_columns": "x"}, "constant_columns='x' must be an integer"),
        ({"noise_high": -1}, "noise_high=-1 must be an integer"),
        ({"perturbed": 1.1}, "perturbed=1.1 must be a share from 0 to 1"),
    ],
)
def test_impossible_variants_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_synth(**options)
