"""A run's page, the parts of it that are fetched again while it goes on, and what a person does with a run."""

from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.db.models.functions import Left, Length
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.models import User
from apps.core.errors import Conflict, Invalid
from apps.runs import services
from apps.runs.models import Proposal, Run
from apps.runs.plans import submit_again
from apps.runs.purse import outermost
from apps.web.access import person, visible_run, wants_part
from apps.web.posted import key_of, reason_in, usd_in
from apps.web.reviewing.rating import Ratings
from apps.web.run import viewing
from apps.web.run.panel import StepPanel
from apps.web.run.paths import NoSuchStep, path_to
from apps.web.run.rounds import Planned, planned_in
from apps.web.run.standing import Standing
from apps.web.run.trail import first_events
from apps.web.run.trouble import trouble_of
from apps.web.words.texts import shown

PLAN_CHARS = 20_000

# --- the page and its parts ----------------------------------------------------------------------------------------


@require_GET
@gzip_page  # a page of 150 steps weighs a quarter of a megabyte; its forms' tokens are masked anew each time
def page(request: HttpRequest, code: str) -> HttpResponse:
    """The run as it stands. `?step=` and `?tab=` open the panel, `?edge=s1:s3` the text that passed.

    A step of a nested run is named by the way to it, `?step=s2/s1`.
    """
    return show(request, visible_run(request.user, code))


def show(request: HttpRequest, run: Run, *, status: int = 200, **forms: Any) -> HttpResponse:
    """The page of `run`; `forms` are those that were filled in and not accepted."""
    events = first_events(run)
    run.refresh_from_db()  # after the events: what the page shows is at least as new as the event it says it has seen
    standing = Standing(run, now=timezone.now())
    looks = {slug: look.as_json() for slug, look in standing.looks.items()}
    context = {
        **_head(standing),
        **_answer(request, standing),
        "events": events,
        "workers": looks,
        **_step(request, _chosen(request, run)),
        **_overview(request, standing),
        **viewing.shown(request, standing),
        **forms,
    }
    return render(request, "run/page.html", context, status=status)


def _chosen(request: HttpRequest, run: Run) -> StepPanel | None:
    """The step that the address names, if it names one of this run."""
    asked = request.GET.copy()
    key = asked.get("step", "")
    source, has_edge, reader = asked.get("edge", "").partition(":")
    if has_edge:
        key, asked["tab"], asked["source"] = reader, "context", source.rpartition("/")[2]
    try:
        return StepPanel(path_to(run, key), asked, now=timezone.now()) if key else None
    except NoSuchStep:
        return None


@require_GET
def head(request: HttpRequest, code: str) -> HttpResponse:
    standing = Standing(visible_run(request.user, code), now=timezone.now())
    # The buttons are replaced only when others are needed: one that is being pressed must not vanish under the finger.
    context = _head(standing) | {"alone": True, "stale_actions": request.GET.get("actions") != standing.needs}
    return render(request, "run/_head.html", context)


@require_GET
def outline(request: HttpRequest, code: str) -> HttpResponse:
    return render(
        request, "run/_outline.html", {"standing": Standing(visible_run(request.user, code), now=timezone.now())}
    )


@require_GET
def answer(request: HttpRequest, code: str) -> HttpResponse:
    standing = Standing(visible_run(request.user, code), now=timezone.now())
    response = render(request, "run/_answer.html", _answer(request, standing))
    if standing.run.is_ended:  # it was followed to its end while it was written, and is now to be read
        response["HX-Reswap"] = "innerHTML scroll:top"
    return response


@require_GET
def overview(request: HttpRequest, code: str) -> HttpResponse:
    """The panel while no step is chosen: the plan being written, then the workflow's facts."""
    standing = Standing(visible_run(request.user, code), now=timezone.now())
    return render(request, "run/_overview.html", _overview(request, standing))


@require_GET
def step(request: HttpRequest, code: str, key: str) -> HttpResponse:
    """The panel of one step; `key` leads through the steps around it where it is one of a nested run."""
    panel = StepPanel(path_to(visible_run(request.user, code), key), request.GET, now=timezone.now())
    return render(request, "run/_step.html", _step(request, panel))


def _step(request: HttpRequest, panel: StepPanel | None) -> dict[str, Any]:
    ratings = Ratings(panel.run, person(request), step=panel.row, attempt=panel.attempt) if panel else None
    return {"panel": panel, "step_ratings": ratings}


def _head(standing: Standing) -> dict[str, Any]:
    return {"standing": standing, "trouble": trouble_of(standing), "submit_key": uuid4().hex}


def _answer(request: HttpRequest, standing: Standing) -> dict[str, Any]:
    is_raw, is_whole = request.GET.get("raw") == "1", request.GET.get("all") == "1"
    return {
        "standing": standing,
        "text": shown(standing.run.answer, whole=is_whole, raw=is_raw),
        "ratings": Ratings(standing.run, person(request)),
        "is_raw": is_raw,
        "page_url": f"{reverse('run', args=[standing.run.code])}?view=graph",
        "part_url": f"{reverse('run-answer', args=[standing.run.code])}?view=graph",
    }


def _overview(request: HttpRequest, standing: Standing) -> dict[str, Any]:
    plans = _plans(standing.run)
    took = sum(plan.duration_ms or 0 for plan in plans)
    return {"standing": standing, "plans": plans, "planned": _planned(standing, plans), "took": took}


def _plans(run: Run) -> list[Proposal]:
    """What the conductor wrote, each text as far as it is shown: it may have millions of characters."""
    beginning, chars = Left("raw", PLAN_CHARS), Length("raw")
    return list(run.proposals.defer("sent", "raw", "track").annotate(beginning=beginning, chars=chars))


def _planned(standing: Standing, plans: list[Proposal]) -> list[Planned]:
    """The same by rounds, as far as they are over: what is being written stands above them."""
    return planned_in(plans, called="Turn" if standing.is_in_turns else "Round")


# --- what is done with it ------------------------------------------------------------------------------------------


@require_POST
def stop(request: HttpRequest, code: str) -> HttpResponse:
    run = visible_run(request.user, code)
    try:
        services.stop_run(run=run, by=person(request), now=timezone.now(), reason=reason_in(request.POST))
    except Conflict as refusal:
        messages.error(request, refusal.message)
    return _to(run)


@require_POST
def approve(request: HttpRequest, code: str) -> HttpResponse:
    run = visible_run(request.user, code)
    try:
        services.approve_run(run=run, by=person(request), now=timezone.now())
    except Conflict:
        messages.error(request, f"Run {run.code} does not wait for approval any more.")
    return _to(run)


@dataclass
class GoingOn:
    """The form that lets a held run go on, as it was filled in, and what is wrong with it."""

    limit_usd: str
    reason: str
    errors: dict[str, str] = field(default_factory=dict)


@require_POST
def go_on(request: HttpRequest, code: str) -> HttpResponse:
    """Let a run that is held at a limit or paused go on, after raising its own limit where a new one is given."""
    run = visible_run(request.user, code)
    form = GoingOn(request.POST.get("limit_usd", "").strip()[:40], reason_in(request.POST))
    try:
        _let_go_on(run, form, by=person(request))
    except Invalid as refusal:
        form.errors["limit_usd"] = refusal.message
    except Conflict as refusal:
        if wants_part(request):
            raise
        messages.error(request, refusal.message)
    if not wants_part(request):
        return show(request, run, going_on=form, status=422) if form.errors else _to(run)
    context = {"standing": Standing(run, now=timezone.now()), "going_on": form, "submit_key": uuid4().hex}
    return render(
        request, "run/_hold.html" if form.errors else "run/_went_on.html", context, status=422 if form.errors else 200
    )


def _let_go_on(run: Run, form: GoingOn, *, by: User) -> None:
    if run.nested_in_id is not None:
        around = outermost(run)
        raise Conflict(f"Run {run.code} is held with the run around it. Let run {around.code} go on.")
    limit_usd = usd_in(form.limit_usd, field="limit_usd")
    try:
        services.go_on(run=run, by=by, now=timezone.now(), limit_usd=limit_usd, reason=form.reason)
    except Conflict:
        raise Conflict(f"Run {run.code} is neither held at a limit nor paused any more.") from None


@require_POST
def rerun(request: HttpRequest, code: str) -> HttpResponse:
    """The same workflow again (`reuse`: only what has no result yet; `fresh`: every step), or a new `plan`."""
    run = visible_run(request.user, code)
    mode = request.POST.get("mode", "reuse")
    key = key_of(request.POST.get("submit_key", ""), run.code, mode)
    try:
        child = _again(run, mode, by=person(request), submit_key=key)
    except (Conflict, Invalid) as refusal:
        messages.error(request, refusal.message)
        return _to(run)
    return _to(child)


def _again(run: Run, mode: str, *, by: User, submit_key: str | None) -> Run:
    now = timezone.now()
    if mode == "plan":
        return submit_again(run=run, by=by, now=now, submit_key=submit_key)
    workflow = run.workflow
    if workflow is None:
        raise Invalid("This run has no workflow yet that could be run again. Have it planned again.")
    if mode not in ("reuse", "fresh"):
        raise Invalid("Choose how to run it again: reuse what is unchanged, or everything fresh.")
    fresh = workflow.keys if mode == "fresh" else ()
    return services.fork_run(parent=run, workflow=workflow, by=by, now=now, fresh=fresh, submit_key=submit_key)


def _to(run: Run) -> HttpResponseRedirect:
    return redirect(reverse("run", args=[run.code]))


urls: list[URLPattern] = [
    path("runs/<code>/", page, name="run"),
    path("runs/<code>/head/", head, name="run-head"),
    path("runs/<code>/outline/", outline, name="run-outline"),
    path("runs/<code>/answer/", answer, name="run-answer"),
    path("runs/<code>/panel/", overview, name="run-panel"),
    path("runs/<code>/steps/<path:key>/", step, name="run-step"),
    path("runs/<code>/stop/", stop, name="run-stop"),
    path("runs/<code>/approve/", approve, name="run-approve"),
    path("runs/<code>/go-on/", go_on, name="run-go-on"),
    path("runs/<code>/rerun/", rerun, name="run-rerun"),
]
