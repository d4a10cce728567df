"""Trying a worker from its page: a real short call whose reply streams there, and letting it be called at once."""

from dataclasses import dataclass
from functools import cached_property
from uuid import uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.models import User
from apps.core.errors import Invalid, Unavailable
from apps.runs import trying
from apps.runs.models import TRIAL, Attempt, Run, Step
from apps.web.access import NoSuchRun, person, visible_run, wants_part
from apps.web.pool.reports import doors_client, visible_worker
from apps.web.posted import key_of
from apps.workers.models import Worker


@dataclass(frozen=True)
class Trial:
    """A run that tries a worker, as its page tells of it."""

    run: Run

    @cached_property
    def step(self) -> Step | None:
        return self.run.steps.first()

    @cached_property
    def call(self) -> Attempt | None:
        """The one call; of a run that a driver lost and another carried on, the last."""
        return self.run.attempts.select_related("run").last()

    @property
    def waits(self) -> str:
        """Why the call is not made yet."""
        if self.run.status == Run.Status.HELD:
            return "held at a limit of money: its page says which"
        if self.run.status == Run.Status.QUEUED:
            return "waiting for a driver"
        is_waiting = self.step is not None and not self.run.is_ended and (self.call is None or self.step.note)
        return (self.step.note or "about to be called") if self.step and is_waiting else ""

    @property
    def error(self) -> str:
        """The provider's own words; where the call was not even made, why not."""
        if self.run.status != Run.Status.FAILED:
            return ""
        return (self.call.error if self.call else "") or (self.step.note if self.step else "") or self.run.error

    @property
    def is_writing(self) -> bool:
        return self.call is not None and self.call.status == Attempt.Status.RUNNING


def trial_of(worker: Worker, code: str, user: User) -> Trial:
    """The trial called `code`.

    :raises NoSuchRun: there is no such run, or it tries another worker or none.
    """
    run = visible_run(user, code)
    if run.profile != TRIAL or worker.slug not in run.pool:
        raise NoSuchRun(code)
    return Trial(run)


@require_POST
def test(request: HttpRequest, slug: str) -> HttpResponse:
    """Begin one."""
    user = person(request)
    worker = visible_worker(user, slug)
    key = key_of(request.POST.get("submit_key", ""), "test", slug)
    try:
        run = trying.try_worker(worker=worker, by=user, now=timezone.now(), submit_key=key)
    except Invalid as refusal:
        if wants_part(request):
            raise
        messages.error(request, refusal.message)
        return redirect("worker", slug)
    if not wants_part(request):
        return redirect(f"{reverse('worker', args=[slug])}?test={run.code}#test")
    return _part(request, worker, Trial(run))


@require_safe
def tested(request: HttpRequest, slug: str, code: str) -> HttpResponse:
    """How one goes: the part of the worker's page."""
    user = person(request)
    worker = visible_worker(user, slug)
    return _part(request, worker, trial_of(worker, code, user))


def _part(request: HttpRequest, worker: Worker, trial: Trial) -> HttpResponse:
    may_try = trying.may_try(worker=worker, by=person(request))
    context = {"worker": worker, "trial": trial, "may_try": may_try, "submit_key": uuid4().hex}
    return render(request, "workers/_test.html", context)


@require_POST
def try_now(request: HttpRequest, slug: str) -> HttpResponse:
    """Let the worker be called at once that is left alone or pauses."""
    user = person(request)
    worker = visible_worker(user, slug)
    try:
        trying.forgive_worker(worker=worker, client=doors_client(), by=user, now=timezone.now())
        messages.success(request, f"{worker.name} is called again from now on.")
    except Unavailable as refusal:
        messages.error(request, refusal.message)
    return redirect("worker", slug)


urls: list[URLPattern] = [
    path("workers/<str:slug>/test/", test, name="worker-test"),
    path("workers/<str:slug>/test/<code>/", tested, name="worker-tested"),
    path("workers/<str:slug>/try-now/", try_now, name="worker-try-now"),
]
