"""What an admin of the project does with a run that flow rules hold: approve it, with a reason."""

from dataclasses import dataclass
from uuid import uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_POST

from apps.core.errors import Conflict, Invalid
from apps.runs.excepting import OtherwiseHeld, except_run
from apps.runs.models import Run
from apps.web.access import person, visible_run, wants_part
from apps.web.posted import reason_in
from apps.web.run.holding import Filled
from apps.web.run.page import show
from apps.web.run.standing import Standing


@dataclass
class Approval(Filled):
    """The form as it was filled in, beside all that it was shown with."""

    seen: frozenset[str] = frozenset()


@require_POST
def approve_in_spite(request: HttpRequest, code: str) -> HttpResponse:
    """Let the run go on in spite of what holds it, and say why."""
    run = visible_run(request.user, code)
    form = Approval(reason_in(request.POST), seen=frozenset(request.POST.get("seen", "").split()))
    try:
        except_run(run=run, by=person(request), now=timezone.now(), reason=form.reason, seen=form.seen)
    except Invalid as refusal:
        form.errors["reason"] = refusal.message
    except OtherwiseHeld as refusal:
        form.errors["seen"], form.is_late = refusal.message, True
    except Conflict as refusal:
        if wants_part(request):
            raise
        messages.error(request, refusal.message)
    return _answered(request, run, form)


def _answered(request: HttpRequest, run: Run, form: Approval) -> HttpResponse:
    """The run that goes on; or what holds it with the form again: 422, or 409 where that was not what it was shown."""
    status = 200 if not form.errors else 409 if form.is_late else 422
    if not wants_part(request):
        return show(request, run, status=status, excepting=form) if form.errors else redirect("run", run.code)
    standing = Standing(Run.objects.get(pk=run.pk), now=timezone.now())
    context = {"standing": standing, "excepting": form, "submit_key": uuid4().hex}
    template = "run/_hold.html" if status == 422 else "run/_went_on.html"
    response = render(request, template, context, status=status)
    # Without these a page would show a refusal of this kind as a notice, and not as the form.
    response["HX-Retarget"], response["HX-Reswap"] = "#hold", "outerHTML"
    return response


urls: list[URLPattern] = [path("runs/<code>/except/", approve_in_spite, name="run-except")]
