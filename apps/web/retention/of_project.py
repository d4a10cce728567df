"""How long a project keeps the texts of its runs: its policies, what would go by them, and its legal holds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.models import Project
from apps.accounts.permits import may
from apps.accounts.roles import Deed
from apps.core.errors import Invalid
from apps.runs.models import LegalHold, Policy, Run
from apps.runs.retention.applying import Outlook, outlook
from apps.runs.retention.holds import NoSuchHold, lift_hold, place_hold
from apps.runs.retention.policies import NoSuchPolicy, Rule, clean_days, drop_policy, rules_of, set_policy, with_rule
from apps.web.access import person, visible_project
from apps.web.posted import reason_in
from apps.workers.models import Profile

MOST_HOLDS = 50
MOST_POLICIES = 200


@dataclass
class PolicyForm:
    """A policy as somebody writes it, tried before it is set."""

    profile: str = ""
    days: str = ""
    reason: str = ""
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, posted: QueryDict) -> "PolicyForm":
        return cls(posted.get("profile", "")[:63], posted.get("days", "").strip()[:20], reason_in(posted))

    @property
    def keep_days(self) -> int | None:
        """:raises Invalid: what is written is no number of days."""
        if not self.days:
            return None
        if not (self.days.isascii() and self.days.isdigit() and len(self.days) < 7):
            raise Invalid("Give a number of days, or none to keep texts for ever.", field="days")
        return clean_days(int(self.days))


@dataclass
class HoldForm:
    """Why a hold is to be placed, and what is wrong with that."""

    reason: str = ""
    error: str = ""


class Keeping:
    """What the page of a project says about keeping."""

    def __init__(self, project: Project, *, rules: Sequence[Rule] | None = None) -> None:
        self.project = project
        self.tried = rules  # a policy that is not set yet is among them

    @cached_property
    def policies(self) -> list[Policy]:
        return list(Policy.objects.filter(project=self.project).select_related("set_by")[:MOST_POLICIES])

    @cached_property
    def outlook(self) -> Outlook:
        return outlook(self.project, now=timezone.now(), rules=self.tried)

    @cached_property
    def holds(self) -> list[LegalHold]:
        """Those in force first, then those that were lifted."""
        known = LegalHold.objects.filter(project=self.project).select_related(
            "run", "project", "placed_by", "lifted_by"
        )
        in_force = list(known.filter(lifted_at=None)[:MOST_HOLDS])
        return in_force + list(known.exclude(lifted_at=None)[: max(0, MOST_HOLDS - len(in_force))])

    @property
    def profiles(self) -> list[str]:
        """Those that can have a policy of their own: the project's, everybody's, and any that it has runs of."""
        offered = Profile.objects.filter(project=None) | Profile.objects.filter(project=self.project)
        used = Run.objects.filter(project=self.project).order_by("profile").values_list("profile", flat=True).distinct()
        return sorted({*offered.values_list("slug", flat=True), *used[:MOST_POLICIES]})


@require_safe
def retention(request: HttpRequest, slug: str) -> HttpResponse:
    """The project's policies and holds; with `?days=` what would go if such a policy were set."""
    project = visible_project(person(request), slug)
    if "days" not in request.GET:
        return _page(request, project, PolicyForm())
    form = PolicyForm.of(request.GET)
    try:
        tried = with_rule(rules_of(project), Rule(form.profile, form.keep_days))
    except Invalid as refusal:
        form.errors[refusal.field or "days"] = refusal.message
        return _page(request, project, form, status=422)
    return _page(request, project, form, tried=tried)


@require_POST
def set_(request: HttpRequest, slug: str) -> HttpResponse:
    project, form = visible_project(person(request), slug), PolicyForm.of(request.POST)
    try:
        policy = set_policy(
            project=project,
            profile=form.profile,
            keep_days=form.keep_days,
            reason=form.reason,
            by=person(request),
            now=timezone.now(),
        )
    except Invalid as refusal:
        form.errors[refusal.field or "days"] = refusal.message
        return _page(request, project, form, status=422)
    messages.success(request, f"Texts of {policy.profile or 'every other profile'} are kept {policy.keeps}.")
    return _back(project)


@require_POST
def drop(request: HttpRequest, slug: str, id: str) -> HttpResponse:
    project = visible_project(person(request), slug)
    policy = Policy.objects.filter(project=project, pk=_pk(id)).first()
    if policy is None:
        raise NoSuchPolicy
    try:
        drop_policy(policy=policy, reason=reason_in(request.POST), by=person(request), now=timezone.now())
    except Invalid as refusal:
        messages.error(request, refusal.message)
    return _back(project)


@require_POST
def hold(request: HttpRequest, slug: str) -> HttpResponse:
    """Place a hold on the whole project."""
    project, reason = visible_project(person(request), slug), reason_in(request.POST)
    try:
        place_hold(project=project, reason=reason, by=person(request), now=timezone.now())
    except Invalid as refusal:
        return _page(request, project, PolicyForm(), hold_form=HoldForm(reason, refusal.message), status=422)
    messages.success(request, f"Nothing of {project.name} is erased until the hold is lifted.")
    return _back(project)


@require_POST
def lift(request: HttpRequest, slug: str, id: str) -> HttpResponse:
    """Lift a hold, whether on the project or on one run."""
    project = visible_project(person(request), slug)
    found = LegalHold.objects.filter(project=project, pk=_pk(id)).select_related("project", "run__project").first()
    if found is None:
        raise NoSuchHold
    try:
        lift_hold(hold=found, reason=reason_in(request.POST), by=person(request), now=timezone.now())
        messages.success(request, f"The hold on {found.what} is lifted.")
    except Invalid as refusal:
        messages.error(request, refusal.message)
    return _back(project) if found.run is None else redirect("run-retention", found.run.code)


def _page(
    request: HttpRequest,
    project: Project,
    form: PolicyForm,
    *,
    hold_form: HoldForm | None = None,
    tried: Sequence[Rule] | None = None,
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {
        "project": project,
        "keeping": Keeping(project, rules=tried),
        "form": form,
        "is_tried": tried is not None,
        "hold_form": hold_form or HoldForm(),
        "may_change": may(person(request), Deed.ADMINISTER, project),
    }
    return render(request, "retention/project.html", context, status=status)


def _back(project: Project) -> HttpResponse:
    return redirect(reverse("retention", args=[project.slug]))


def _pk(given: str) -> int:
    """The number in an address; one that nothing has, where it is none."""
    return int(given) if given.isascii() and given.isdigit() and len(given) < 19 else 0


urls: list[URLPattern] = [
    path("projects/<slug>/retention/", retention, name="retention"),
    path("projects/<slug>/retention/set/", set_, name="retention-set"),
    path("projects/<slug>/retention/<id>/drop/", drop, name="retention-drop"),
    path("projects/<slug>/holds/", hold, name="retention-hold"),
    path("projects/<slug>/holds/<id>/lift/", lift, name="retention-lift"),
]
