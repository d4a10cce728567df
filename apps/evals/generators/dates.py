"""Dates: a day so long before or after another, the days between two, the weekday of one."""

from datetime import date, timedelta
from random import Random

from apps.evals.graders import Exact, Figures, Number

from .task import Made

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_BEFORE = (
    "A contract ends on {day} and renews itself unless it is cancelled at least {n} days before that day. "
    "What is the last day to cancel? Answer as an ISO date.",
    "A lease ends on {day}. Notice must be given {n} days before that day. What is the last day for it? ISO date.",
    "The fair opens on {day}; the stands must be booked {n} days before. Which day is that? Give the ISO date.",
)
_AFTER = (
    "An invoice of {day} is due {n} days after that day. When is it due? Answer as an ISO date.",
    "The course starts on {day} and the examination is {n} weeks later. Which day is that? ISO date, please.",
    "A warranty begins on {day} and ends {n} months later. What day is that? Answer as an ISO date.",
)
_BETWEEN = (
    "How many days are there between {one} and {other}?",
    "What is the number of days between {one} and {other}? Answer with the number.",
)
_WEEKDAY = ("What day of the week is {day}?", "Which weekday is {day}? Answer with its name.")


def make(rng: Random) -> Made:
    return rng.choice((_before, _after, _between, _weekday))(rng)


def _before(rng: Random) -> Made:
    day, count = _any_day(rng), rng.choice((14, 21, 30, 45, 60, 90, rng.randint(8, 140)))
    return _dated(rng.choice(_BEFORE).format(day=_said(rng, day), n=count), day - timedelta(days=count))


def _after(rng: Random) -> Made:
    day, ask = _any_day(rng), rng.choice(_AFTER)
    if "weeks" in ask:
        count = rng.randint(3, 16)
        end = day + timedelta(weeks=count)
    elif "months" in ask:
        count, day = rng.randint(2, 30), day.replace(day=min(day.day, 28))  # beyond, people count differently
        months = day.month - 1 + count
        end = day.replace(year=day.year + months // 12, month=months % 12 + 1)
    else:
        count = rng.randint(10, 120)
        end = day + timedelta(days=count)
    return _dated(ask.format(day=_said(rng, day), n=count), end)


def _between(rng: Random) -> Made:
    one = _any_day(rng)
    count = rng.randint(20, 330)
    text = rng.choice(_BETWEEN).format(one=_said(rng, one), other=_said(rng, one + timedelta(days=count)))
    return Made(text, str(count), Number(count))


def _weekday(rng: Random) -> Made:
    day = _any_day(rng)
    answer = _WEEKDAYS[day.weekday()]
    return Made(rng.choice(_WEEKDAY).format(day=_said(rng, day)), answer, Figures((answer,), _WEEKDAYS))


def _dated(text: str, day: date) -> Made:
    return Made(text, day.isoformat(), Exact(day.isoformat()))


def _any_day(rng: Random) -> date:
    return date(2023, 1, 1) + timedelta(days=rng.randrange(5 * 365))


def _said(rng: Random, day: date) -> str:
    """The day as people write it, in one of three ways that leave no doubt."""
    return rng.choice((day.isoformat(), f"{day.day} {day:%B %Y}", f"{day:%B} {day.day}, {day.year}"))
