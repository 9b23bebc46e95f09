"""Texts to counts of terms."""

from __future__ import annotations

from array import array
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from ._options import check_integer
from ._stemming import stemmer
from .table import CountTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["count_terms"]


def count_terms(
    texts: Iterable[str],
    max_features: int | None = 2000,
    *,
    stem: str | None = "english",
    stop_words: str | Sequence[str] | None = None,
    vocabulary: Iterable[str] | None = None,
    row_names: Sequence[str] | None = None,
) -> CountTable:
    """Count the terms of each text.

    1. A text is cut into words as by scikit-learn's ``CountVectorizer``: lower case,
       two or more letters, digits or underscores.
    2. Each word is stemmed: "cluster", "clusters" and "clustering" are one term.
    3. The ``max_features`` most frequent terms are the columns, in alphabetical order.
       Where terms tie for the last places, the first of the alphabet are taken.

    Parameters
    ----------
    texts : iterable of str
        The texts. A text without words is a row of zeros.
    max_features : int or None, default=2000
        Number of terms to keep; None keeps all.
    stem : str or None, default="english"
        Snowball language of the stemmer, in version 2 of its rules. None does not stem.
        Stemming needs ``pip install "threecpo[text]"``.
    stop_words : "english", list of str or None, default=None
        Words that are left out before stemming, as in ``CountVectorizer``.
    vocabulary : iterable of str, default=None
        Count these terms only, in this order, with no regard to ``max_features``: the
        ``column_names`` of another table make new texts fit for ``predict``.
    row_names : sequence of str, default=None
        A name for each text.

    Returns
    -------
    CountTable
        Texts x terms; the terms are ``column_names``.

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
    stems = None if stem is None else stemmer(stem)
    words, ids, ends = _words(listed, stop_words)
    terms = words if stems is None else stems(words)
    if vocabulary is None:
        kept = _most_frequent(terms, ids, max_features)
    else:
        kept = _distinct(vocabulary)
    return CountTable(
        _counts(terms, ids, ends, kept),
        row_names=None if row_names is None else np.array(row_names, dtype=object),
        column_names=np.array(kept, dtype=object),
    )


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


def _words(
    texts: list[str], stop_words: Any
) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Different words; the word at each place of all texts; where each text ends."""
    analyze = CountVectorizer(stop_words=stop_words).build_analyzer()
    number: defaultdict[str, int] = defaultdict()
    number.default_factory = number.__len__
    ids, ends = array("q"), [0]
    for text in texts:
        ids.extend([number[word] for word in analyze(text)])
        ends.append(len(ids))
    return list(number), np.array(ids, dtype=np.int64), np.array(ends)


def _most_frequent(
    terms: list[str], ids: NDArray[np.int64], max_features: int | None
) -> list[str]:
    """The most frequent terms in alphabetical order, ties by the alphabet."""
    if not terms:
        message = (
            "texts hold no word of two or more letters: there is nothing to count."
        )
        raise ValueError(message)
    frequency: defaultdict[str, int] = defaultdict(int)
    for term, count in zip(terms, np.bincount(ids).tolist(), strict=True):
        frequency[term] += count
    ranked = sorted(frequency, key=lambda term: (-frequency[term], term))
    return sorted(ranked[:max_features])


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
    counts = sp.csr_array((np.ones_like(places), places, ends), shape=shape)
    counts.sum_duplicates()
    return counts[:, : len(kept)]
