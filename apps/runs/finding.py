"""Finds the runs that a filter asks for: each of its terms becomes one condition of a query."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import reduce
from typing import Any, TypeAlias

from django.db import connection
from django.db.models import BooleanField, DurationField, Exists, ExpressionWrapper, F, Func, OuterRef, Q, Value
from django.db.models.expressions import Combinable, RawSQL
from django.db.models.functions import Coalesce, Concat
from django.db.models.lookups import Exact, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual

from apps.accounts.models import Project, User
from apps.runs.filters import Comparison, Condition, Filter, Match, Measure, Moment, Words, instant
from apps.runs.models import TRIAL, Rating, Review, Run, RunQuerySet, Step, Variant
from apps.workers.models import Profile, Worker

STATES: dict[str, tuple[str, ...]] = {
    "live": (Run.Status.QUEUED, *Run.LIVE),
    "queued": (Run.Status.QUEUED,),
    "planning": (Run.Status.PLANNING,),
    "held": (Run.Status.HELD,),
    "running": (Run.Status.RUNNING,),
    "succeeded": (Run.Status.SUCCEEDED,),
    "failed": (Run.Status.FAILED,),
    "stopped": (Run.Status.CANCELLED,),
}
COMPARISONS: dict[Comparison, Any] = {
    "=": Exact,
    ">": GreaterThan,
    ">=": GreaterThanOrEqual,
    "<": LessThan,
    "<=": LessThanOrEqual,
}
# Every different worker of the steps, each found in the index behind the one before it.
SLUGS = """
    WITH RECURSIVE known AS (
        (SELECT worker FROM runs_step ORDER BY worker LIMIT 1)
        UNION ALL
        SELECT (SELECT worker FROM runs_step WHERE worker > known.worker ORDER BY worker LIMIT 1)
        FROM known WHERE known.worker IS NOT NULL
    )
    SELECT worker FROM known WHERE worker IS NOT NULL
"""
LONGEST_S = Decimal(10**9)  # thirty years: more than a run takes, and less than a duration may be


@dataclass(frozen=True)
class Asking:
    """Who asks, and when: what `is:mine` and `after:today` mean."""

    by: User
    now: datetime


def find(runs: RunQuerySet, asked: Filter, *, by: User, now: datetime) -> RunQuerySet:
    """Those of `runs` for which every term holds, in no order of its own."""
    asking = Asking(by=by, now=now)

    def narrowed(rows: RunQuerySet, condition: Condition, negated: bool) -> RunQuerySet:
        wanted = _has(condition, negated=negated) if isinstance(condition, Words) else _condition(condition, asking)
        return rows.exclude(wanted) if negated else rows.filter(wanted)

    return reduce(lambda rows, term: narrowed(rows, term.condition, term.negated), asked.terms, runs)


def _condition(condition: Match | Measure | Moment, asking: Asking) -> Q:
    match condition:
        case Match(field, value):
            return OF_FIELD[field](value, asking)
        case Measure("steps", comparison, value):
            return _steps(comparison, value)
        case Measure("rating", comparison, value):
            return _rating(comparison, value)
        case Measure(field, comparison, value):
            return Q(COMPARISONS[comparison](*_measured(field, value, asking)))
        case Moment(field):
            at = instant(condition, now=asking.now)
            return Q(created_at__gte=at) if field == "after" else Q(created_at__lt=at)


class _Among(Func):
    """That a run is among some that are found before: from the newest of them on, no more are read than are shown."""

    template = "%(expressions)s)"
    arg_joiner = " = ANY(ARRAY"
    output_field: Any = BooleanField()


def _has(words: Words, *, negated: bool) -> Q:
    found = RawSQL("SELECT runs_with(%s, %s)", [words.text, not words.exact])
    # An array is looked through from its beginning for each run that is not among its own: what is left out is hashed.
    return Q(pk__in=found) if negated else Q(_Among(F("pk"), found))


# --- fields that have a value ---------------------------------------------------------------------------------------


def _status(value: str, asking: Asking) -> Q:
    return Q(status__in=STATES[value])


def _is(value: str, asking: Asking) -> Q:
    kinds = {
        "mine": Q(owner=asking.by),
        "fork": Q(parent__isnull=False),
        "unpriced": Q(cost_unknown=True),
        "test": Q(profile=TRIAL),
        "experiment": Q(Exists(Variant.objects.filter(fork=OuterRef("pk")).order_by())),
        "corrected": _rated(~Q(correction="")),
        "erased": Q(erased_at__isnull=False),
    }
    return kinds[value]


def _worker(value: str, asking: Asking) -> Q:
    """By a part of the slug, or of the name that is in use now."""
    said = value.lower()
    named = dict(Worker.objects.values_list("slug", "name"))
    slugs = [slug for slug in _slugs() if said in slug.lower() or said in named.get(slug, "").lower()]
    return Q(Exists(Step.objects.filter(run=OuterRef("pk"), worker__in=slugs).order_by())) if slugs else Q(pk__in=[])


def _slugs() -> list[str]:
    """The workers that any step was ever given to: one look into the index for each, however many steps there are."""
    with connection.cursor() as cursor:
        cursor.execute(SLUGS)
        return [slug for (slug,) in cursor.fetchall()]


def _profile(value: str, asking: Asking) -> Q:
    return Q(profile__icontains=value)


def _project(value: str, asking: Asking) -> Q:
    """By a part of its slug or of its name; of the projects that whoever asks belongs to."""
    named = Project.objects.visible_to(asking.by).filter(Q(slug__icontains=value) | Q(name__icontains=value))
    return Q(project__in=list(named.values_list("pk", flat=True)))


def _planner(value: str, asking: Asking) -> Q:
    """By a part of its name as it is written here or shown in pages."""
    said = value.lower()
    names = {planner.value: planner.label.partition(":")[0] for planner in Profile.Planner} | {"saved": "edited saved"}
    found = [name for name, label in names.items() if said in name.lower() or said in label.lower()]
    return Q(planned_by__in=found) | Q(planned_by="", setup__planner__in=found)


def _who(value: str, asking: Asking) -> Q:
    people = User.objects.annotate(whole=Concat("first_name", Value(" "), "last_name"))
    return Q(owner__in=people.filter(Q(username__icontains=value) | Q(whole__icontains=value)).values("pk"))


def _code(value: str, asking: Asking) -> Q:
    return Q(code__startswith=value.lower())


def _reviewed(value: str, asking: Asking) -> Q:
    if value == "no":
        return Q(reviewed__in=["", Review.State.OPEN], finished_at__isnull=False)
    return Q(reviewed__in=Review.DECIDED) if value == "yes" else Q(reviewed=value)


OF_FIELD: dict[str, Callable[[str, Asking], Q]] = {
    "status": _status,
    "is": _is,
    "worker": _worker,
    "profile": _profile,
    "project": _project,
    "planner": _planner,
    "who": _who,
    "code": _code,
    "reviewed": _reviewed,
}


# --- fields that are measured ---------------------------------------------------------------------------------------

Sides: TypeAlias = tuple[Combinable, Any]


def _measured(field: str, value: Decimal, asking: Asking) -> Sides:
    """What of a run is compared, and what with."""
    match field:
        case "cost":
            return F("cost_usd"), value
        case "tokens":
            return F("input_tokens") + F("output_tokens"), Value(value)  # which may have a fraction
        case "took":
            took = Coalesce(F("finished_at"), Value(asking.now)) - F("created_at")
            within = timedelta(seconds=float(min(value, LONGEST_S)))
            return ExpressionWrapper(took, output_field=DurationField()), within
    raise AssertionError(f"{field} is not measured")


def _steps(comparison: Comparison, value: Decimal) -> Q:
    """By the positions of steps, which run from 0 without a gap: nothing has to be counted."""
    at_least, more_than = _has_step(math.ceil(value)), _has_step(math.floor(value) + 1)
    conditions = {
        ">=": at_least,
        ">": more_than,
        "<": ~at_least,
        "<=": ~more_than,
        "=": at_least & ~more_than if value == int(value) else Q(pk__in=[]),
    }
    return conditions[comparison]


def _rating(comparison: Comparison, value: Decimal) -> Q:
    """That somebody gave its answer so much. Scores are whole, and what they are compared with need not be."""
    return _rated(Q(COMPARISONS[comparison](F("score"), Value(value))))


def _rated(how: Q) -> Q:
    return Q(Exists(Rating.objects.of_answers().filter(how, run=OuterRef("pk")).order_by()))


def _has_step(number: int) -> Q:
    """That there is a step of this number, counted from 1."""
    if number < 1:
        return ~Q(pk__in=[])
    return Q(pk__in=Step.objects.filter(position=number - 1).order_by().values("run"))
