"""The conductors one may use: whether each can be reached, how it is set up, and how it has done."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.core.errors import NotFound
from apps.runs.models import Proposal, Run
from apps.web.access import person
from apps.web.pool.conducting import PERIODS, Doing
from apps.workers.calls import SECRETS
from apps.workers.models import Conductor, Health

MOST_CONDUCTORS = 100
WORDS = {"up": "Answers", "down": "Does not answer", "off": "Switched off", "unknown": "Not heard of yet"}


class NoSuchConductor(NotFound):
    """There is no such conductor, or it belongs to a project of others."""


@dataclass(frozen=True)
class Standing:
    """A conductor with its state: of what was heard of it, the latest counts."""

    conductor: Conductor
    called: Proposal | None  # the last call that ended

    @cached_property
    def looked(self) -> Health | None:
        return getattr(self.conductor, "health", None)

    @property
    def is_call_latest(self) -> bool:
        ended = self.called.finished_at if self.called else None
        return ended is not None and (self.looked is None or ended >= self.looked.at)

    @property
    def state(self) -> str:
        if not self.conductor.enabled:
            return "off"
        if self.is_call_latest and self.called is not None:
            return "down" if self.called.status == Proposal.Status.FAILED else "up"
        return "unknown" if self.looked is None else "up" if self.looked.is_up else "down"

    @property
    def words(self) -> str:
        return {"up": "Answers", "down": "Does not answer", "off": "Switched off", "unknown": "Not heard of yet"}[
            self.state
        ]

    @property
    def details(self) -> list[str]:
        said = []
        if self.called is not None and self.called.finished_at is not None:
            why = f": {self.called.error.rstrip('.')}" if self.called.error else ""
            came = f"failed{why}" if self.called.status == Proposal.Status.FAILED else "came whole"
            said.append(f"Its last call, at {self.called.finished_at:%d %b %H:%M:%S}, {came}.")
        if self.looked is not None:
            took = f" in {self.looked.latency_ms:,.0f} ms" if self.looked.latency_ms is not None else ""
            found = f"answered{took}" if self.looked.is_up else f"says: {self.looked.error}"
            said.append(
                f"Looked at {self.looked.at:%d %b %H:%M:%S}: it {found} (so since {self.looked.since:%d %b %H:%M})."
            )
        return said

    @property
    def setup(self) -> list[tuple[str, str]]:
        """How it is asked. Never a key; what looks like one in its parameters is taken out."""
        conductor = self.conductor
        params = ", ".join(f"{name} {value}" for name, value in sorted(conductor.params.items()))
        return [
            ("Endpoint", conductor.base_url or "litellm's own"),
            ("Model", conductor.model),
            ("Adapter", conductor.adapter or "none"),
            ("Encoding", conductor.get_encoding_display()),
            ("Sampling", SECRETS.sub("[removed]", params) or "as the endpoint likes"),
            ("Seed", "each run's own" if conductor.seed is None else str(conductor.seed)),
            ("Steps at most", "as the profile says" if conductor.max_steps is None else str(conductor.max_steps)),
            ("Examples", conductor.get_examples_display()),
            ("Workers' names", "shown" if conductor.reveal_names else "hidden: Model 0, Model 1, …"),
            ("Asked again", f"up to {conductor.attempts} times in all"),
            ("Prompt", f"version {conductor.prompt_version}"),
        ]


def standing_of(conductor: Conductor, runs: Any) -> Standing:
    """The state of one conductor, as far as `runs` tell."""
    ended = Proposal.objects.filter(conductor=conductor.slug, run__in=runs, finished_at__isnull=False)
    told = ended.filter(status__in=[Proposal.Status.VALID, Proposal.Status.INVALID, Proposal.Status.FAILED])
    return Standing(conductor, told.defer("sent", "raw").order_by("-pk").first())


@require_safe
def conductors(request: HttpRequest) -> HttpResponse:
    """All of them, a row each."""
    user = person(request)
    runs = Run.objects.visible_to(user)
    found = Conductor.objects.visible_to(user).select_related("health")[:MOST_CONDUCTORS]
    standings = [standing_of(conductor, runs) for conductor in found]
    return render(request, "conductors/page.html", {"standings": standings})


@require_safe
def conductor(request: HttpRequest, slug: str) -> HttpResponse:
    """One of them: health, setup, and how it has done in a period."""
    user = person(request)
    found = Conductor.objects.visible_to(user).select_related("health").filter(slug=slug.replace("\0", "")).first()
    if found is None:
        raise NoSuchConductor(f"There is no conductor {slug[:63]}, or it is not yours to see.")
    period = request.GET.get("period", "day")
    period = period if period in PERIODS else "day"
    context = {
        "standing": standing_of(found, Run.objects.visible_to(user)),
        "doing": Doing(found.slug, user=user, period=period, now=timezone.now()),
        "period": period,
        "periods": [(name, words) for name, (words, _) in PERIODS.items()],
    }
    return render(request, "conductors/conductor.html", context)


urls: list[URLPattern] = [
    path("conductors/", conductors, name="conductors"),
    path("conductors/<str:slug>/", conductor, name="conductor"),
]
