"""Countdown: reach a number from given ones, each used at most once. Every puzzle is made from a solution."""

from random import Random

from apps.evals.graders import Countdown

from .task import Made, listed

_ASKS = (
    "Using each of {numbers} at most once and the operations + - * /, reach {target}. Give one expression.",
    "Make {target} from the numbers {numbers}, each used at most once, with + - * /. Give one expression.",
    "Countdown: reach {target} with {numbers}. Each number at most once, and only + - * / and brackets.",
    "How do I get {target} out of {numbers}? Each may be used at most once, with + - * / and brackets. "
    "One expression is enough.",
)


def make(rng: Random) -> Made:
    while True:
        numbers = [*rng.sample(range(2, 11), rng.choice((2, 3))), *rng.sample((25, 50, 75, 100), 2)]
        found = _solution(rng, numbers)
        if found is not None:
            break
    target, expression = found
    rng.shuffle(numbers)
    told = ", ".join(map(str, numbers)) if rng.random() < 0.5 else listed(numbers)
    text = rng.choice(_ASKS).format(numbers=told, target=target)
    return Made(text, expression, Countdown(tuple(numbers), target))


def _solution(rng: Random, numbers: list[int]) -> tuple[int, str] | None:
    """A target between 100 and 999 and one way to it, with whole positive numbers in between; None: another try."""
    terms = [(number, str(number), True) for number in numbers]
    while len(terms) > 1:
        one, other = (terms.pop(rng.randrange(len(terms))) for _ in range(2))
        (high, high_text, high_plain), (low, low_text, low_plain) = max(one, other), min(one, other)
        sign = rng.choice("+-**") if high < 120 else rng.choice("+-")
        if sign == "-" and high == low:
            return None
        if sign == "*" and not high_plain:
            high_text = f"({high_text})"
        if sign in "*-" and not low_plain:
            low_text = f"({low_text})"
        value = high * low if sign == "*" else high + low if sign == "+" else high - low
        terms.append((value, f"{high_text}{sign}{low_text}", False))
        if 100 <= value <= 999 and _is_enough(rng, expression=terms[-1][1], left=len(terms)):
            return value, terms[-1][1]
    return None


def _is_enough(rng: Random, *, expression: str, left: int) -> bool:
    """Whether to stop here: never with two numbers only, and not always with all of them."""
    used = 1 + sum(sign in "+-*" for sign in expression)
    return used > 2 and (left == 1 or rng.random() < 0.3)
