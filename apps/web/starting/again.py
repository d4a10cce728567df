"""Running a run's workflow again as it is: what that would do and cost is told first, and bound to what was told."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from uuid import uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from apps.core.errors import Invalid
from apps.runs import services
from apps.runs.estimates import Preview, changes_since, preview_of_fork
from apps.runs.models import Run
from apps.web.access import person, run_to_change, wants_part
from apps.web.posted import LONGEST_SEAL, key_of
from apps.web.starting.previewed import Row, button_of, money_of, rows_of, told_of
from apps.workflows import graph

MODES = {
    "reuse": (
        "Reuse what is unchanged",
        "Every step whose request is the same takes its recorded result; the rest runs.",
    ),
    "fresh": ("Everything fresh", "A worker is called for every step again, and paid for it."),
}


@dataclass(frozen=True)
class Offer:
    """One way of running it again."""

    mode: str
    preview: Preview
    changes: list[str]  # since it was told before

    @property
    def title(self) -> str:
        return MODES[self.mode][0]

    @property
    def does(self) -> str:
        return MODES[self.mode][1]

    @property
    def button(self) -> str:
        return button_of(self.preview)

    @property
    def money(self) -> str:
        return money_of(self.preview)

    @cached_property
    def rows(self) -> list[Row]:
        return rows_of(self.preview)


@require_http_methods(["GET", "HEAD", "POST"])
def again(request: HttpRequest, code: str) -> HttpResponse:
    """Both ways with their previews; for htmx what the run page shows of them. A post starts one of them."""
    run = run_to_change(person(request), code)
    try:
        _check(run)
        if request.method == "POST":
            return _started(request, run)
    except Invalid as refusal:
        if wants_part(request):
            return render(request, "again/_refused.html", {"run": run, "text": refusal.message})
        messages.error(request, refusal.message)
        return redirect("run", run.code)
    return _shown(request, run, {})


def _check(run: Run) -> None:
    """:raises Invalid: it has no workflow, or one that cannot be run as it is."""
    if run.workflow is None:
        raise Invalid("This run has no workflow yet that could be run again. Have it planned again.")
    workers = {worker["slug"] for worker in services.pool_for(run)}
    if faults := graph.errors(graph.check(run.workflow, workers=workers, max_steps=services.MOST_STEPS)):
        raise Invalid(f"It cannot be run again as it is. {faults[0].message} Edit it first.")


def _started(request: HttpRequest, run: Run) -> HttpResponse:
    mode, by, now = request.POST.get("mode", ""), person(request), timezone.now()
    if mode not in MODES:
        raise Invalid("Choose how to run it again: reuse what is unchanged, or everything fresh.")
    key = key_of(request.POST.get("submit_key", ""), run.code, mode)
    # Pressed twice, one run: and what the first press has done may well have changed the preview.
    if key and (first := Run.objects.filter(owner=by, submit_key=key).only("code").first()):
        return redirect("run", first.code)
    seen = request.POST.get("seen", "")[:LONGEST_SEAL]
    offer = _offer(run, mode)
    changes = changes_since(seen, offer.preview)
    if changes:
        told = told_of(changes, offer.preview) if seen else []
        return _shown(request, run, {mode: told}, status=409 if seen else 200)
    workflow = offer.preview.workflow
    return redirect(
        "run",
        services.fork_run(
            parent=run, workflow=workflow, by=by, now=now, fresh=offer.preview.fresh, submit_key=key
        ).code,
    )


def _offer(run: Run, mode: str, *, changes: Mapping[str, list[str]] | None = None) -> Offer:
    assert run.workflow is not None
    fresh = run.workflow.keys if mode == "fresh" else ()
    preview = preview_of_fork(parent=run, workflow=run.workflow, fresh=fresh)
    return Offer(mode, preview, (changes or {}).get(mode, []))


def _shown(request: HttpRequest, run: Run, changes: Mapping[str, list[str]], *, status: int = 200) -> HttpResponse:
    context = {"run": run, "submit_key": request.POST.get("submit_key", "")[:64] or uuid4().hex}
    if wants_part(request) and request.GET.get("part") == "resume":
        return render(request, "again/_resume.html", context | {"offer": _offer(run, "reuse")})
    offers = [_offer(run, mode, changes=changes) for mode in MODES]
    template = "again/_menu.html" if wants_part(request) else "again/page.html"
    return render(request, template, context | {"offers": offers}, status=status)


urls: list[URLPattern] = [path("runs/<code>/again/", again, name="run-again")]
