"""The page on which a past workflow is reviewed, and what an auditor does there: sign off, assign, take that back."""

from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.models import User
from apps.accounts.roles import Deed
from apps.core.errors import Conflict, Invalid
from apps.runs.models import Review, Run
from apps.runs.reviewing import (
    NotReviewable,
    assign_review,
    can_sign_off,
    check_reviewable,
    reviewers_of,
    sign_off,
    withdraw_review,
)
from apps.web.access import person, visible_run
from apps.web.reviewing.told import Told

MOST_REVIEWERS = 200


@dataclass
class Form:
    """What was written into the form of a sign-off, and what is wrong with it."""

    comment: str = ""
    errors: dict[str, str] = field(default_factory=dict)


class SignOff:
    """How the review of `run` stands, and what `user` may do about it."""

    def __init__(self, run: Run, user: User, form: Form) -> None:
        self.run = run
        self.user = user
        self.form = form
        people = ("assigned_to", "assigned_by", "decided_by")
        self.review = Review.objects.filter(run=run).select_related(*people).first()
        self.why_not = _why_not(run)
        self.may_audit = Deed.AUDIT in user.deeds.get(run.project_id, ())

    @property
    def can_assign(self) -> bool:
        return self.may_audit and not self.why_not

    @property
    def can_decide(self) -> bool:
        return not self.why_not and can_sign_off(self.user, self.run)

    @property
    def is_own(self) -> bool:
        """Whether the person looks at what they started themselves."""
        return self.run.owner_id == self.user.pk

    @property
    def reviewers(self) -> list[User]:
        """Who could be given the review: whoever may sign it off."""
        found = reviewers_of(self.run.project, limit=MOST_REVIEWERS)
        return [each for each in found if each.pk != self.run.owner_id or can_sign_off(each, self.run)]


@require_safe
@gzip_page
def page(request: HttpRequest, code: str) -> HttpResponse:
    """A run from its task to its answer. `?all=1` leaves nothing out, `?raw=1` shows every text as it came."""
    return _show(request, visible_run(request.user, code), Form())


@require_POST
def decide(request: HttpRequest, code: str) -> HttpResponse:
    """Accept the run or reject it."""
    run = visible_run(request.user, code)
    form = Form(request.POST.get("comment", ""))
    verdict = request.POST.get("verdict", "")
    try:
        review = sign_off(run=run, verdict=verdict, comment=form.comment, by=person(request), now=timezone.now())
    except Invalid as refusal:
        form.errors[refusal.field or "verdict"] = refusal.message
        return _show(request, run, form, status=422)
    except Conflict as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, f"Run {run.code} is {review.get_state_display().lower()}.")
    return _to(run)


@require_POST
def assign(request: HttpRequest, code: str) -> HttpResponse:
    """Give the review to somebody; to nobody, where none is named."""
    run, by, now = visible_run(request.user, code), person(request), timezone.now()
    name = request.POST.get("to", "")
    try:
        if not name:
            withdraw_review(run=run, by=by, now=now)
        else:
            to = next((each for each in reviewers_of(run.project, limit=MOST_REVIEWERS) if each.username == name), None)
            if to is None:
                raise Invalid("Choose one of the project's auditors.", field="to")
            assign_review(run=run, to=to, by=by, now=now)
            messages.success(request, f"{to.label} is to review run {run.code}.")
    except (Conflict, Invalid) as refusal:
        messages.error(request, refusal.message)
    return _to(run)


def _show(request: HttpRequest, run: Run, form: Form, *, status: int = 200) -> HttpResponse:
    given, now = request.GET, timezone.now()
    told = Told(run, now=now, whole=given.get("all") == "1", raw=given.get("raw") == "1")
    told.read()
    context: dict[str, Any] = {
        "told": told,
        "run": run,
        "standing": told.standing,
        "sign": SignOff(run, person(request), form),
        "now": now,
    }
    return render(request, "review/page.html", context, status=status)


def _why_not(run: Run) -> str:
    """Why the run cannot be signed off, whoever asks; empty where it can."""
    try:
        check_reviewable(run)
    except NotReviewable as refusal:
        return refusal.message
    return ""


def _to(run: Run) -> HttpResponseRedirect:
    response = redirect("run-review", run.code)
    response["Location"] += "#sign-off"
    return response


urls: list[URLPattern] = [
    path("runs/<code>/review/", page, name="run-review"),
    path("runs/<code>/review/sign-off/", decide, name="run-sign-off"),
    path("runs/<code>/review/assign/", assign, name="run-assign"),
]
