"""Taking a run or a template along: its workflow as JSON or as three lists, a whole run as a page that replays."""

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.audit.log import Entry
from apps.core.errors import Conflict, Invalid
from apps.runs import log
from apps.runs.erased import check_not_erased
from apps.runs.models import Run
from apps.web.access import person, visible_run
from apps.web.keeping.replay import Replay, as_file
from apps.web.keeping.sharing import as_download
from apps.workflows.portable import Portable, as_json, as_lists

WRITERS: dict[str, Callable[[Portable], str]] = {"json": as_json, "lists": as_lists}


class NotExported(Conflict):
    """There is nothing yet that could be taken along."""


@require_safe
def export(request: HttpRequest, code: str) -> HttpResponse:
    """What can be taken along of a run; with `?as=json` or `?as=lists` its workflow as a file."""
    run = visible_run(request.user, code)
    check_not_erased(run)
    form = request.GET.get("as", "")
    if not form:
        return render(request, "saved/export.html", {"run": run, "workflow": run.workflow})
    if run.workflow is None:
        raise NotExported(f"Run {run.code} has no workflow yet that could be downloaded.")
    file = workflow_file(Portable(name=run.title[:100], task=run.task, workflow=run.workflow), form, f"run-{run.code}")
    note_export(run, form, by=person(request))
    return file


@require_safe
def replay(request: HttpRequest, code: str) -> HttpResponse:
    """The whole run as one file that replays offline."""
    run = visible_run(request.user, code)
    check_not_erased(run)
    if not run.is_ended:
        raise NotExported(f"Run {run.code} still goes on. Once it has ended, it can be downloaded.")
    file = as_file(Replay(run, now=timezone.now()))
    note_export(run, "replay", by=person(request))
    return as_download(file, name=f"conductor-run-{run.code}.html", kind="text/html")


def workflow_file(portable: Portable, form: str, name: str) -> HttpResponse:
    """The workflow in the form that is asked for.

    :raises Invalid: there is no such form, or lists cannot say it.
    """
    if form not in WRITERS:
        raise Invalid("A workflow is downloaded as “json” or as “lists”.")
    ending = "json" if form == "json" else "lists.json"
    return as_download(WRITERS[form](portable), name=f"conductor-{name}.{ending}", kind="application/json")


@transaction.atomic
def note_export(run: Run, form: str, *, by: User) -> None:
    """Say in the run's trail that it was taken along."""
    data: dict[str, Any] = {"as": form}
    log.append(run, [Entry("run.exported", data)], by=by.actor, at=timezone.now())


urls: list[URLPattern] = [
    path("runs/<code>/export/", export, name="run-export"),
    path("runs/<code>/replay/", replay, name="run-replay"),
]
