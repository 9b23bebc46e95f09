"""Texts to counts of terms."""

from __future__ import annotations

import pkgutil
from array import array
from collections import defaultdict
from importlib import import_module, metadata
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ._extras import missing
from ._options import check_integer
from .table import CountTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray


def stemmer(language: str) -> Callable[[list[str]], list[str]]:
    """Return the function that stems a list of words of a language."""
    if _is_version_2("PyStemmer"):
        import Stemmer

        known, stems = Stemmer.algorithms(), Stemmer.Stemmer
    elif _is_version_2("snowballstemmer"):
        # Asked itself, the package lists and takes PyStemmer of any version.
        package = find_spec("snowballstemmer")
        places = package.submodule_search_locations if package else None
        found = [module.name for module in pkgutil.iter_modules(places)]
        ours = [name for name in found if name.endswith("_stemmer")]
        known, stems = [name.removesuffix("_stemmer") for name in ours], _pure_stemmer
    else:
        name = "snowballstemmer in version 2"
        raise missing(name, "text", "Stemming (any stem= but None)")
    if language not in known:
        message = f"stem={language!r} is not None or one of {', '.join(sorted(known))}."
        raise ValueError(message)
    return stems(language).stemWords


def _pure_stemmer(language: str) -> Any:
    module = import_module(f"snowballstemmer.{language}_stemmer")
    return getattr(module, f"{language.title()}Stemmer")()


def _is_version_2(distribution: str) -> bool:
    try:
        return metadata.version(distribution).startswith("2.")
    except metadata.PackageNotFoundError:
        return False


__all__ = ["count_terms"]


def count_terms(
    texts: Iterable[str],
    max_features: int | None = 2000,
    *,
    stem: str | None = "english",
    stop_words: str | Sequence[str] | None = None,
    vocabulary: Iterable[str] | None = None,
    min_documents: int = 1,
    ngrams: int | None = None,
    row_names: Sequence[str] | None = None,
) -> CountTable:
    """Count the terms of each text.

    1. A text is cut into words as by scikit-learn's ``CountVectorizer``: lower case,
       two or more letters, digits or underscores.
    2. Each word is stemmed: "cluster", "clusters" and "clustering" are one term.
    3. The ``max_features`` most frequent terms are the columns, in alphabetical order
       of their stems. Where terms tie for the last places, the first of the alphabet
       are taken.
    4. A column is called by the word of its stem that occurs most often, the first of
       the alphabet where several do: "elections", not "elect".

    Parameters
    ----------
    texts : iterable of str
        The texts. A text without words is a row of zeros.
    max_features : int or None, default=2000
        Number of terms to keep; None keeps all.
    stem : str or None, default="english"
        Snowball language of the stemmer, in version 2 of its rules. None does not stem.
        Stemming needs the extra ``text``.
    stop_words : "english", list of str or None, default=None
        Words that are left out before stemming, as in ``CountVectorizer``.
    vocabulary : iterable of str, default=None
        Count these words only, in this order, with no regard to ``max_features``: the
        ``column_names`` of another table make new texts fit for ``predict``. They are
        stemmed as the texts are.
    min_documents : int, default=1
        Leave out terms that fewer texts hold.
    ngrams : int, default=None
        Count sequences of up to so many words besides single ones: 2 for "new york".
        By default the longest of ``vocabulary``, or else words alone.
    row_names : sequence of str, default=None
        A name for each text.

    Returns
    -------
    CountTable
        Texts x terms; the words are ``column_names``, and ``row_titles`` hold the
        first line of each text.

    Examples
    --------
    >>> from threecpo.text import count_terms
    >>> table = count_terms(["Cats chase cats.", "A cat chased me", ""], stem=None)
    >>> list(table.column_names)
    ['cat', 'cats', 'chase', 'chased', 'me']
    >>> table.X.toarray()
    array([[0., 2., 1., 0., 0.],
           [1., 0., 0., 1., 1.],
           [0., 0., 0., 0., 0.]])
    >>> count_terms(["three cats"], stem=None, vocabulary=["cats", "dogs"]).X.toarray()
    array([[1., 0.]])
    """
    listed = _listed(texts)
    if max_features is not None:
        max_features = check_integer("max_features", max_features, 1)
    min_documents = check_integer("min_documents", min_documents, 1)
    names = None if vocabulary is None else _distinct(vocabulary)
    if ngrams is None:
        ngrams = max((name.count(" ") + 1 for name in names or ()), default=1)
    longest = check_integer("ngrams", ngrams, 1)
    stems = list if stem is None else _stems_of_each_word(stemmer(stem))
    words, ids, ends = _words(listed, stop_words, longest)
    terms = stems(words)
    if names is None:
        known = _in_documents(terms, ids, ends, min_documents)
        kept = _most_frequent(terms, ids, known, max_features)
        names = _commonest_words(words, terms, ids, kept)
    else:
        kept = _distinct_terms(names, stems(names))
    return CountTable(
        _counts(terms, ids, ends, kept),
        row_names=None if row_names is None else np.array(row_names, dtype=object),
        column_names=np.array(names, dtype=object),
        row_titles=[first_line(text) for text in listed],
    )


def first_line(text: str, longest: int = 120) -> str:
    """First line of a text that is not blank, cut at a space where it is long."""
    # Enough to fill a line, however long the text is.
    start = text.lstrip()[: 20 * longest]
    line = " ".join(start.split("\n", 1)[0].split())
    if len(line) <= longest:
        return line
    cut = line[: max(longest - 2, 0)]
    return f"{cut.rpartition(' ')[0] or cut} …".strip()


def _listed(texts: Any) -> list[str]:
    if isinstance(texts, str | bytes):
        message = "texts is a single string; pass a list of texts, one for each row."
        raise TypeError(message)
    listed = list(texts)
    if not listed:
        message = "texts is empty; pass at least one text."
        raise ValueError(message)
    for i, text in enumerate(listed):
        if not isinstance(text, str):
            message = f"texts[{i}] is {text!r}, not a str; fill in '' for no text."
            raise TypeError(message)
    return listed


def _stems_of_each_word(
    stems: Callable[[list[str]], list[str]],
) -> Callable[[list[str]], list[str]]:
    """Stem the words of sequences such as "new york" one by one."""

    def stemmed(terms: list[str]) -> list[str]:
        words = iter(stems([word for term in terms for word in term.split(" ")]))
        return [" ".join(islice(words, term.count(" ") + 1)) for term in terms]

    return stemmed


def _words(
    texts: list[str], stop_words: Any, longest: int
) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Different words; the word at each place of all texts; where each text ends."""
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(stop_words=stop_words, ngram_range=(1, longest))
    analyze = counter.build_analyzer()
    number: defaultdict[str, int] = defaultdict()
    number.default_factory = number.__len__
    ids, ends = array("q"), [0]
    for text in texts:
        ids.extend([number[word] for word in analyze(text)])
        ends.append(len(ids))
    return list(number), np.array(ids, dtype=np.int64), np.array(ends)


def _in_documents(
    terms: list[str], ids: NDArray[np.int64], ends: NDArray[np.int64], least: int
) -> set[str]:
    """Terms that so many texts hold."""
    known = set(terms)
    if least == 1 or not known:
        return known
    held = _counts(terms, ids, ends, sorted(known))
    often = np.bincount(held.indices, minlength=len(known))
    kept = {
        term
        for term, n in zip(sorted(known), often.tolist(), strict=True)
        if n >= least
    }
    if not kept:
        message = f"no term is in {least} texts; pass a smaller min_documents=."
        raise ValueError(message)
    return kept


def _most_frequent(
    terms: list[str],
    ids: NDArray[np.int64],
    known: set[str],
    max_features: int | None,
) -> list[str]:
    """The most frequent terms in alphabetical order, ties by the alphabet."""
    if not terms:
        message = "texts do not contain a word of two or more letters to count."
        raise ValueError(message)
    frequency: defaultdict[str, int] = defaultdict(int)
    for term, count in zip(terms, np.bincount(ids).tolist(), strict=True):
        frequency[term] += count
    ranked = sorted(known, key=lambda term: (-frequency[term], term))
    return sorted(ranked[:max_features])


def _commonest_words(
    words: list[str], terms: list[str], ids: NDArray[np.int64], kept: list[str]
) -> list[str]:
    """The most frequent word of each kept term, ties by the alphabet."""
    counts = np.bincount(ids, minlength=len(words)).tolist()
    best: dict[str, tuple[int, str]] = {}
    for word, term, count in zip(words, terms, counts, strict=True):
        entry = (-count, word)
        best[term] = min(best.get(term, entry), entry)
    return [best[term][1] for term in kept]


def _distinct_terms(names: list[str], terms: list[str]) -> list[str]:
    """Terms of a vocabulary, which must not share one."""
    first: dict[str, str] = {}
    for name, term in zip(names, terms, strict=True):
        if term in first:
            message = (
                f"vocabulary holds {first[term]!r} and {name!r}, which are one term "
                "once stemmed; leave one out, or pass stem=None."
            )
            raise ValueError(message)
        first[term] = name
    return terms


def _distinct(vocabulary: Iterable[str]) -> list[str]:
    kept = list(vocabulary)
    if isinstance(vocabulary, str) or not kept or len(set(kept)) < len(kept):
        message = "vocabulary must be a list of different terms."
        raise ValueError(message)
    return kept


def _counts(
    terms: list[str], ids: NDArray[np.int64], ends: NDArray[np.int64], kept: list[str]
) -> sp.csr_array:
    """Texts x kept terms; other terms fall into one more column that is cut off."""
    column = {term: j for j, term in enumerate(kept)}
    columns = np.array([column.get(term, len(kept)) for term in terms], dtype=np.int64)
    shape = (len(ends) - 1, len(kept) + 1)
    places = columns[ids] if len(ids) else ids
    # Adding up changes the pointers.
    counts = sp.csr_array((np.ones_like(places), places, ends.copy()), shape=shape)
    counts.sum_duplicates()
    return counts[:, : len(kept)]
