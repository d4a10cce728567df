"""What an admin of the project does with a run that flow rules hold: approve it, with a reason."""

from uuid import uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_POST

from apps.core.errors import Conflict, Invalid
from apps.runs.excepting import except_run
from apps.runs.models import Run
from apps.web.access import person, visible_run, wants_part
from apps.web.posted import reason_in
from apps.web.run.holding import Filled
from apps.web.run.page import show
from apps.web.run.standing import Standing


@require_POST
def approve_in_spite(request: HttpRequest, code: str) -> HttpResponse:
    """Let the run go on in spite of what holds it, and say why."""
    run = visible_run(request.user, code)
    form = Filled(reason_in(request.POST))
    try:
        except_run(run=run, by=person(request), now=timezone.now(), reason=form.reason)
    except Invalid as refusal:
        form.errors["reason"] = refusal.message
    except Conflict as refusal:
        if wants_part(request):
            raise
        messages.error(request, refusal.message)
    status = 422 if form.errors else 200
    if wants_part(request):
        standing = Standing(Run.objects.get(pk=run.pk), now=timezone.now())
        context = {"standing": standing, "excepting": form, "submit_key": uuid4().hex}
        return render(request, "run/_hold.html" if form.errors else "run/_went_on.html", context, status=status)
    return show(request, run, status=status, excepting=form) if form.errors else redirect("run", run.code)


urls: list[URLPattern] = [path("runs/<code>/except/", approve_in_spite, name="run-except")]
