"""Several plans for one task side by side, also while they are written: what each would do and cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.core.errors import Conflict, Invalid
from apps.runs.estimates import Preview, preview_of_review
from apps.runs.models import Proposal, Run
from apps.runs.plans import FEWEST, MOST, MOST_BESIDE, can_plan_again, first_of, pick_plan, plan_again, side_by_side
from apps.web.access import person, visible_run
from apps.web.editing.shape import Shape, depths, shape_of
from apps.web.posted import key_of
from apps.web.run.paused import Rejected, rejected_of
from apps.web.words.figures import short_title, usd
from apps.web.words.looks import Look, look_of, looks_of
from apps.workflows import graph
from apps.workflows.graph import Problem
from apps.workflows.workflow import Workflow

USUAL = 3  # plans that are offered to be asked for


@dataclass(frozen=True)
class Told:
    """A step as a plan tells it."""

    number: int
    title: str
    instruction: str
    look: Look
    reads: Sequence[int]


@dataclass(frozen=True)
class Plan:
    """One of the plans: the run that was asked for it, and what is known of the plan."""

    run: Run
    number: int
    repairs: int
    like: int | None = None  # the number of an earlier plan that says the very same

    # --- how it stands -----------------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether it waits for somebody to approve it."""
        return self.run.status == Run.Status.HELD and self.run.hold in ("", Run.Hold.REVIEW)

    @property
    def is_coming(self) -> bool:
        """Whether it is being written, or soon will be."""
        return self.workflow is None and self.run.status in (Run.Status.QUEUED, Run.Status.PLANNING)

    @cached_property
    def rejected(self) -> Rejected | None:
        return rejected_of(self.run)

    @property
    def state(self) -> str:
        if self.is_open:
            return "Waits for you"
        if self.is_coming:
            return "Being written" if self.run.status == Run.Status.PLANNING else "Waits for a driver"
        return "Rejected" if self.rejected else self.run.get_status_display()

    # --- what it would do --------------------------------------------------------------------------------------------

    @cached_property
    def workflow(self) -> Workflow | None:
        return self.run.workflow

    @cached_property
    def looks(self) -> Mapping[str, Look]:
        return looks_of(self.run.pool)

    @cached_property
    def shape(self) -> Shape | None:
        return shape_of(self.workflow, self.looks) if self.workflow else None

    @cached_property
    def steps(self) -> list[Told]:
        if self.workflow is None:
            return []
        numbers = {key: number for number, key in enumerate(self.workflow.keys, start=1)}
        return [
            Told(
                numbers[step.key],
                short_title(step.instruction),
                step.instruction,
                self.looks.get(step.worker) or look_of(step.worker, None),
                [numbers[source] for source in step.access],
            )
            for step in self.workflow.steps
        ]

    @property
    def chain(self) -> int:
        """Steps of the longest chain of reads: what its answer has to wait for."""
        return 1 + max(depths(self.workflow).values(), default=-1) if self.workflow else 0

    @property
    def workers(self) -> list[Look]:
        """Who would be asked, each once, in the order of the steps."""
        return list({told.look.slug: told.look for told in self.steps}.values())

    @cached_property
    def warnings(self) -> list[Problem]:
        if self.workflow is None:
            return []
        return graph.check(self.workflow, workers=self.run.pool, max_steps=len(self.workflow.steps))

    # --- what it would cost ------------------------------------------------------------------------------------------

    @cached_property
    def preview(self) -> Preview | None:
        return preview_of_review(run=self.run, workflow=self.workflow) if self.workflow else None

    @property
    def likely(self) -> str:
        if self.preview is None or self.preview.likely_usd is None:
            return "not known yet"
        return f"≈ {_money(self.preview.likely_usd)}"

    @property
    def most(self) -> str:
        if self.preview is None:
            return ""
        return "price unknown" if self.preview.most_usd is None else _money(self.preview.most_usd)


def _money(value: Decimal) -> str:
    return usd(value) if value else "free of charge"


def plans_of(run: Run) -> list[Plan]:
    """The plans that stand side by side with that of `run`, in the order in which they were asked for."""
    runs = list(side_by_side(run)[:MOST_BESIDE])
    repairs = {proposal.run_id: len(proposal.repairs) for proposal in _proposals(runs)}
    known: dict[str, int] = {}
    plans = []
    for number, each in enumerate(runs, start=1):
        said = each.workflow.model_dump_json() if each.workflow else f"none of {each.code}"
        plans.append(Plan(each, number, repairs.get(each.pk, 0), known.get(said)))
        known.setdefault(said, number)
    return plans


def _proposals(runs: Sequence[Run]) -> list[Proposal]:
    return list(Proposal.objects.filter(run__in=runs).order_by("number").only("run_id", "repairs"))


# --- the page ------------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
def plans(request: HttpRequest, code: str) -> HttpResponse:
    """The plans side by side; a POST asks for `times` more."""
    run = visible_run(request.user, code)
    if request.method != "POST":
        return _shown(request, run)
    asked = request.POST.get("times", "")
    key = key_of(request.POST.get("submit_key", ""), run.code, asked)
    times = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 3 else 0
    try:
        plan_again(run=run, times=times, by=person(request), now=timezone.now(), submit_key=key)
    except Invalid as refusal:
        return _shown(request, run, status=422, error=refusal.message, asked=asked)
    return redirect("run-plans", run.code)


def _shown(request: HttpRequest, run: Run, *, status: int = 200, **form: Any) -> HttpResponse:
    context = {
        "run": first_of(run),
        "plans": plans_of(run),
        "choices": range(FEWEST, MOST + 1),
        "usual": USUAL,
        "can_plan_again": can_plan_again(run),
        "submit_key": uuid4().hex,
        **form,
    }
    return render(request, "plans/page.html", context, status=status)


@require_safe
def card(request: HttpRequest, code: str) -> HttpResponse:
    """One of the plans, as it stands: asked for again while it is written."""
    run = visible_run(request.user, code)
    plan = next((plan for plan in plans_of(run) if plan.run.pk == run.pk), None)
    return render(request, "plans/_plan.html", {"plan": plan})


@require_POST
def pick(request: HttpRequest, code: str) -> HttpResponse:
    """Have this plan carried out, and the others set aside."""
    run = visible_run(request.user, code)
    try:
        pick_plan(run=run, by=person(request), now=timezone.now())
    except Conflict as refusal:
        messages.error(request, refusal.message)
        return redirect("run-plans", run.code)
    return redirect("run", run.code)


urls: list[URLPattern] = [
    path("runs/<code>/plans/", plans, name="run-plans"),
    path("runs/<code>/plans/card/", card, name="run-plan-card"),
    path("runs/<code>/plans/pick/", pick, name="run-pick"),
]
