"""A database as full as a studio's after years, written with COPY: 10,000 runs with 1,000,000 events and their steps.

Trails are sealed as in life, each event over the one before it, and end at the head that is kept beside them. Three
things are simpler than in life: what was sent to workers is on the attempt and not among the payloads of the trail
(nothing that is measured reads it there), all events of a run are of one transaction, and the words for search are
made by the database's own function, but at the end and not by its triggers.
"""

import itertools
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import psycopg
from django.conf import settings
from django.db import models
from django.db.models.fields import NOT_PROVIDED
from psycopg import sql

from apps.accounts.models import Membership, User
from apps.audit import chain
from apps.audit.models import Event, Payload, Trail
from apps.runs.models import Attempt, Run, RunWords, Step, new_code
from apps.workflows.workflow import Step as Planned
from apps.workflows.workflow import Workflow

SEED = 11
CHUNK = 250  # runs written at once
PEOPLE = ("ada", "grace", "edsger", "barbara", "donald")
PROFILES = ("studio-ultra", "studio-mini", "night-shift", "tariffs")
STATUSES = (("succeeded", 80), ("failed", 13), ("cancelled", 5), ("held", 2))
SIZES = ((3, 38), (12, 20), (40, 17), (150, 25))  # steps, so that a run has a hundred events on average
RARE = 0.0005  # of all steps are given to the last worker of the pool
NEWEST = datetime(2026, 11, 20, tzinfo=UTC)
EVERY = timedelta(minutes=50)  # a run was begun: ten thousand are a year

# Words as texts have them: few of them often, many of them seldom.
SYLLABLES = [
    a + b for a in ("ta", "ri", "po", "ne", "lu", "ka", "so", "mi", "ve", "du") for b in ("ff", "n", "r", "st", "l")
]
WORDS = ["the", "of", "region", "tariff", "growth", "table", "answer"] + [
    one + two for one in SYLLABLES for two in SYLLABLES
]
WEIGHTS = list(itertools.accumulate(1 / (rank + 2) for rank in range(len(WORDS))))


@dataclass
class Rows:
    """What of a chunk of runs goes into each table."""

    runs: list[Sequence[Any]] = field(default_factory=list)
    trails: list[Sequence[Any]] = field(default_factory=list)
    steps: list[Sequence[Any]] = field(default_factory=list)
    attempts: list[Sequence[Any]] = field(default_factory=list)
    events: list[Sequence[Any]] = field(default_factory=list)
    payloads: list[Sequence[Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Made:
    """A run that was written."""

    pk: int
    code: str
    steps: int
    status: str


COLUMNS: dict[type[models.Model], tuple[str, tuple[str, ...]]] = {
    Run: (
        "runs",
        (
            *("id", "code", "project_id", "owner_id", "task", "title", "profile", "setup", "status", "hold"),
            *("workflow_body", "parent_id", "root_id", "planned_by", "answer", "answer_step", "answer_rule", "error"),
            *("input_tokens", "output_tokens", "cost_usd", "created_at", "started_at", "finished_at"),
        ),
    ),
    Trail: ("trails", ("id", "name", "project", "head_seq", "head_hash")),
    Step: (
        "steps",
        (
            *("id", "run_id", "key", "position", "instruction", "worker", "access", "status", "result"),
            *("started_at", "finished_at"),
        ),
    ),
    Attempt: (
        "attempts",
        (
            *("id", "run_id", "step_id", "number", "worker", "status", "digest", "sent", "text", "input_tokens"),
            *("output_tokens", "cost_usd", "ttft_ms", "duration_ms", "started_at", "finished_at"),
        ),
    ),
    Payload: ("payloads", ("digest", "trail_id", "salt", "text", "created_at")),
    Event: (
        "events",
        (
            *("trail_id", "seq", "line", "hash", "at", "verb", "actor_kind", "actor_id", "actor_label", "subject"),
            "project",
        ),
    ),
}


def generate(pattern: Run, *, runs: int, events: int) -> list[Made]:
    """Write so many runs, with about so many events, in the project of `pattern`, whose setup they share."""
    assert settings.DATABASE_OWNER_URL, "tables are counted anew by their owner alone"
    owner = psycopg.connect(settings.DATABASE_OWNER_URL)
    making = Making(pattern, runs=runs, events=events)
    with owner:
        for rows in making.chunks():
            for model, (name, columns) in COLUMNS.items():
                _copy(owner, model, columns, getattr(rows, name))
        for counted in (Run, Trail, Step, Attempt):
            _go_on_after(owner, counted)
        _count(owner, *COLUMNS)  # or the steps of each run would be looked for in a table that is thought to be empty
        owner.execute("UPDATE runs_runwords SET words = runs_words_of(run_id) WHERE run_id >= %s", [making.first_run])
        _count(owner, RunWords)
    owner.close()
    return making.made


def _copy(
    owner: "psycopg.Connection[Any]", model: type[models.Model], given: tuple[str, ...], rows: Iterable[Any]
) -> None:
    """Write the rows; columns that are not given have what a new row has."""
    blank = model()
    others = [
        each
        for each in model._meta.concrete_fields
        if each.column not in given and each.db_default is NOT_PROVIDED and not (each.primary_key or each.generated)
    ]
    usual = [_plain(each, getattr(blank, each.attname)) for each in others]
    names = [*given, *(str(each.column) for each in others)]
    columns = sql.SQL(", ").join(sql.Identifier(name) for name in names)
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(model._meta.db_table), columns)
    with owner.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row([*row, *usual])


def _count(owner: "psycopg.Connection[Any]", *written: type[models.Model]) -> None:
    for table in [each._meta.db_table for each in written]:
        owner.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(table)))


def _plain(of: "models.Field[Any, Any]", value: Any) -> Any:
    return json.dumps(value) if isinstance(of, models.JSONField) and value is not None else value


def _go_on_after(owner: "psycopg.Connection[Any]", model: type[models.Model]) -> None:
    table = model._meta.db_table
    owner.execute(
        sql.SQL("SELECT setval(pg_get_serial_sequence({}, 'id'), (SELECT max(id) FROM {}))").format(
            sql.Literal(table), sql.Identifier(table)
        )
    )


def _next(model: Any) -> int:
    return int(model.objects.aggregate(last=models.Max("pk"))["last"] or 0) + 1


class Making:
    """Makes runs, each after the pattern of one that was submitted."""

    def __init__(self, pattern: Run, *, runs: int, events: int) -> None:
        self.random = random.Random(SEED)
        self.pattern, self.runs, self.missing = pattern, runs, events
        self.project = pattern.project
        self.people = [self._person(name) for name in PEOPLE]
        self.setup = json.dumps(pattern.setup)
        self.pool = [worker["slug"] for worker in pattern.setup["pool"]]
        self.first_run = _next(Run)
        self.ids: dict[Any, Iterator[int]] = {
            model: itertools.count(_next(model)) for model in (Run, Trail, Step, Attempt)
        }
        self.roots: list[int] = []
        self.made: list[Made] = []

    def _person(self, name: str) -> User:
        user, is_new = User.objects.get_or_create(username=f"bench-{name}", defaults={"home_project": self.project})
        if is_new:
            Membership.objects.create(user=user, project=self.project)
        return user

    def chunks(self) -> Iterator[Rows]:
        for begun in range(0, self.runs, CHUNK):
            rows = Rows()
            for number in range(begun, min(begun + CHUNK, self.runs)):
                self._run(rows, number)
            yield rows

    def text(self, words: int) -> str:
        return " ".join(self.random.choices(WORDS, cum_weights=WEIGHTS, k=words))

    def _size(self, number: int) -> int:
        """So many steps that as many events as are wanted are reached with the last run."""
        left = self.missing / max(1, self.runs - number)
        if left > 200:
            return SIZES[-1][0]
        return self.random.choices([size for size, _ in SIZES], [weight for _, weight in SIZES])[0]

    def _run(self, rows: Rows, number: int) -> None:
        draw = self.random
        at = NEWEST - EVERY * (self.runs - number)
        pk, code, person = next(self.ids[Run]), new_code(), draw.choice(self.people)
        status = draw.choices([each for each, _ in STATUSES], [weight for _, weight in STATUSES])[0]
        task = f"{self.text(8).capitalize()}: case {number}\n\n{self.text(60)}"
        workflow = self._workflow(self._size(number))
        telling = Telling(next(self.ids[Trail]), f"run:{code}", code, self.project.slug, person, at)
        telling.tell("run.submitted", {"profile": self.pattern.profile, "pool": self.pool}, {"task": task})
        telling.tell("run.claimed", {"driver": "bench", "claim": 1})
        steps = [step.model_dump(mode="json", exclude={"instruction"}) for step in workflow.steps]
        adopted: dict[str, Any] = {"by": "planner", "warnings": [], "steps": steps, "sink": {"kind": "last"}}
        adopted |= {"show_task": workflow.show_task, "on_failure": workflow.on_failure}
        telling.tell(
            "workflow.adopted", adopted, {f"instruction:{step.key}": step.instruction for step in workflow.steps}
        )
        tokens, cost, result = self._steps(rows, pk, workflow, telling, is_held=status == "held")
        error = "Step failed: the provider was away" if status == "failed" else ""
        if status == "held":
            telling.tell("run.held", {"reason": "review"})
        elif status == "succeeded":
            telling.tell("run.succeeded", {"tokens": tokens, "cost_usd": str(cost), "rule": "last"}, {"answer": result})
        else:
            telling.tell("run.failed" if status == "failed" else "run.stopped", {"code": "bench"})
        parent, root = self._lineage(pk)
        rows.runs.append(
            (
                *(pk, code, self.project.pk, person.pk, task, task.partition("\n")[0][:120], draw.choice(PROFILES)),
                *(self.setup, status, "review" if status == "held" else "", workflow.model_dump_json(), parent, root),
                *("saved" if parent else "conductor", result if status == "succeeded" else ""),
                *(
                    workflow.steps[-1].key if status == "succeeded" else "",
                    "last" if status == "succeeded" else "",
                    error,
                ),
                *(tokens // 2, tokens - tokens // 2, cost, at, at, None if status == "held" else telling.at),
            )
        )
        rows.trails.append((telling.pk, telling.name, self.project.slug, telling.seq, telling.hash))
        rows.events += telling.events
        rows.payloads += telling.payloads
        self.missing -= len(telling.events)
        self.made.append(Made(pk, code, len(workflow.steps), status))

    def _lineage(self, pk: int) -> tuple[int | None, int | None]:
        """A sixth of the runs was made from one of the latest hundred."""
        if self.roots and self.random.random() < 1 / 6:
            root = self.random.choice(self.roots[-100:])
            return root, root
        self.roots.append(pk)
        return None, None

    def _workflow(self, size: int) -> Workflow:
        draw = self.random
        keys = [f"s{number + 1}" for number in range(size)]
        return Workflow(
            steps=tuple(
                Planned(
                    key=key,
                    instruction=self.text(24),
                    worker=self.pool[-1] if draw.random() < RARE else draw.choice(self.pool[:-1]),
                    access=tuple(keys[max(0, at - 3) : at]),
                )
                for at, key in enumerate(keys)
            )
        )

    def _steps(
        self, rows: Rows, run: int, workflow: Workflow, telling: "Telling", *, is_held: bool
    ) -> tuple[int, Decimal, str]:
        """The steps carried out, one after another; their tokens, their cost and the last result."""
        tokens, cost, result = 0, Decimal(0), ""
        for position, step in enumerate(workflow.steps):
            pk = next(self.ids[Step])
            common = (pk, run, step.key, position, step.instruction, step.worker, json.dumps(step.access))
            if is_held:
                rows.steps.append((*common, "waiting", "", None, None))
                continue
            result = self.text(self.random.randint(20, 90))
            attempt, begun, used = next(self.ids[Attempt]), telling.at, self.random.randint(200, 2000)
            price = Decimal(used) / 1_000_000
            about: dict[str, Any] = {"step": step.key, "attempt": attempt, "number": 1, "worker": step.worker}
            telling.tell("step.started", about)
            usage: dict[str, Any] = {
                "input_tokens": used,
                "output_tokens": used // 4,
                "cached_tokens": 0,
                "reasoning_tokens": 0,
            }
            usage |= {"cost_usd": str(price), "duration_ms": 2300.0, "ttft_ms": 400.0, "estimated": False}
            telling.tell("step.succeeded", about | usage | {"finish_reason": "stop"}, {"result": result})
            rows.steps.append((*common, "succeeded", result, begun, telling.at))
            sent = json.dumps([{"role": "user", "content": step.instruction}])
            rows.attempts.append(
                (
                    *(attempt, run, pk, 1, step.worker, "succeeded", chain.digest("", f"{attempt}"), sent, result),
                    *(used, used // 4, price, 400.0, 2300.0, begun, telling.at),
                )
            )
            tokens, cost = tokens + used + used // 4, cost + price
        return tokens, cost, result


class Telling:
    """Seals the events of one trail, each a second after the one before."""

    def __init__(self, pk: int, name: str, subject: str, project: str, person: User, at: datetime) -> None:
        self.pk, self.name, self.subject, self.project, self.at = pk, name, subject, project, at
        self.actor = person.actor
        self.seq, self.hash = 0, chain.GENESIS
        self.events: list[Sequence[Any]] = []
        self.payloads: list[Sequence[Any]] = []

    def tell(self, verb: str, data: dict[str, Any], texts: dict[str, str] | None = None) -> None:
        self.seq += 1
        self.at += timedelta(seconds=1)
        actor = {"kind": self.actor.kind, "id": self.actor.id, "label": self.actor.label}
        line = chain.unplaced(
            trail=self.name,
            at=self.at,
            verb=verb,
            actor=actor,
            subject=self.subject,
            project=self.project,
            data=data,
            texts={name: self._keep(text) for name, text in (texts or {}).items()},
        ).at(self.seq)
        self.hash = chain.seal(self.hash, line)
        self.events.append(
            (self.pk, self.seq, line, self.hash, self.at, verb, *actor.values(), self.subject, self.project)
        )

    def _keep(self, text: str) -> str:
        salt = chain.new_salt()
        digest = chain.digest(salt, text)
        self.payloads.append((digest, self.pk, salt, text, self.at))
        return digest
