"""Words to counts: as CountVectorizer does, stemmed, the most frequent kept."""

import sys
from importlib import metadata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

import threecpo.text as text_module
from threecpo.text import count_terms, first_line

TEXTS = ["The clusters, the CLUSTERING!", "", "a cluster of x1 and 42 bees_2", "été"]


def only(distribution, monkeypatch):
    """Let this be the only stemmer that is installed."""
    versions = text_module._is_version_2
    monkeypatch.setattr(
        text_module,
        "_is_version_2",
        lambda name: name == distribution and versions(name),
    )


def installed(distribution):
    try:
        return metadata.version(distribution).startswith("2.")
    except metadata.PackageNotFoundError:
        return False


@given(st.lists(st.text("abcé 1.", max_size=12), min_size=1, max_size=6))
def test_it_is_count_vectorizer_on_any_text(texts):
    try:
        expected = CountVectorizer().fit_transform(texts).toarray()
    except ValueError:
        with pytest.raises(ValueError, match="do not contain a word of two"):
            count_terms(texts, stem=None)
    else:
        found = count_terms(texts, stem=None).X.toarray()
        np.testing.assert_array_equal(found, expected)


def test_words_of_one_stem_are_one_term():
    table = count_terms(TEXTS)
    assert list(table.column_names) == [
        *("42", "and", "bees_2", "cluster", "of", "the", "x1", "été")
    ]
    column = list(table.column_names).index("cluster")
    np.testing.assert_array_equal(table.X.toarray()[:, column], [2, 0, 1, 0])


def test_the_most_frequent_terms_are_kept_and_ties_go_by_the_alphabet():
    for max_features in (1, 2, 3, None):
        texts = ["dd cc bb aa", "dd dd ee", "ee"]
        expected = {1: ["dd"], 2: ["dd", "ee"], 3: ["aa", "dd", "ee"]}
        table = count_terms(texts, max_features, stem=None)
        everything = ["aa", "bb", "cc", "dd", "ee"]
        assert list(table.column_names) == expected.get(max_features, everything)
        again = count_terms(texts[::-1], max_features, stem=None)
        assert list(again.column_names) == list(table.column_names)


def test_a_column_is_called_by_the_commonest_word_of_its_stem():
    for texts, words in (
        (["elections elected", "elections"], ["elections"]),
        (["elected elections"], ["elected"]),
        (["The Films, the film", "FILM"], ["film", "the"]),
        (["universal universities", "universe universities"], ["universities"]),
    ):
        assert list(count_terms(texts).column_names) == words
        assert list(count_terms(texts[::-1]).column_names) == words


def test_stems_and_counts_are_those_of_each_word_by_itself():
    stem = text_module.stemmer("english")
    texts = ["advising the advised adviser", "advise browse brows browsing", "brow"]
    table = count_terms(texts)
    assert stem(list(table.column_names)) == sorted(set(stem(list(table.column_names))))
    for text, row in zip(texts, table.X.toarray(), strict=True):
        for word, count in zip(table.column_names, row, strict=True):
            of_word = [stem([each]) == stem([word]) for each in text.split()]
            assert count == sum(of_word)


words = st.sampled_from(
    [
        "brow",
        "brows",
        "browse",
        "browsing",
        "agree",
        "agreed",
        "agrees",
        "universe",
        "university",
        "univers",
        "committee",
        "committees",
        "commit",
        "choose",
        "chooses",
        "choo",
    ]
)


@given(st.lists(st.lists(words, max_size=8).map(" ".join), min_size=1, max_size=5))
def test_the_words_of_a_table_count_the_same_texts_again(texts):
    if not any(texts):
        return
    table = count_terms(texts, 3)
    again = count_terms(texts, vocabulary=table.column_names)
    np.testing.assert_array_equal(again.X.toarray(), table.X.toarray())
    assert list(again.column_names) == list(table.column_names)


def test_words_of_one_stem_are_no_vocabulary():
    with pytest.raises(ValueError, match="'cats' and 'cat', which are one term"):
        count_terms(["cat"], vocabulary=["cats", "dogs", "cat"])
    table = count_terms(["cat cat"], vocabulary=["cats", "cat"], stem=None)
    assert table.X.toarray().tolist() == [[0, 2]]


def test_the_first_line_of_each_text_is_its_title():
    table = count_terms(["\n \n  Two  cats \r\nand a dog", "dogs", " "])
    assert list(table.row_titles) == ["Two cats", "dogs", ""]


@pytest.mark.parametrize("longest", [12, 120])
@given(text=st.text("ab \n", max_size=200))
def test_a_first_line_is_short_and_one_line(text, longest):
    line = first_line(text, longest)
    assert len(line) <= longest
    assert line.split() == line.split(" ") or not line
    if not line.endswith("…"):
        assert line == " ".join(text.strip().split("\n")[0].split())


def test_a_very_short_line_is_no_longer_than_asked_for():
    for longest, line in ((1, "…"), (2, "…"), (3, "c …"), (4, "cats")):
        assert first_line("cats", longest) == line


def test_stop_words_are_left_out_before_stemming():
    table = count_terms(["the other cats"], stop_words="english")
    assert list(table.column_names) == ["cats"]
    table = count_terms(["cats dogs"], stop_words=["dogs"])
    assert list(table.column_names) == ["cats"]


def test_new_texts_are_counted_by_the_terms_of_others():
    first = count_terms(["cats chase dogs"])
    second = count_terms(
        ["dogs chased by chasing birds"], vocabulary=first.column_names
    )
    assert list(second.column_names) == list(first.column_names)
    assert second.X.toarray().tolist() == [[0, 2, 1]]
    backwards = count_terms(["dogs"], vocabulary=["dog", "cat"])
    assert backwards.X.toarray().tolist() == [[1, 0]]
    assert count_terms([""], vocabulary=["dog"]).X.toarray().tolist() == [[0]]


def test_a_vocabulary_has_different_terms():
    for vocabulary in ([], ["a", "a"], "cat"):
        with pytest.raises(
            ValueError, match="vocabulary must be a list of different terms"
        ):
            count_terms(["cat"], vocabulary=vocabulary)


def test_rows_may_have_names_and_texts_may_come_one_by_one():
    table = count_terms((text for text in ["one two", "two"]), row_names=["a", "b"])
    assert list(table.row_names) == ["a", "b"]
    assert table.X.dtype == np.float64
    with pytest.raises(ValueError, match="row_names has 1 names, but X has 2 rows"):
        count_terms(["one two", "two"], row_names=["a"])


def test_what_is_no_list_of_texts_is_refused():
    for texts, error, sentence in (
        ("a single text", TypeError, "texts is a single string; pass a list of texts"),
        (b"bytes", TypeError, "texts is a single string"),
        ([], ValueError, "texts is empty"),
        (["a text", None], TypeError, r"texts\[1\] is None, not a str"),
        (["a text", float("nan")], TypeError, r"texts\[1\] is nan, not a str"),
        (["", "? !"], ValueError, "do not contain a word of two or more letters"),
    ):
        with pytest.raises(error, match=sentence):
            count_terms(texts)


def test_max_features_is_a_whole_number():
    for max_features in (0, -1, 1.5, "all", True):
        with pytest.raises(ValueError, match=r"max_features=.* must be an integer"):
            count_terms(["words"], max_features)


@pytest.mark.parametrize("distribution", ["PyStemmer", "snowballstemmer"])
def test_both_libraries_stem_alike_and_name_their_languages(distribution, monkeypatch):
    if not installed(distribution):
        pytest.skip(f"no {distribution} in version 2")
    only(distribution, monkeypatch)
    stem = text_module.stemmer("english")
    words = ["universities", "evening", "added", "realization", "skies", "été", "42"]
    stems = ["univers", "even", "ad", "realiz", "sky", "été", "42"]
    assert stem(words) == stems
    assert text_module.stemmer("french")(["continuellement"]) == ["continuel"]
    sentence = r"^stem='klingon' is not None or one of .*english, .*swedish.*\.$"
    with pytest.raises(ValueError, match=sentence) as caught:
        text_module.stemmer("klingon")
    assert "base" not in str(caught.value)


def test_without_a_stemmer_the_extra_is_named(monkeypatch):
    only("nothing", monkeypatch)
    with pytest.raises(ImportError, match=r'pip install "threecpo\[text\]"'):
        count_terms(["words"])
    assert count_terms(["words"], stem=None).shape == (1, 1)


def test_version_3_counts_as_none(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda _: "3.1.1")
    with pytest.raises(ImportError, match="version 2"):
        count_terms(["words"])


def test_a_word_of_a_million_letters_costs_no_more_than_itself():
    for language in ("english", None):
        long = "x" * 1_000_000
        texts = [long, *(f"word{i}" for i in range(300))]
        table = count_terms(texts, stem=language)
        assert table.shape == (301, 301)
        assert sys.getsizeof(table.column_names) < 10_000


def test_terms_of_few_texts_are_left_out():
    texts = ["cat cat cat", "dog fish", "dog bird", "bird dog"]
    table = count_terms(texts, stem=None, min_documents=2)
    assert table.column_names.tolist() == ["bird", "dog"]
    assert table.X.toarray().tolist() == [[0, 0], [0, 1], [1, 1], [1, 1]]
    with pytest.raises(ValueError, match="no term is in 4 texts; pass a smaller"):
        count_terms(texts, stem=None, min_documents=4)


def test_sequences_of_words_are_stemmed_word_by_word():
    texts = ["new cars", "a new car", "old cars"]
    table = count_terms(texts, ngrams=2)
    assert table.column_names.tolist() == ["cars", "new", "new car", "old", "old cars"]
    assert table.X.toarray()[:, 2].tolist() == [1, 1, 0]
    again = count_terms(texts, vocabulary=table.column_names)
    assert (again.X != table.X).nnz == 0
    with pytest.raises(ValueError, match="ngrams"):
        count_terms(texts, ngrams=0)
