"""Workers as pages tell of them: state from real calls first, who is at the door, what they cost and who stands in."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache

import redis
from django.conf import settings
from django.db.models import Prefetch, Q

from apps.accounts.models import Project, User
from apps.core.errors import NotFound
from apps.runs.models import Run
from apps.spend import queries
from apps.spend.models import Budget
from apps.spend.queries import Spent
from apps.web.pool.working import PERIODS, Doing, doing
from apps.web.words.figures import ago, plural, usd
from apps.workers.calls import SECRETS
from apps.workers.models import Fallback, Worker
from apps.workers.scripts import RedisAway
from apps.workers.standing import Standing, read_standings

MOST_WORKERS = 200
PATIENCE_S = 1.0
WORDS = {
    "off": "Switched off",
    "open": "Left alone",
    "half-open": "Being tried again",
    "cooling": "Pauses",
    "failed": "Last call failed",
    "ok": "Answers",
    "unknown": "Not called yet",
}
# How a state is drawn; see `.health` in the styles.
HEALTH = {"ok": "up", "open": "down", "failed": "down", "half-open": "odd", "cooling": "odd"}


class NoSuchWorker(NotFound):
    """There is no such worker, or it belongs to a project of others."""


@dataclass(frozen=True)
class Report:
    """One worker at one moment. `door` is None where Redis does not say."""

    worker: Worker
    doing: Doing
    door: Standing | None
    spent: Spent
    budgets: Sequence[queries.Standing]
    may_read_error: bool  # the last call was of a run that the reader may see
    now: datetime

    # --- state -------------------------------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        if not self.worker.enabled:
            return "off"
        if self.door and self.door.circuit != "closed":
            return self.door.circuit
        if self.door and self.door.cooling_until:
            return "cooling"
        last = self.doing.last
        return "unknown" if last is None else "ok" if last.is_ok else "failed"

    @property
    def health(self) -> str:
        return HEALTH.get(self.state, self.state)

    @property
    def words(self) -> str:
        if self.worker.embeds and self.state == "unknown":  # its calls are no attempts at a step
            return "Called today" if self.spent.calls else "Not called today"
        return WORDS[self.state]

    @property
    def is_barred(self) -> bool:
        """Whether somebody who has mended it may have it tried at once."""
        return self.door is not None and (self.door.circuit != "closed" or self.door.cooling_until is not None)

    @property
    def trouble(self) -> list[str]:
        """Why it is not called, or only with care."""
        door, said = self.door, []
        if door is not None and door.circuit != "closed":
            since = f" since {door.opened_at:%H:%M:%S} UTC" if door.opened_at else ""
            said.append(f"Its calls keep failing{since}: {SECRETS.sub('[removed]', door.reason).rstrip('.')}.")
            at = f"at {door.next_try:%H:%M:%S} UTC" if door.circuit == "open" and door.next_try else "by the next call"
            said.append(f"It is tried again {at}.")
        if door is not None and door.cooling_until is not None:
            said.append(f"It asked for a pause, until {door.cooling_until:%H:%M:%S} UTC.")
        return said

    @property
    def last(self) -> str:
        """`Last call 3 min ago: answered in 2.3 s`"""
        last = self.doing.last
        return "" if last is None else f"Last call {ago(last.at, now=self.now)}: {last.told}"

    @property
    def error(self) -> str:
        """The provider's words on the last call, for who may read what they are about."""
        last = self.doing.last
        return last.error if last is not None and self.state == "failed" and self.may_read_error else ""

    # --- the door ----------------------------------------------------------------------------------------------------

    @property
    def at_work(self) -> str:
        """`2 of 8 at work, 3 wait`"""
        if self.door is None:
            return "unknown"
        of = f" of {self.worker.concurrency}" if self.worker.concurrency else ""
        waiting = f", {self.door.waiting} {'waits' if self.door.waiting == 1 else 'wait'}" if self.door.waiting else ""
        return f"{self.door.in_flight}{of} at work{waiting}"

    @property
    def fullness(self) -> float | None:
        """How full it is, in percent; None where nothing limits it."""
        if self.door is None or not self.worker.concurrency:
            return None
        return min(100.0, round(self.door.in_flight / self.worker.concurrency * 100, 1))

    @property
    def pace(self) -> str:
        """Its limits a minute."""
        worker = self.worker
        limits = ((worker.requests_per_minute, "call"), (worker.tokens_per_minute, "token"))
        return ", ".join(f"{plural(limit, one)} a minute" for limit, one in limits if limit)

    # --- money and key -----------------------------------------------------------------------------------------------

    @property
    def spent_today(self) -> str:
        unknown = f" and {plural(self.spent.unknown, 'call')} of unknown cost" if self.spent.unknown else ""
        return f"{usd(self.spent.usd)}{unknown}"

    @property
    def price(self) -> str:
        worker = self.worker
        if worker.free:
            return "free: self-hosted"
        if worker.input_price_usd is None or (worker.output_price_usd is None and not worker.embeds):
            return "unknown"
        cached = "" if worker.cached_price_usd is None else f" ({usd(worker.cached_price_usd)} cached)"
        out = "" if worker.output_price_usd is None else f", {usd(worker.output_price_usd)} out"
        return f"{usd(worker.input_price_usd)} in{cached}{out} a million tokens"

    @property
    def price_from(self) -> str:
        worker = self.worker
        return ", ".join(filter(None, [f"version {worker.price_version}", worker.price_from]))

    @property
    def key(self) -> str:
        """The key's label, last four and age; never the key."""
        credential = self.worker.credential
        if credential is None:
            return "none"
        last_four = f" …{credential.last_four}" if credential.last_four else ""
        age = credential.age(now=self.now)
        return f"{credential.label}{last_four}, {'entered today' if age == 'today' else f'{age} old'}"

    # --- others ------------------------------------------------------------------------------------------------------

    @property
    def stand_ins(self) -> list[Worker]:
        """Those who stand in for it, first the first."""
        return [each.instead for each in self.worker.fallbacks.all()]

    @property
    def stands_in_for(self) -> list[Worker]:
        return [each.worker for each in self.worker.stands_in_for.all()]

    @property
    def setup(self) -> list[tuple[str, str]]:
        """How it is asked. Never a key; what looks like one in its parameters is taken out."""
        worker = self.worker
        params = ", ".join(f"{name} {value}" for name, value in sorted(worker.identity["params"].items()))
        return [
            ("Endpoint", worker.base_url or "litellm's own"),
            ("Model", worker.model),
            ("Sampling", SECRETS.sub("[removed]", params) or "as the endpoint likes"),
            ("Strengths", worker.strengths or "none told"),
            ("Context window", plural(worker.context_window, "token") if worker.context_window else "not known"),
            ("Longest reply", plural(worker.max_output_tokens, "token") if worker.max_output_tokens else "not known"),
            ("Calls at once", str(worker.concurrency or "as many as come")),
            ("Pace", self.pace or "as fast as they come"),
            ("First token within", f"{worker.first_token_timeout_s:g} s"),
            ("Asked now and then", "yes" if worker.probe else "no"),
        ]


def visible_workers(user: User, **only: str) -> list[Worker]:
    """The workers somebody may see, each with its key's label, and with those that stand in for each other."""
    seen = Worker.objects.visible_to(user)
    ids = seen.values("pk")
    chains = (
        Prefetch("fallbacks", Fallback.objects.filter(instead__in=ids).select_related("instead")),
        Prefetch("stands_in_for", Fallback.objects.filter(worker__in=ids).select_related("worker")),
    )
    found = seen.filter(**only).select_related("credential", "project").prefetch_related(*chains)
    return list(found.order_by("-enabled", "slug")[:MOST_WORKERS])


def visible_worker(user: User, slug: str) -> Worker:
    """The worker under `slug`, for whoever may see it.

    :raises NoSuchWorker: there is none, or it belongs to a project of others.
    """
    found = [] if "\0" in slug else visible_workers(user, slug=slug)
    if not found:
        raise NoSuchWorker(f"There is no worker {slug[:63]}, or it is not yours to see.")
    return found[0]


def reports(workers: Sequence[Worker], *, user: User, period: str, now: datetime) -> list[Report]:
    """How each of `workers` does, in as many queries for many as for one."""
    slugs = [worker.slug for worker in workers]
    done = doing(slugs, since=now - PERIODS[period][1])
    doors = _doors(slugs)
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    spent = queries.spent(slugs, since=today)
    budgets = _budgets(user, now=now)
    readable = _readable(user, done.values())
    return [
        Report(
            worker=worker,
            doing=done[worker.slug],
            door=doors.get(worker.slug) if doors is not None else None,
            spent=spent[worker.slug],
            budgets=budgets.get(worker.pk, ()),
            may_read_error=(last := done[worker.slug].last) is not None and last.run_id in readable,
            now=now,
        )
        for worker in workers
    ]


def _doors(slugs: Sequence[str]) -> Mapping[str, Standing] | None:
    """How it stands at the doors; None where Redis does not answer."""
    try:
        return read_standings(doors_client(), slugs)
    except RedisAway:
        return None


def _budgets(user: User, *, now: datetime) -> dict[int, list[queries.Standing]]:
    """The budgets in force that are about one worker, by its id, as far as they are about this person."""
    found: dict[int, list[queries.Standing]] = {}
    mine = Budget.objects.filter(enabled=True, worker__isnull=False).filter(
        Q(person=None) | Q(person=user), Q(project=None) | Q(project__in=Project.objects.visible_to(user))
    )
    wanted = set(mine.values_list("pk", flat=True))
    if not wanted:
        return found
    for standing in queries.budgets(now=now):
        if standing.budget.pk in wanted:
            found.setdefault(standing.budget.worker_id or 0, []).append(standing)
    return found


def _readable(user: User, done: Iterable[Doing]) -> set[int]:
    runs = {each.last.run_id for each in done if each.last is not None and not each.last.is_ok}
    return set(Run.objects.visible_to(user).filter(pk__in=runs).values_list("pk", flat=True)) if runs else set()


@cache
def doors_client() -> "redis.Redis":
    """The client by which pages look at the doors: impatient, since a page waits for it."""
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S)


def sum_usd(found: Iterable[Report]) -> Decimal:
    """What all of them cost today, as far as it is known."""
    return sum((each.spent.usd for each in found), Decimal(0))
