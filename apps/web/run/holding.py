"""What a person does with a run that goes on or is held: pause it, mark a step, reject its plan, write a result."""

from dataclasses import dataclass, field
from uuid import uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from apps.core.errors import Conflict, Invalid
from apps.runs import holding
from apps.runs.models import Run
from apps.web.access import person, visible_run, wants_part
from apps.web.posted import reason_in
from apps.web.run.page import show
from apps.web.run.panel import StepPanel
from apps.web.run.paths import Path, path_to
from apps.web.run.standing import Standing


@dataclass
class Filled:
    """A form as it was filled in, and what is wrong with it."""

    reason: str
    text: str = ""
    errors: dict[str, str] = field(default_factory=dict)
    is_late: bool = False  # nothing is wrong with it, but the run has gone on meanwhile


# --- the whole run -------------------------------------------------------------------------------------------------


@require_POST
def pause(request: HttpRequest, code: str) -> HttpResponse:
    """Let nothing more of the run begin; what is under way ends."""
    run = visible_run(request.user, code)
    try:
        holding.pause_run(run=run, by=person(request), now=timezone.now())
    except Conflict as refusal:
        messages.error(request, refusal.message)
    return redirect("run", run.code)


@require_POST
def reject(request: HttpRequest, code: str) -> HttpResponse:
    """Say no to the plan that is held for review, and why."""
    run = visible_run(request.user, code)
    form = Filled(reason_in(request.POST))
    try:
        _reject(run, request, form)
    except Conflict as refusal:
        if wants_part(request):
            raise
        messages.error(request, refusal.message)
    status = 422 if form.errors else 200
    if wants_part(request):
        standing = Standing(Run.objects.get(pk=run.pk), now=timezone.now())
        context = {"standing": standing, "rejecting": form, "submit_key": uuid4().hex}
        return render(request, "run/_hold.html" if form.errors else "run/_went_on.html", context, status=status)
    return show(request, run, status=status, rejecting=form) if form.errors else redirect("run", run.code)


def _reject(run: Run, request: HttpRequest, form: Filled) -> None:
    try:
        holding.reject_run(run=run, by=person(request), now=timezone.now(), reason=form.reason)
    except Invalid as refusal:
        form.errors["reason"] = refusal.message
    except Conflict:
        raise Conflict(f"Run {run.code} does not wait for approval any more.") from None


# --- one step ------------------------------------------------------------------------------------------------------


@require_POST
def breakpoints(request: HttpRequest, code: str) -> HttpResponse:
    """Have the run pause before a step (`set=on`), or not any more; answers with the step's panel."""
    run = visible_run(request.user, code)
    key = request.POST.get("step", "")
    try:
        holding.mark_step(run=run, key=key, on=request.POST.get("set") == "on", by=person(request), now=timezone.now())
    except (Conflict, Invalid) as refusal:
        if wants_part(request):
            raise
        messages.error(request, refusal.message)
    asked = QueryDict(urlencode({"tab": request.POST.get("tab", "")}))
    if wants_part(request):
        panel = StepPanel(path_to(Run.objects.get(pk=run.pk), key), asked, now=timezone.now())
        return render(request, "run/_step.html", {"panel": panel})
    return redirect(f"{reverse('run', args=[run.code])}?{urlencode({'step': key, **asked.dict()})}")


@require_POST
def write(request: HttpRequest, code: str, key: str) -> HttpResponse:
    """Give a step of a held run a result by hand; answers with the step's panel."""
    way = path_to(visible_run(request.user, code), key)
    form = Filled(reason_in(request.POST), request.POST.get("text", ""))
    try:
        holding.write_result(
            run=way.run, key=way.key, text=form.text, by=person(request), now=timezone.now(), reason=form.reason
        )
    except Invalid as refusal:
        form.errors["text"] = refusal.message
    except Conflict as refusal:
        if wants_part(request):
            raise  # told over the page, in which what was typed still stands
        form.errors["text"], form.is_late = refusal.message, True
    return _panel_after(request, visible_run(request.user, code), way, form)


def _panel_after(request: HttpRequest, run: Run, way: Path, form: Filled) -> HttpResponse:
    """The panel of the step that was written; with the form where it was not: 422, or 409 where it came too late."""
    panel = StepPanel(path_to(run, way.text), QueryDict("tab=result"), now=timezone.now())
    status = 200 if not form.errors else 409 if form.is_late else 422
    context = {"panel": panel, "writing": form if form.errors else None}
    if wants_part(request):
        return render(request, "run/_step.html", context, status=status)
    return show(request, run, status=status, **context) if form.errors else redirect(panel.page_url_of_result)


urls: list[URLPattern] = [
    path("runs/<code>/pause/", pause, name="run-pause"),
    path("runs/<code>/reject/", reject, name="run-reject"),
    path("runs/<code>/breakpoints/", breakpoints, name="run-breakpoints"),
    path("runs/<code>/steps/<path:key>/write/", write, name="run-write"),
]
