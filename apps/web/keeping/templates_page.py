"""Templates: their list, one of them with the form that starts a run from it, and how they are kept and changed."""

from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.models import AnonymousUser
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts.models import Project, User
from apps.accounts.permits import check_may
from apps.accounts.roles import Deed
from apps.core.errors import Conflict, NotFound, StudioError
from apps.runs.models import Run
from apps.runs.templates import ChangedSince, change_template, delete_template, keep_template
from apps.web.access import person, run_to_change, wants_part
from apps.web.keeping.exporting import NotExported, workflow_file
from apps.web.starting.filling import Filling
from apps.web.words.figures import ago
from apps.workflows import placeholders
from apps.workflows.models import SavedWorkflow
from apps.workflows.portable import Portable

PAGE = 50
LONGEST_SEARCH = 200


class NoSuchTemplate(NotFound):
    """There is no such template, or it is in a project of others."""

    def __init__(self) -> None:
        super().__init__("There is no such template, or it is not yours to see. It may have been deleted.")


def visible_template(user: User, id: str) -> SavedWorkflow:
    """:raises NoSuchTemplate: there is none, or it is in a project of others."""
    found = _template_or_none(user, id)
    if found is None:
        raise NoSuchTemplate
    return found


def template_to_change(user: User, id: str) -> SavedWorkflow:
    """:raises NoSuchTemplate: as `visible_template`. :raises NotAllowed: they may see it, and only that."""
    template = visible_template(user, id)
    check_may(user, Deed.ACT, template.project)
    return template


def _template_or_none(user: User | AnonymousUser, id: str) -> SavedWorkflow | None:
    rows = SavedWorkflow.objects.visible_to(user).select_related("owner", "project")
    return rows.filter(pk=int(id)).first() if id.isascii() and id.isdigit() and len(id) < 19 else None


# --- the list --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A template as the list shows it."""

    template: SavedWorkflow
    when: str

    @property
    def steps(self) -> int:
        return len(self.template.body.get("steps", ()))

    @property
    def names(self) -> tuple[str, ...]:
        return placeholders.names_in(placeholders.parts_of(self.template.task))


@require_safe
def workflows(request: HttpRequest) -> HttpResponse:
    """The templates of the person's projects by name, `?q=` in name, description or task, from `?after=` on."""
    rows = SavedWorkflow.objects.visible_to(request.user).select_related("owner").order_by("name", "pk")
    asked = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_SEARCH]
    for word in asked.split():
        rows = rows.filter(Q(name__icontains=word) | Q(description__icontains=word) | Q(task__icontains=word))
    last = _template_or_none(request.user, request.GET.get("after", ""))
    if last is not None:
        rows = rows.filter(Q(name__gt=last.name) | Q(name=last.name, pk__gt=last.pk))
    found = list(rows[: PAGE + 1])
    now = timezone.now()
    lines = [Line(template, ago(template.updated_at, now=now)) for template in found[:PAGE]]
    more = urlencode({"q": asked, "after": found[PAGE - 1].pk}) if len(found) > PAGE else ""
    may_keep = Project.objects.where(request.user, Deed.ACT).exists()
    context = {"lines": lines, "q": asked, "more": more, "is_first": last is None, "may_keep": may_keep}
    return render(request, "saved/_list.html" if wants_part(request) else "saved/list.html", context)


# --- one of them -----------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
def workflow(request: HttpRequest, id: str) -> HttpResponse:
    """One template, with the form that starts a run from it: at once, or held for review."""
    user = person(request)
    template = visible_template(user, id)
    if request.method != "POST":
        return _template(request, Filling(template, user))
    form = Filling.of(template, request.POST, by=user)
    action = request.POST.get("action", "preview")
    if action in ("start", "review"):
        if run := form.start(held=action == "review"):
            return redirect("run-edit" if action == "review" else "run", run.code)
        return _template(request, form, status=422)
    return _template(request, form)


def _template(request: HttpRequest, form: Filling, *, status: int = 200) -> HttpResponse:
    context = {"form": form, "template": form.template, "outlined": form.outlined}
    part = wants_part(request) and status == 200
    return render(request, "saved/_preview.html" if part else "saved/page.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, id: str) -> HttpResponse:
    """Ask, and with a yes delete."""
    user = person(request)
    template = template_to_change(user, id)
    if request.method != "POST":
        return render(request, "saved/delete.html", {"template": template})
    try:
        delete_template(template=template, by=user, now=timezone.now())
    except Conflict as refusal:
        return render(request, "saved/delete.html", {"template": template, "error": refusal.message}, status=409)
    messages.success(request, f"The template “{template.name}” was deleted. Runs that were started from it stay.")
    return redirect("workflows")


@require_safe
def export(request: HttpRequest, id: str) -> HttpResponse:
    """The template as a file, `?as=json` or `?as=lists`."""
    template = visible_template(person(request), id)
    portable = Portable(
        name=template.name,
        description=template.description,
        task=template.task,
        placeholders=True,
        workflow=template.workflow,
    )
    return workflow_file(portable, request.GET.get("as", "json"), f"template-{template.pk}")


# --- keeping and changing --------------------------------------------------------------------------------------------


@dataclass
class TemplateForm:
    """What a template is called, what it is for, and its task."""

    name: str
    description: str
    task: str
    version: int = 0  # the one that was seen when the form was opened
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, posted: QueryDict) -> "TemplateForm":
        seen = posted.get("version", "")
        version = int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 10 else 0
        return cls(posted.get("name", ""), posted.get("description", ""), posted.get("task", ""), version)

    def refuse(self, refusal: StudioError) -> None:
        known = refusal.field if refusal.field in ("name", "description", "task") else "whole"
        self.errors[known] = refusal.message


@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, id: str) -> HttpResponse:
    """Another name, description or task for a template."""
    user = person(request)
    template = template_to_change(user, id)
    if request.method != "POST":
        form = TemplateForm(template.name, template.description, template.task, template.version)
        return render(request, "saved/change.html", {"form": form, "template": template})
    form = TemplateForm.of(request.POST)
    try:
        change_template(
            template=template,
            seen=form.version,
            name=form.name,
            task=form.task,
            description=form.description,
            by=user,
            now=timezone.now(),
        )
    except StudioError as refusal:
        form.refuse(refusal)
        if isinstance(refusal, ChangedSince):
            form.version = SavedWorkflow.objects.values_list("version", flat=True).get(pk=template.pk)
        return render(request, "saved/change.html", {"form": form, "template": template}, status=422)
    return redirect("workflow", template.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def keep(request: HttpRequest, code: str) -> HttpResponse:
    """Keep a run's workflow and its task as a template."""
    user = person(request)
    run = run_to_change(user, code)
    if run.workflow is None:
        raise NotExported(f"Run {run.code} has no workflow yet that could be kept.")
    if request.method != "POST":
        form = TemplateForm(run.title[:100], "", placeholders.written_out(run.task))
        return render(request, "saved/change.html", {"form": form, "run": run})
    form = TemplateForm.of(request.POST)
    try:
        template = _kept(run, form, by=user)
    except StudioError as refusal:
        form.refuse(refusal)
        return render(request, "saved/change.html", {"form": form, "run": run}, status=422)
    messages.success(request, f"Kept as “{template.name}”.")
    return redirect("workflow", template.pk)


def _kept(run: Run, form: TemplateForm, *, by: User) -> SavedWorkflow:
    assert run.workflow is not None
    return keep_template(
        name=form.name,
        description=form.description,
        task=form.task,
        workflow=run.workflow,
        profile=run.profile,
        source=run,
        by=by,
        now=timezone.now(),
    )


urls: list[URLPattern] = [
    path("workflows/", workflows, name="workflows"),
    path("workflows/<id>/", workflow, name="workflow"),
    path("workflows/<id>/change/", change, name="workflow-change"),
    path("workflows/<id>/delete/", delete, name="workflow-delete"),
    path("workflows/<id>/export/", export, name="workflow-export"),
    path("runs/<code>/template/", keep, name="run-template"),
]
