"""Editing a run's workflow, as a plain form: every operation posts the whole form and gets it back.

A run that is over or goes on is never changed: what is started here is a fork of it, in which unchanged steps are
reused. One that is held for review goes on with what is approved here. Nothing is started that was not told before:
the form carries the seal of the preview that the person saw.
"""

from uuid import uuid4

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from apps.core.errors import Conflict, StudioError
from apps.runs import drafts, holding, services
from apps.runs.models import Run
from apps.runs.services import WorkflowInvalid
from apps.web.access import person, run_to_change
from apps.web.editing import kept as keeping
from apps.web.editing.draft import Draft, edited, read_form
from apps.web.editing.judged import Judged
from apps.web.editing.kept import Kept, hold_in
from apps.web.posted import LONGEST_SEAL, key_of
from apps.web.run.standing import Standing
from apps.web.run.trouble import Trouble, trouble_of
from apps.workflows.graph import Problem


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, code: str) -> HttpResponse:
    """`?resume=1` opens at the step at which the run failed, `?draft=` with a draft that was kept."""
    run = run_to_change(person(request), code)
    if run.workflow is None:
        messages.error(request, f"Run {run.code} has no workflow yet that could be edited.")
        return redirect("run", run.code)
    by, now = person(request), timezone.now()
    if request.method != "POST":
        draft, kept = keeping.opened(request, run, by=by, now=now)
        return _shown(request, Judged(run, draft, by=by), kept)

    action = request.POST.get("action")
    if action in ("start-over", "take"):
        return _left(request, run)
    draft = read_form(request.POST, run)
    if action in ("run", "revise"):
        return _started(request, run, draft)
    if asked := next(filter(None, reversed(request.POST.getlist("edit"))), ""):
        draft = edited(draft, asked, used=run.workflow.keys)
    kept = keeping.kept_of(run, draft, request.POST, by=by, now=now)
    return _shown(request, Judged(run, draft, by=by), kept, status=422 if draft.refused else 200)


def _left(request: HttpRequest, run: Run) -> HttpResponse:
    """The draft that is open is thrown away: for the run as it is, or for what somebody else made of the same draft."""
    drafts.drop_draft(run=run, hold=hold_in(request.POST), by=person(request))
    address = reverse("run-edit", args=[run.code])
    other = request.POST.get("other", "")
    return _gone_to(request, f"{address}?draft={other}" if other.isascii() and other.isdigit() else address)


def _started(request: HttpRequest, run: Run, draft: Draft) -> HttpResponse:
    """The page of the run that was started; or the form again, with why it was not."""
    by, key = person(request), _key(request, run, draft)
    # Pressed twice, one run: and what the first press has done may well have changed the preview.
    if key and (first := Run.objects.filter(owner=by, submit_key=key).only("code").first()):
        return _gone_to(request, reverse("run", args=[first.code]))
    judged = Judged(run, draft, by=by, seen=request.POST.get("seen", "")[:LONGEST_SEAL])
    # A form that did not arrive as it was written: nobody may pay for what they did not see.
    if draft.refused is not None or judged.errors:
        return _refused(request, judged, 422)
    if judged.changes:
        return _refused(request, judged, 409)
    try:
        started = _revised(request, judged) if request.POST.get("action") == "revise" else _forked(request, judged, key)
    except WorkflowInvalid as invalid:
        return _refused(request, Judged(run, draft, by=by, problems=invalid.problems), 422)
    except StudioError as refusal:
        run.refresh_from_db()
        told = Judged(run, draft, by=by, problems=(Problem("refused", refusal.message),))
        return _refused(request, told, 409 if isinstance(refusal, Conflict) else 422)
    drafts.drop_draft(run=run, hold=hold_in(request.POST), by=by)
    return _gone_to(request, reverse("run", args=[started.code]))


def _forked(request: HttpRequest, judged: Judged, key: str | None) -> Run:
    draft = judged.draft
    return services.fork_run(
        parent=judged.run,
        workflow=draft.workflow,
        by=judged.by,
        now=timezone.now(),
        fresh=draft.fresh,
        reason=draft.reason,
        submit_key=key,
    )


def _revised(request: HttpRequest, judged: Judged) -> Run:
    """The run that was held goes on with the workflow as it is now: both at once, or neither."""
    run, draft, now = judged.run, judged.draft, timezone.now()
    with transaction.atomic():
        if judged.is_changed:
            holding.revise_run(run=run, workflow=draft.workflow, by=judged.by, now=now, reason=draft.reason)
        let_on = services.go_on if run.hold == Run.Hold.RULES and not judged.is_changed else services.approve_run
        let_on(run=run, by=judged.by, now=now)
    services.announce(run)  # once more: what was told within the transaction nobody could read yet
    return run


def _key(request: HttpRequest, run: Run, draft: Draft) -> str | None:
    written = (draft.workflow.model_dump_json(), *draft.fresh, draft.reason)
    return key_of(request.POST.get("submit_key", ""), run.code, *written)


def _gone_to(request: HttpRequest, address: str) -> HttpResponse:
    if not request.headers.get("HX-Request"):
        return HttpResponseRedirect(address)
    return HttpResponse(status=204, headers={"HX-Redirect": address})


def _refused(request: HttpRequest, judged: Judged, status: int) -> HttpResponse:
    """The form with what keeps it from being started; it is kept, whatever that is."""
    kept = keeping.kept_of(judged.run, judged.draft, request.POST, by=judged.by, now=timezone.now())
    response = _shown(request, judged, kept, status=status)
    # Without these a page would show a refusal of this kind as a notice, and not as the form.
    response["HX-Retarget"], response["HX-Reswap"] = "#edit", "innerHTML"
    return response


def _shown(request: HttpRequest, judged: Judged, kept: Kept, *, status: int = 200) -> HttpResponse:
    trouble = _trouble(request, judged)
    context = {
        "judged": judged,
        "draft": judged.draft,
        "run": judged.run,
        "kept": kept,
        "submit_key": request.POST.get("submit_key", "")[:64] or uuid4().hex,
        "is_resuming": _is_resuming(request, judged.run),
        "resume": trouble,
        "instead": judged.instead_at(trouble.line.row.key) if trouble and trouble.line else [],
        "selected": request.GET.get("step", "") or (trouble.line.row.key if trouble and trouble.line else ""),
    }
    if not request.headers.get("HX-Request"):
        template = "edit/page.html"
    elif request.POST.get("action") == "check":
        template, context["alone"] = "edit/_verdict.html", True
    else:
        template, context["told"] = "edit/_form.html", True
    return render(request, template, context, status=status)


def _trouble(request: HttpRequest, judged: Judged) -> Trouble | None:
    """What the run failed of, where it is opened to be resumed; its step may be gone from the draft."""
    if not _is_resuming(request, judged.run) or request.POST.get("action") == "check":
        return None
    trouble = trouble_of(Standing(judged.run, now=timezone.now()))
    return trouble if trouble and trouble.line and trouble.line.row.key in judged.draft.workflow.keys else None


def _is_resuming(request: HttpRequest, run: Run) -> bool:
    asked = request.POST if request.method == "POST" else request.GET
    return run.status == Run.Status.FAILED and asked.get("resume") == "1"


urls: list[URLPattern] = [path("runs/<code>/edit/", edit, name="run-edit")]
