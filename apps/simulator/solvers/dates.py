"""Dates: so many days before or after a day, how many days between two, and which weekday a day is."""

import re
from calendar import monthrange
from datetime import date, timedelta
from fractions import Fraction

from apps.simulator.solvers.problem import NUMBER, NUMBERS, Problem, number_of, slips

MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH = "|".join(f"{month}|{month[:3]}" for month in MONTHS)
_DATES = (
    re.compile(r"\b(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})\b"),
    re.compile(rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{_MONTH})\.?,?\s+(?P<y>\d{{4}})\b", re.I),
    re.compile(rf"\b(?P<month>{_MONTH})\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y>\d{{4}})\b", re.I),
    re.compile(r"\b(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})\b"),
)
_SPAN = re.compile(
    rf"\b(?P<value>{NUMBER}|{'|'.join(NUMBERS)})\s+(?P<unit>days?|weeks?|months?|years?)\s+"
    r"(?P<way>before|earlier|prior|ahead|after|later|from|following|since)\b",
    re.I,
)
_BACK = {"before", "earlier", "prior", "ahead"}


def find_dates(text: str) -> list[date]:
    """The dates in the text, in its order."""
    found: dict[int, date] = {}
    for pattern in _DATES:
        for match in pattern.finditer(text):
            day = _as_date(match)
            if day and match.start() not in found:
                found[match.start()] = day
    return [found[at] for at in sorted(found)]


def _as_date(match: re.Match[str]) -> date | None:
    parts = match.groupdict()
    month = int(parts["m"]) if parts.get("m") else _month(parts["month"])
    try:
        return date(int(parts["y"]), month, int(parts["d"]))
    except ValueError:
        return None


def _month(name: str) -> int:
    return next(number for number, month in enumerate(MONTHS, 1) if month.startswith(name.lower()[:3]))


def solve(text: str) -> Problem | None:
    days = find_dates(text)
    span = _SPAN.search(text)
    asks = re.search(r"\bwhat\b|\bwhich\b|\bwhen\b|\bgive\b|\bcompute\b|\bfind\b|\bcalculate\b", text, re.I)
    if len(days) == 1 and span and asks:
        return _moved(text, days[0], span)
    if len(days) == 2 and re.search(r"how many days|number of days|days between", text, re.I):
        return _between(days[0], days[1])
    if len(days) == 1 and re.search(r"day of the week|which weekday|what weekday|what day\b", text, re.I):
        return _weekday(days[0])
    return None


def _moved(text: str, start: date, span: re.Match[str]) -> Problem | None:
    value = number_of(span["value"])
    if value is None or value.denominator != 1 or value > 40_000:
        return None
    count, unit = int(value), span["unit"].lower().rstrip("s")
    sign = -1 if span["way"].lower() in _BACK else 1
    try:
        end, working = _walk(start, sign * count, unit)
        others = [end + timedelta(days=off) for off in (-1, 1, 30 * sign)]
    except (ValueError, OverflowError):
        return None
    way = "before" if sign < 0 else "after"
    named = f"{count} {unit}{'s' if count != 1 else ''} {way} {_said(start)}"
    what = "the last day to act" if re.search(r"at least|last day|deadline|latest", text, re.I) else "the day"
    return Problem(
        family="dates",
        ask=f"Find {what} that lies {named} and give it as an ISO date.",
        method=f"Write down the months one passes counting {count} {unit}s {'back' if sign < 0 else 'on'} from "
        f"{_said(start)}, with their lengths.",
        check=f"Check the date found by counting the {unit}s from it to {_said(start)}, and give the date in ISO form.",
        answer=_as_asked(text, end),
        working=working,
        wrong=tuple(_as_asked(text, other) for other in others),
    )


def _as_asked(text: str, day: date) -> str:
    return _said(day) if re.search(r"in words|written out", text, re.I) else day.isoformat()


def _said(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1].capitalize()} {day.year}"


def _walk(start: date, count: int, unit: str) -> tuple[date, tuple[str, ...]]:
    if unit in ("day", "week"):
        days = count * (7 if unit == "week" else 1)
        end = start + timedelta(days=days)
        return end, tuple(_by_months(start, days)) if abs(days) <= 400 else (f"{_said(start)} {days:+d} days",)
    months = start.month - 1 + count * (12 if unit == "year" else 1)
    year, month = start.year + months // 12, months % 12 + 1
    end = date(year, month, min(start.day, monthrange(year, month)[1]))
    return end, (f"{_said(start)} {count:+d} {unit}s = {_said(end)}",)


def _by_months(start: date, days: int) -> list[str]:
    """The way from month to month, as one counts it on paper."""
    lines, here, left = [], start, days
    while left:
        to_next_month = monthrange(here.year, here.month)[1] - here.day + 1
        step = -min(-left, here.day) if left < 0 else min(left, to_next_month)
        there = here + timedelta(days=step)
        left -= step
        lines.append(f"{_said(here)} {'−' if step < 0 else '+'} {abs(step)} days = {_said(there)}; {abs(left)} left")
        here = there
    return lines


def _between(one: date, other: date) -> Problem:
    count = abs((other - one).days)
    named = f"{_said(one)} and {_said(other)}"
    return Problem(
        family="dates",
        ask=f"Count the days between {named}.",
        method=f"Count the days from {_said(min(one, other))} month by month, with their lengths.",
        check=f"Check the number of days between {named} by adding it to the earlier one, and give the number.",
        answer=str(count),
        working=tuple(_by_months(min(one, other), count)) if count <= 400 else (f"{named}: {count} days",),
        wrong=slips(Fraction(count)),
    )


def _weekday(day: date) -> Problem:
    names = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    right = names[day.weekday()]
    return Problem(
        family="dates",
        ask=f"Say which day of the week {_said(day)} is.",
        method=f"Count the days from a known weekday to {_said(day)}, modulo seven.",
        check=f"Check the weekday of {_said(day)} from another known day, and give it.",
        answer=right,
        working=(f"{_said(day)} is day {day.toordinal() % 7} modulo 7, where Monday is 1.",),
        wrong=(names[(day.weekday() + 1) % 7], names[(day.weekday() - 1) % 7]),
        is_easy=True,
    )
