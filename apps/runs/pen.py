"""How a driver writes: all that happens in one moment in one transaction, rows and the events that explain them.

Each write first makes sure that the run is still the driver's own and still going, so of a driver and a person who
stops the run, or of two drivers, one wins. Where the database went away between a commit and its answer, the same is
asked again and changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from django.db import transaction

from apps.audit.log import Actor, Entry
from apps.audit.statements import Statement, together
from apps.runs import rows
from apps.runs.log import append
from apps.runs.models import Run
from apps.runs.purse import Purse
from apps.spend import book

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")


class RunTaken(Exception):
    """Another driver has taken the run over: this one's heart was not heard in time."""


class RunStopped(Exception):
    """A person stopped the run while its driver worked."""


@dataclass
class Page:
    """An open transaction in which a driver writes: the time it writes at, and the events that will explain it."""

    at: datetime
    entries: list[Entry] = field(default_factory=list)

    def tell(self, verb: str, data: Mapping[str, Any], texts: Mapping[str, str] | None = None) -> None:
        self.entries.append(Entry(verb, dict(data), texts or {}))


@dataclass(frozen=True)
class Asked(Generic[T]):
    """A job that is a few statements: they go to the database with all that is asked in this moment."""

    statements: Sequence[Statement[Any]]
    told: Callable[..., T]  # makes the job's result of the answers, and tells what happened


def at_once(method: Callable[Concatenate[Any, "Page", P], Asked[T]]) -> Callable[Concatenate[Any, "Page", P], T]:
    """Marks a job of the desk that is `Asked`; `Desk.write` gives its result to whoever asked."""
    method.is_at_once = True  # type: ignore[attr-defined]  # a mark on a function
    return cast("Callable[Concatenate[Any, Page, P], T]", method)


def pays(method: F) -> F:
    """Marks a job that moves money: what the run's calls are charged to is locked before it is carried out."""
    method.moves_money = True  # type: ignore[attr-defined]  # a mark on a function
    return method


def _is_marked(job: Callable[[Page], Any], mark: str) -> bool:
    return getattr(getattr(job, "func", job), mark, False)


@dataclass
class Pen:
    """What one driver writes one run with that it claimed: jobs, each on the `Page` of its moment.

    `ring` is called after each commit with the verbs written, so that viewers come and read.
    """

    run: Run
    by: Actor
    clock: Callable[[], datetime]
    ring: Callable[[Run, Sequence[str]], None]
    purse: Purse

    def write(self, jobs: Sequence[Callable[[Page], Any]]) -> list[Any]:
        """Carry out `jobs` in one transaction, if the run is still this driver's and still going.

        :raises RunStopped: :raises RunTaken:
        """
        with transaction.atomic():
            page = Page(self.clock())
            asked = {number: job(page) for number, job in enumerate(jobs) if _is_marked(job, "is_at_once")}
            hold: list[Statement[Any]] = [rows.lock_run(self.run.pk)]
            if (accounts := self.purse.accounts) and any(_is_marked(job, "moves_money") for job in jobs):
                hold.append(book.hold(accounts=accounts))
            held, *rest = together([*hold, *(each for one in asked.values() for each in one.statements)])
            self._check_hold(*held)
            answers = iter(rest[len(hold) - 1 :])
            answered = {number: list(islice(answers, len(one.statements))) for number, one in asked.items()}
            results = [
                asked[number].told(*answered[number]) if number in asked else job(page)
                for number, job in enumerate(jobs)
            ]
            append(self.run, page.entries, by=self.by, at=page.at)
        self.ring(self.run, [entry.verb for entry in page.entries])
        return results

    def _check_hold(self, status: str, claim: int) -> None:
        """The run's row is locked: a stop or another driver waits for this write, or is seen by it."""
        if claim != self.run.claim:
            raise RunTaken
        if status not in Run.LIVE:
            raise RunStopped
