"""How long one run is kept: until when by which policy, what holds it, and erasing it by hand."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.permits import may
from apps.accounts.roles import Deed
from apps.core.errors import Conflict, Invalid
from apps.runs.models import LegalHold, Run
from apps.runs.purse import outermost
from apps.runs.retention.copies import copies_of
from apps.runs.retention.erasing import erase_run, family_of
from apps.runs.retention.holds import in_force, place_hold
from apps.runs.retention.policies import Rule, rule_for, rules_of
from apps.web.access import person, visible_run
from apps.web.posted import reason_in
from apps.web.retention.told import Erasure, erasure_of
from apps.workflows.models import SavedWorkflow

MOST_NAMED = 12  # of the runs that go with it, or hold copies of it


@dataclass
class Form:
    """A form of the page as it was filled in, and what is wrong with it."""

    what: str = ""  # "erase" or "hold"
    reason: str = ""
    with_copies: bool = False
    error: str = ""


class Kept:
    """What the page says of one run."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @property
    def erasure(self) -> Erasure | None:
        return erasure_of(self.run)

    @cached_property
    def outer(self) -> Run | None:
        """The run around it, with which it stays and goes."""
        return None if self.run.nested_in_id is None else outermost(self.run)

    @cached_property
    def rule(self) -> Rule | None:
        return rule_for(self.run, rules_of(self.run.project))

    @property
    def until(self) -> datetime | None:
        """From when on it may be erased by policy."""
        if self.rule is None or self.rule.keep_days is None or self.run.finished_at is None:
            return None
        return self.run.finished_at + timedelta(days=self.rule.keep_days)

    @property
    def is_over(self) -> bool:
        """Whether nothing but a hold, or the time of day, keeps it."""
        return self.until is not None and self.until <= timezone.now()

    @cached_property
    def holds(self) -> list[LegalHold]:
        return list(in_force(self.run.project, [self.run]).select_related("placed_by"))

    @cached_property
    def within(self) -> list[Run]:
        return family_of(self.run)[1:]

    @cached_property
    def copies(self) -> list[Run]:
        return list(copies_of(self.run)[: MOST_NAMED + 1])

    @property
    def named(self) -> list[Run]:
        return self.copies[:MOST_NAMED]

    @property
    def has_more(self) -> bool:
        return len(self.copies) > MOST_NAMED

    @cached_property
    def templates(self) -> list[SavedWorkflow]:
        """Those that were made from it, which stay."""
        codes = [self.run.code, *(each.code for each in self.within)]
        made = SavedWorkflow.objects.filter(project=self.run.project, source__in=codes)
        return list(made.order_by("name")[:MOST_NAMED])

    @property
    def can_be_erased(self) -> bool:
        return self.run.is_ended and not self.run.is_erased and self.outer is None and not self.holds

    @property
    def can_be_held(self) -> bool:
        return not self.run.is_erased and self.outer is None


@require_safe
def kept(request: HttpRequest, code: str) -> HttpResponse:
    """Until when a run's texts are kept, and what can be done about that."""
    return _page(request, visible_run(request.user, code), Form())


@require_POST
def erase(request: HttpRequest, code: str) -> HttpResponse:
    """Erase the texts of a run, and with `copies` those of every run that took some of them over."""
    run = visible_run(request.user, code)
    form = Form("erase", reason_in(request.POST), with_copies=bool(request.POST.get("copies")))
    try:
        erased = erase_run(
            run=run, reason=form.reason, by=person(request), now=timezone.now(), with_copies=form.with_copies
        )
    except (Invalid, Conflict) as refusal:
        form.error = refusal.message
        return _page(request, run, form, status=422 if isinstance(refusal, Invalid) else 409)
    others = f", and those of {len(erased) - 1} more that held copies" if len(erased) > 1 else ""
    messages.success(request, f"The texts of run {run.code} are erased{others}.")
    return redirect("run", run.code)


@require_POST
def hold(request: HttpRequest, code: str) -> HttpResponse:
    """See to it that the run is not erased."""
    run, reason = visible_run(request.user, code), reason_in(request.POST)
    try:
        place_hold(project=run.project, run=run, reason=reason, by=person(request), now=timezone.now())
    except (Invalid, Conflict) as refusal:
        form = Form("hold", reason, error=refusal.message)
        return _page(request, run, form, status=422 if isinstance(refusal, Invalid) else 409)
    messages.success(request, f"Nothing of run {run.code} is erased until the hold is lifted.")
    return redirect("run-retention", run.code)


def _page(request: HttpRequest, run: Run, form: Form, *, status: int = 200) -> HttpResponse:
    context = {
        "run": run,
        "kept": Kept(run),
        "form": form,
        "may_change": may(person(request), Deed.ADMINISTER, run.project),
    }
    return render(request, "retention/run.html", context, status=status)


urls: list[URLPattern] = [
    path("runs/<code>/retention/", kept, name="run-retention"),
    path("runs/<code>/erase/", erase, name="run-erase"),
    path("runs/<code>/hold/", hold, name="run-hold"),
]
