"""Strings: words to sort and join, a word to reverse, letters to count."""

from collections.abc import Callable
from random import Random

from apps.evals.graders import Exact, Items, Number

from .task import Made

_WORD_LIST = (
    "pear fig banana kiwi plum apple date cherry mango grape lemon olive papaya quince raspberry tangerine oak elm ash "
    "birch cedar maple willow poplar chestnut hazel sparrow heron falcon magpie robin swallow stork owl plover wagtail "
    "copper nickel silver cobalt zinc iron platinum tungsten harbour meadow lantern orchard bridge canyon glacier"
)
_SUBJECT_LIST = (
    "strawberry orchestra stressed mississippi parallel bookkeeper committee lighthouse watermelon rhinoceros "
    "accommodation assessment tattoo kindergarten peppermint possession raccoon vaccination headquarters"
)
_WORDS, _SUBJECTS = _WORD_LIST.split(), _SUBJECT_LIST.split()
_JOINS = {"hyphens": "-", "commas": ", ", "spaces": " ", "slashes": "/", "underscores": "_"}

Key = Callable[[str], tuple[int | str, ...]]
_ORDERS: tuple[tuple[str, Key, bool], ...] = (
    ("by length, then alphabetically", lambda word: (len(word), word), False),
    ("alphabetically", lambda word: (word,), False),
    ("alphabetically in reverse order", lambda word: (word,), True),
)


def make(rng: Random) -> Made:
    return rng.choice((_sorting, _sorting, _reversing, _counting))(rng)


def _sorting(rng: Random) -> Made:
    words = rng.sample(_WORDS, rng.randint(4, 8))
    order, key, downwards = rng.choice(_ORDERS)
    ordered = sorted(words, key=key, reverse=downwards)
    told = ", ".join(words)
    if rng.random() < 0.25:
        text = rng.choice(("Sort these words {o}: {w}.", "Please put these words in order, {o}: {w}."))
        return Made(text.format(o=order, w=told), ", ".join(ordered), Items(tuple(ordered)))
    join = rng.choice(tuple(_JOINS))
    text = rng.choice(
        (
            "Sort these words {o}, and join them with {j}: {w}.",
            "Arrange the following words {o} and separate them with {j}: {w}.",
            "Order these words {o}. Join them with {j}: {w}",
        )
    )
    answer = _JOINS[join].join(ordered)
    grader = Items(tuple(ordered)) if join in ("commas", "spaces") else Exact(answer)
    return Made(text.format(o=order, j=join, w=told), answer, grader)


def _reversing(rng: Random) -> Made:
    if rng.random() < 0.5:
        word = rng.choice((*_SUBJECTS, *_WORDS))
        text = rng.choice(("Reverse the string '{w}'.", "Write '{w}' backwards."))
        return Made(text.format(w=word), word[::-1], Exact(word[::-1]))
    words = rng.sample(_WORDS, rng.randint(3, 5))
    answer = " ".join(reversed(words))
    return Made(f"Reverse the order of the words of '{' '.join(words)}'.", answer, Items(tuple(reversed(words))))


def _counting(rng: Random) -> Made:
    word = rng.choice((*_SUBJECTS, *_WORDS))
    if rng.random() < 0.4:
        count = sum(letter in "aeiou" for letter in word)
        return Made(f"How many vowels are in '{word}'?", str(count), Number(count))
    letter = rng.choice(word)
    asks = ("How many times does the letter '{c}' occur in '{w}'?", "How often is the letter '{c}' found in '{w}'?")
    count = word.count(letter)
    return Made(rng.choice(asks).format(c=letter, w=word), str(count), Number(count))
