"""A run's page of the ledger: a line for every call, how its cost came about, and sums that are those of the run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cached_property

from django.db.models import Count, Q, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.runs.models import Run, Step
from apps.runs.purse import outermost
from apps.spend.arithmetic import Row, arithmetic
from apps.spend.models import Account, Line
from apps.spend.queries import account_of
from apps.web.access import visible_run
from apps.web.run.nests import codes_within
from apps.web.words.figures import short_title

PAGE = 500
STATES = {Line.State.RESERVED: "set aside", Line.State.SETTLED: "booked", Line.State.RELEASED: "given back"}


@dataclass(frozen=True)
class Entry:
    """A line as the page shows it."""

    line: Line
    name: str
    step: str  # its key, where it was made for a step
    within: str  # the nested run that made it

    @property
    def state(self) -> str:
        return STATES[Line.State(self.line.state)]

    @property
    def rows(self) -> list[Row]:
        """How its cost came about; nothing while that is not known yet."""
        return arithmetic(self.line) if self.line.state == Line.State.SETTLED else []

    @property
    def price_from(self) -> str:
        """The version of the prices and where they are from."""
        told = [
            f"version {self.line.price_version}" if self.line.price_version else "",
            self.line.price.get("from", ""),
        ]
        return ", ".join(filter(None, told))


@dataclass(frozen=True)
class Sums:
    """What all lines come to: unknown costs are counted beside the sum, never in it."""

    usd: Decimal
    reserved_usd: Decimal
    calls: int
    unknown: int
    estimated: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


class Ledger:
    """The lines of one run, those of the runs within it among them, from the line behind `after` on."""

    def __init__(self, run: Run, *, after: int, now: datetime) -> None:
        self.run = run
        self.after = after
        self.now = now

    @cached_property
    def payer(self) -> Run:
        return outermost(self.run)

    @cached_property
    def account(self) -> Account | None:
        return account_of(self.payer.code)

    @cached_property
    def codes(self) -> list[str]:
        """This run and all within it."""
        return [self.run.code, *codes_within(self.run)]

    @property
    def lines(self) -> QuerySet[Line]:
        """All lines are the outermost run's; those of a nested run are told by what their names begin with."""
        lines = Line.objects.filter(run=self.payer.code)
        if self.payer.pk == self.run.pk:
            return lines
        mine = Q()
        for code in self.codes:
            mine |= Q(ref__startswith=f"{code}:")
        return lines.filter(mine)

    @cached_property
    def shown(self) -> list[Line]:
        return list(self.lines.filter(pk__gt=self.after).order_by("pk")[: PAGE + 1])

    @property
    def more(self) -> int | None:
        """Where it goes on; None where it does not."""
        return self.shown[PAGE - 1].pk if len(self.shown) > PAGE else None

    @property
    def entries(self) -> Iterator[Entry]:
        return (self._entry(line) for line in self.shown[:PAGE])

    def _entry(self, line: Line) -> Entry:
        code, _, rest = line.ref.partition(":")
        what, _, number = rest.rpartition(":")
        step = self._steps.get((code, what))
        if step is not None:
            name = f"Step {step.position + 1}, {short_title(step.instruction)}, attempt {number}"
        else:
            name = {"plan": f"Plan, call {number}", "embedding": "Vectors"}.get(what, rest)
        return Entry(line, name, step.key if step else "", "" if code == self.run.code else code)

    @cached_property
    def _steps(self) -> Mapping[tuple[str, str], Step]:
        steps = Step.objects.filter(run__code__in=self.codes).select_related("run")
        fields = ("key", "position", "instruction", "run__code")
        return {(step.run.code, step.key): step for step in steps.only(*fields)}

    @cached_property
    def sums(self) -> Sums:
        settled, aside = Q(state=Line.State.SETTLED), Q(state=Line.State.RESERVED)
        tokens = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
        found = self.lines.aggregate(
            usd=Sum("cost_usd", filter=settled, default=Decimal(0)),
            reserved_usd=Sum("reserved_usd", filter=aside, default=Decimal(0)),
            calls=Count("pk", filter=settled),
            unknown=Count("pk", filter=settled & Q(cost_usd=None)),
            estimated=Count("pk", filter=settled & Q(estimated=True)),
            **{name: Sum(name, filter=settled, default=0) for name in tokens},
        )
        return Sums(**found)

    @property
    def is_from_before(self) -> bool:
        """Whether it was carried out before there was a ledger."""
        return not self.shown and not self.after and bool(self.run.input_tokens or self.run.output_tokens)

    @property
    def is_equal(self) -> bool:
        """Whether the lines sum to what the run itself says."""
        run = self.run
        return (self.sums.usd, self.sums.tokens) == (run.cost_usd, run.input_tokens + run.output_tokens)


@require_safe
def ledger(request: HttpRequest, code: str) -> HttpResponse:
    """Every line of a run, oldest first."""
    run = visible_run(request.user, code)
    after = request.GET.get("after", "")
    place = int(after) if after.isascii() and after.isdigit() and len(after) < 19 else 0
    return render(request, "run/ledger.html", {"ledger": Ledger(run, after=place, now=timezone.now()), "run": run})


urls: list[URLPattern] = [path("runs/<code>/ledger/", ledger, name="run-ledger")]
