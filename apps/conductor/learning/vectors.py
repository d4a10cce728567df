"""Texts as vectors by the words in them, where no embedding worker gives better ones."""

from collections.abc import Mapping


def tfidf_vectors(texts: Mapping[str, str]) -> dict[str, list[float]]:
    """A unit vector for each text, by its key, over the words and word pairs that occur in any of them."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # large: only who needs it loads it

    vectorizer = TfidfVectorizer(ngram_range=(1, 2), tokenizer=str.split, token_pattern=None, sublinear_tf=True)
    if not any(text.split() for text in texts.values()):
        return {key: [0.0] for key in texts}
    rows = vectorizer.fit_transform(texts.values()).toarray()
    return {key: [float(value) for value in row] for key, row in zip(texts, rows, strict=True)}
