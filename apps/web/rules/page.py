"""A project's flow rules: which there are, adding and changing them, and what they would have held a run for."""

from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from apps.accounts.models import Project, User
from apps.accounts.permits import may
from apps.accounts.roles import Deed
from apps.core.errors import Conflict, Invalid
from apps.web.access import person, visible_project
from apps.web.rules.carried import Carried, carried_in
from apps.web.rules.trial import Trial, trial_of
from apps.workers import rules
from apps.workers.models import FlowRule, Tag

MOST_SHOWN = 300  # a project has fewer; how many the studio has is its admins' own doing


@dataclass
class Form:
    """The form that was sent and not accepted: which, what it said, and what is wrong with it."""

    action: str
    rule: int
    given: dict[str, str]
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, posted: QueryDict) -> "Form":
        number = posted.get("rule", "")
        given = {name: posted.get(name, "")[:400] for name in ("name", "carries", "needs", "words", "seen", "enabled")}
        is_number = number.isascii() and number.isdigit() and len(number) < 18
        return cls(posted.get("action", ""), int(number) if is_number else 0, given)

    @property
    def message(self) -> str:
        """What is wrong that no field of the form is to blame for."""
        return self.errors.get("", "")


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, slug: str) -> HttpResponse:
    """`?run=` tells what the rules would have held that run for."""
    user = person(request)
    project = visible_project(user, slug)
    if request.method != "POST":
        return _shown(request, project, user)
    form = Form.of(request.POST)
    try:
        said = _done(project, form, by=user)
    except (Invalid, Conflict) as refusal:
        form.errors[refusal.field or ""] = refusal.message
        return _shown(request, project, user, form=form, status=409 if isinstance(refusal, Conflict) else 422)
    messages.success(request, said)
    return redirect("project-rules", project.slug)


def _done(project: Project, form: Form, *, by: User) -> str:
    """Do what the form asks; what there is to say about it.

    :raises Invalid: :raises Conflict: :raises NotAllowed: as the services do.
    """
    now, given = timezone.now(), form.given
    if form.action == "add-tag":
        tag = rules.add_tag(project=project, name=given["name"], words=given["words"], by=by, now=now)
        return f"Tag “{tag}” added."
    said = {name: given[name] for name in ("carries", "needs", "words")}
    if form.action == "add-rule":
        rule = rules.add_rule(project=project, by=by, now=now, **said)
        return f"Rule added: {rule}."
    known = FlowRule.objects.filter(project=project, pk=form.rule).first()
    if known is None or form.action != "change":
        raise Invalid("There is no such rule of this project.")
    seen = int(given["seen"]) if given["seen"].isascii() and given["seen"].isdigit() else 0
    rule = rules.change_rule(rule=known, seen=seen, enabled=given["enabled"] == "on", by=by, now=now, **said)
    return f"Rule changed: {rule}." if rule.enabled else f"Rule switched off: {rule}."


def _shown(
    request: HttpRequest, project: Project, user: User, *, form: Form | None = None, status: int = 200
) -> HttpResponse:
    tags = list(Tag.objects.of(project)[:MOST_SHOWN])
    found = list(FlowRule.objects.of(project)[:MOST_SHOWN])
    carried = carried_in(project)
    code = request.GET.get("run", "").strip()[:20]
    context: dict[str, Any] = {
        "project": project,
        "may_change": may(user, Deed.ADMINISTER, project),
        "rules": found,
        "names": list(dict.fromkeys(tag.name for tag in tags)),
        "tags": [(tag, carried.get(tag.name, Carried())) for tag in tags],
        "form": form,
        "code": code,
        "trial": _tried(code, project, found),
    }
    return render(request, "rules/page.html", context, status=status)


def _tried(code: str, project: Project, found: list[FlowRule]) -> Trial | None:
    return trial_of(code, project, found) if code else None


urls: list[URLPattern] = [path("projects/<slug:slug>/rules/", page, name="project-rules")]
