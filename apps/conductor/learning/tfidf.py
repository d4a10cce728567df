"""A task as a vector of its words, kept as plain data so that it can be made again without what it was fitted on."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float64]

MOST_TERMS: Final = 600
WORD: Final = re.compile(r"[^\W\d_]{2,}|\d+|[%$€+*/=^<>|]")


def words(text: str) -> list[str]:
    """The words of a text, its numbers as one sign (which number it is tells nothing of who can do it), and pairs."""
    found = ["#" if word[0].isdigit() else word for word in WORD.findall(text.casefold())]
    return [*found, *(f"{one} {other}" for one, other in pairwise(found))]


def fit(texts: Sequence[str]) -> dict[str, Any]:
    """The terms that tell `texts` apart and how much each weighs: {"terms": [str], "idf": [float]}.

    :raises ValueError: there is no word in them.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer  # large: only who trains loads it

    vectorizer = TfidfVectorizer(analyzer=words, max_features=MOST_TERMS, sublinear_tf=True)
    vectorizer.fit(texts)
    return {
        "terms": [str(term) for term in vectorizer.get_feature_names_out()],
        "idf": [round(float(idf), 5) for idf in vectorizer.idf_],
    }


def vector(fitted: dict[str, Any], text: str) -> Vectors:
    """The text as a unit vector over the fitted terms; nothing but zeros where it has none of them."""
    counts = Counter(words(text))
    raw = np.array([counts.get(term, 0) for term in fitted["terms"]], dtype=float)
    weighed = np.where(raw > 0, 1 + np.log(np.maximum(raw, 1)), 0.0) * np.array(fitted["idf"])
    return unit(weighed)


def unit(values: Vectors) -> Vectors:
    """Each row (or the one) at length one; a row of zeros stays."""
    length = np.linalg.norm(values, axis=-1, keepdims=True)
    scaled: Vectors = values / np.where(length > 0, length, 1.0)
    return scaled
