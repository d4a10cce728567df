"""Editing a run's workflow, as a plain form: every operation posts the whole form and gets it back.

The run itself is never changed. What is started here is a fork of it, in which unchanged steps are reused.
"""

from uuid import uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from apps.core.errors import StudioError
from apps.runs import services
from apps.runs.models import Run
from apps.runs.services import WorkflowInvalid
from apps.web.access import person, visible_run
from apps.web.draft import Draft, draft_of, edited, read_form
from apps.web.judged import Judged
from apps.web.posted import key_of
from apps.workflows.graph import Problem


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, code: str) -> HttpResponse:
    run = visible_run(request.user, code)
    if run.workflow is None:
        messages.error(request, f"Run {run.code} has no workflow yet that could be edited.")
        return redirect("run", run.code)
    if request.method != "POST":
        return _shown(request, Judged(run, draft_of(run), by=person(request)))

    draft = read_form(request.POST, run)
    if request.POST.get("action") == "run":
        return _started(request, run, draft)
    if asked := next(filter(None, reversed(request.POST.getlist("edit"))), ""):
        draft = edited(draft, asked, used=run.workflow.keys)
    return _shown(request, Judged(run, draft, by=person(request)), status=422 if draft.refused else 200)


def _started(request: HttpRequest, run: Run, draft: Draft) -> HttpResponse:
    """The page of the fork that was started; or the form again, with why it was not."""
    if draft.refused is not None:  # the form did not arrive as it was written: nobody may pay for what they did not see
        return _shown(request, Judged(run, draft, by=person(request)), status=422)
    problems: tuple[Problem, ...]
    try:
        child = services.fork_run(
            parent=run,
            workflow=draft.workflow,
            by=person(request),
            now=timezone.now(),
            fresh=draft.fresh,
            reason=draft.reason,
            submit_key=key_of(
                request.POST.get("submit_key", ""),
                run.code,
                draft.workflow.model_dump_json(),
                *draft.fresh,
                draft.reason,
            ),
        )
    except WorkflowInvalid as invalid:
        problems = invalid.problems
    except StudioError as refusal:
        problems = (Problem("refused", refusal.message),)
    else:
        return _gone_to(request, reverse("run", args=[child.code]))
    return _shown(request, Judged(run, draft, by=person(request), problems=problems), status=422)


def _gone_to(request: HttpRequest, address: str) -> HttpResponse:
    if not request.headers.get("HX-Request"):
        return HttpResponseRedirect(address)
    return HttpResponse(status=204, headers={"HX-Redirect": address})


def _shown(request: HttpRequest, judged: Judged, *, status: int = 200) -> HttpResponse:
    context = {
        "judged": judged,
        "draft": judged.draft,
        "run": judged.run,
        "submit_key": request.POST.get("submit_key", "")[:64] or uuid4().hex,
        "selected": request.GET.get("step", ""),
    }
    if not request.headers.get("HX-Request"):
        template = "edit/page.html"
    elif request.POST.get("action") == "check":
        template, context["alone"] = "edit/_verdict.html", True
    else:
        template = "edit/_form.html"
    return render(request, template, context, status=status)


urls: list[URLPattern] = [path("runs/<code>/edit/", edit, name="run-edit")]
