"""Multiple choice over a passage: two phases at rates of their own, or a fact to be found."""

from fractions import Fraction
from itertools import pairwise
from random import Random

from apps.evals.graders import Letter

from .task import Made, shown

_LETTERS = "ABCD"

# passage, what is made, the two kinds, how long in all, the rates
_PHASES = (
    (
        "The pilot plant ran for {total} days. For the first {first} it used {one}; then, after the filter failed, "
        "{other} until the end. Output averaged {rate_one} tonnes a day on {one} and {rate_other} on {other}.",
        "tonnes were made",
        ("river water", "mains water"),
    ),
    (
        "The kiln was fired for {total} hours. For the first {first} it burned {one}; then, when the delivery came, "
        "{other} until the end. Output averaged {rate_one} pots an hour on {one} and {rate_other} on {other}.",
        "pots were made",
        ("coal", "natural gas"),
    ),
    (
        "The mill worked for {total} weeks. For the first {first} it ran on {one}; then, once the dam was mended, "
        "{other} until the end. Output averaged {rate_one} tonnes a week on {one} and {rate_other} on {other}.",
        "tonnes were milled",
        ("diesel", "hydro power"),
    ),
)
_FACTS = (
    (
        "The bridge opened in {a}. It was closed for repairs in {b} and painted green in {c}.",
        ("did the bridge open", "was the bridge closed for repairs", "was the bridge painted"),
    ),
    (
        "The library was founded in {a}. It moved to the harbour in {b} and was renovated in {c}.",
        ("was the library founded", "was the library moved to the harbour", "was the library renovated"),
    ),
    (
        "The tramway was built in {a}. It was electrified in {b} and extended to the airport in {c}.",
        ("was the tramway built", "was the tramway electrified", "was the tramway extended"),
    ),
)
_LEADS = ("Passage: {passage}\nQuestion: {question}?\n{options}", "{passage}\n\nQuestion: {question}?\n{options}")


def make(rng: Random) -> Made:
    return (_phases if rng.random() < 0.6 else _fact)(rng)


def _phases(rng: Random) -> Made:
    passage, made, (one, other) = rng.choice(_PHASES)
    while True:
        total, first = rng.randint(20, 60), rng.randint(6, 18)
        rate_one, rate_other = (Fraction(rng.randint(18, 79), 10) for _ in range(2))
        early, late = first * rate_one, (total - first) * rate_other
        answers = {f"on {one}": early, f"on {other}": late, "in all": early + late}
        options = sorted((early, late, early + late, total * rate_other))
        if all(high - low > high / 20 for low, high in pairwise(options)):
            break
    asked = rng.choice(tuple(answers))
    text = passage.format(
        total=total, first=first, one=one, other=other, rate_one=shown(rate_one), rate_other=shown(rate_other)
    )
    return _choice(rng, text, f"how many {made} {asked}", [shown(option) for option in options], shown(answers[asked]))


def _fact(rng: Random) -> Made:
    passage, questions = rng.choice(_FACTS)
    years = sorted(rng.sample(range(1870, 2020), 4))
    spare = years.pop(rng.randrange(4))
    text = passage.format(a=years[0], b=years[1], c=years[2])
    at = rng.randrange(3)
    options = [str(year) for year in sorted((*years, spare))]
    return _choice(rng, text, f"In which year {questions[at]}", options, str(years[at]))


def _choice(rng: Random, passage: str, question: str, options: list[str], right: str) -> Made:
    lettered = dict(zip(_LETTERS, options, strict=True))
    between = rng.choice(("  ", "\n"))
    told = between.join(f"{letter}) {option}" for letter, option in lettered.items())
    text = rng.choice(_LEADS).format(passage=passage, question=question, options=told)
    letter = next(letter for letter, option in lettered.items() if option == right)
    return Made(text, letter, Letter(letter, lettered))
