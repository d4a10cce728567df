"""The figures of two runs beside each other, and by how much the second is more or less than the first."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from apps.web.run.standing import Standing
from apps.web.words.figures import count, seconds, usd


@dataclass(frozen=True)
class Delta:
    """One figure of both runs. `change` is nothing where nobody can tell it, and then `note` says why."""

    name: str
    a: str
    b: str
    change: str = ""
    note: str = ""


def deltas(a: Standing, b: Standing) -> Iterator[Delta]:
    """Time, tokens, cost, steps and calls."""
    yield _time(a, b)
    yield _tokens(a, b)
    yield _cost(a, b)
    yield _counted("Steps", len(a.steps), len(b.steps))
    calls = _counted("Calls", len(a.calls) + len(a.proposals), len(b.calls) + len(b.proposals))
    reused = [sum(step.status == "reused" for step in each.steps) for each in (a, b)]
    note = f"and {reused[0]} results reused in A, {reused[1]} in B" if any(reused) else "of workers and planners"
    yield Delta(calls.name, calls.a, calls.b, calls.change, note)


def _time(a: Standing, b: Standing) -> Delta:
    change = b.elapsed_ms - a.elapsed_ms
    said, note = _signed(change, seconds(abs(change)), a.elapsed_ms), ""
    if going := [name for name, each in (("A", a), ("B", b)) if not each.run.is_ended]:
        said, note = "", f"{' and '.join(going)} {'is' if len(going) == 1 else 'are'} not over"
    return Delta("Time", seconds(a.elapsed_ms), seconds(b.elapsed_ms), said, note)


def _tokens(a: Standing, b: Standing) -> Delta:
    change = b.tokens - a.tokens
    return Delta("Tokens", _about(a), _about(b), _signed(change, count(abs(change)), a.tokens))


def _about(standing: Standing) -> str:
    return f"{'≈ ' if standing.is_estimated and standing.tokens else ''}{count(standing.tokens)}"


def _cost(a: Standing, b: Standing) -> Delta:
    change = b.run.cost_usd - a.run.cost_usd
    said, note = _signed(change, usd(abs(change)), a.run.cost_usd), ""
    if unknown := [name for name, each in (("A", a), ("B", b)) if each.run.cost_unknown]:
        said, note = "", f"{' and '.join(unknown)} made calls of unknown price"
    return Delta("Cost", a.spent.text, b.spent.text, said, note)


def _counted(name: str, a: int, b: int) -> Delta:
    return Delta(name, count(a), count(b), change=_signed(b - a, count(abs(b - a)), 0))


def _signed(change: float | Decimal, size: str, of: float | Decimal) -> str:
    """`+1.2 s (+40 %)`, `−3`, `the same`; the share where it says something."""
    if not change:
        return "the same"
    sign = "+" if change > 0 else "−"
    share = round(abs(float(change)) / float(of) * 100) if of else 0
    return f"{sign}{size} ({sign}{share} %)" if 1 <= share < 1000 else f"{sign}{size}"
