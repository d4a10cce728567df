"""The page on which a run's access edges are tried: one alone, or every one once, and what each did to the answer."""

from dataclasses import dataclass, field
from decimal import ROUND_UP, Decimal
from functools import cached_property
from uuid import uuid4

from django.contrib import messages
from django.db.models.functions import Length
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.models import User
from apps.core.errors import Conflict, Invalid, StudioError
from apps.runs import experiments
from apps.runs.estimates import Preview
from apps.runs.forecasts import MOST_EDGES, Edge, Forecasts, edges_of, most_at_once, summed
from apps.runs.models import Experiment, Run, Variant
from apps.web.access import person, visible_run
from apps.web.edges.progress import Progress
from apps.web.edges.ranked import Ends, Ranking, ends_of
from apps.web.posted import reason_in, usd_in
from apps.web.words.figures import plural, usd

CENT = Decimal("0.01")
GENEROUS = 4  # times what it will likely cost: enough for answers that turn out longer


@dataclass
class Form:
    """What somebody asks to be tried, as it was filled in, and what is wrong with it."""

    edges: list[str] = field(default_factory=list)
    baseline: bool = True
    limit_usd: str = ""
    reason: str = ""
    alone: str = ""
    error: str = ""
    error_at: str = ""

    @classmethod
    def of(cls, form: QueryDict) -> "Form":
        return cls(
            edges=form.getlist("edges")[: MOST_EDGES + 1],
            baseline=bool(form.get("baseline")),
            limit_usd=form.get("limit_usd", "").strip()[:40],
            reason=reason_in(form),
            alone=form.get("alone", "")[:100],
        )

    @property
    def chosen(self) -> list[Edge]:
        found = (each.partition(":") for each in self.edges)
        return [(source, reader) for source, _, reader in found]


@dataclass(frozen=True)
class Choice:
    """An edge that can be tried, and what that would take."""

    ends: Ends
    preview: Preview
    is_known: bool  # it was tried before: this would be another sample
    is_chosen: bool

    @property
    def runs(self) -> str:
        return plural(len(self.preview.estimates), "step")

    @property
    def likely(self) -> str:
        return "not known" if self.preview.likely_usd is None else usd(self.preview.likely_usd)


class Trying:
    """What can be tried on a run, for whoever looks at it."""

    def __init__(self, run: Run, form: Form, *, alone: str = "", is_fresh_form: bool = True) -> None:
        self.run = run
        self.form = form
        self.is_fresh_form = is_fresh_form
        self.asked_alone = alone

    @cached_property
    def problem(self) -> str:
        """Why nothing can be tried; empty where something can."""
        try:
            experiments.check_can_be_tried(self.run)
        except StudioError as refusal:
            return refusal.message
        return ""

    @cached_property
    def _forecasts(self) -> Forecasts:
        return Forecasts(self.run)

    @cached_property
    def edges(self) -> list[Edge]:
        """The edges that are offered: all of them, or of many those that carry the longest texts."""
        every, most = edges_of(self.run), most_at_once(self.run)
        if len(every) <= most:
            return every
        chars = dict(self.run.steps.values_list("key", Length("result")))
        longest = sorted(every, key=lambda edge: -chars.get(edge[0], 0))[:most]
        chosen = set(longest)
        return [edge for edge in every if edge in chosen]

    @property
    def all_edges(self) -> int:
        return len(edges_of(self.run))

    @cached_property
    def choices(self) -> list[Choice]:
        return [self._choice(edge) for edge in self.edges]

    def _choice(self, edge: Edge) -> Choice:
        ends = ends_of(self.run, self._forecasts.workflow, *edge)
        is_known = edge in self._forecasts.tried
        is_chosen = not is_known if self.is_fresh_form else ends.value in self.form.edges
        return Choice(ends, self._forecasts.of(edge), is_known, is_chosen)

    @cached_property
    def alone(self) -> Choice | None:
        """The one edge that the address names, if it is one."""
        source, _, reader = self.asked_alone.partition(":")
        return self._choice((source, reader)) if (source, reader) in edges_of(self.run) else None

    @cached_property
    def once_more(self) -> Preview:
        return self._forecasts.of(None)

    @cached_property
    def _all(self) -> tuple[Decimal | None, Decimal | None]:
        return summed([choice.preview for choice in self.choices if choice.is_chosen])

    @property
    def chosen(self) -> int:
        return sum(choice.is_chosen for choice in self.choices)

    @property
    def likely(self) -> str:
        return "not known" if self._all[0] is None else usd(self._all[0])

    @property
    def most(self) -> str:
        return "unknown" if self._all[1] is None else usd(self._all[1])

    @property
    def suggested(self) -> str:
        """A limit that will do in all likelihood; nothing where nobody can say."""
        chosen = [choice.preview for choice in self.choices if choice.is_chosen] if not self.alone else []
        previews = [self.alone.preview] if self.alone else [*chosen, self.once_more]
        likely, most = summed(previews)
        if likely is None or most is None:
            return ""
        least = max((each.most_usd or Decimal(0) for each in previews), default=Decimal(0))  # or it could not begin
        return str(min(most, max(likely * GENEROUS, least)).quantize(CENT, ROUND_UP))

    @property
    def wants_baseline(self) -> bool:
        """Whether the run once more is proposed: it is, until that was done."""
        return self.form.baseline if not self.is_fresh_form else not self.is_repeated

    @cached_property
    def is_repeated(self) -> bool:
        done = Variant.objects.filter(experiment__run=self.run, state=Variant.State.DONE, source="")
        return done.exists()

    @property
    def limit_usd(self) -> str:
        return self.suggested if self.is_fresh_form else self.form.limit_usd

    @property
    def otherwise(self) -> list[tuple[int, str]]:
        """By their numbers, steps that would come to something else though nothing is changed, and why."""
        forecasts = self._forecasts
        return [(forecasts.workflow.position(key) + 1, why) for key, why in forecasts.otherwise.items()]


@require_safe
def edges(request: HttpRequest, code: str) -> HttpResponse:
    """What is known of a run's edges, and what can be tried; `?edge=s1:s3` is about that one alone."""
    run = visible_run(request.user, code)
    trying = Trying(run, Form(), alone=request.GET.get("edge", "")[:100])
    return _page(request, trying, status=409 if trying.problem else 200)


def _page(request: HttpRequest, trying: Trying, *, status: int = 200) -> HttpResponse:
    context = {"trying": trying, "form": trying.form, "submit_key": uuid4().hex, **_results(request, trying.run)}
    return render(request, "edges/page.html", context, status=status)


def _results(request: HttpRequest, run: Run) -> dict[str, object]:
    ranking = Ranking(run, by_cost=request.GET.get("by") == "cost")
    progress = Progress(ranking.experiment) if ranking.experiment else None
    return {"run": run, "ranking": ranking, "progress": progress, "experiment": ranking.experiment}


@require_safe
def results(request: HttpRequest, code: str) -> HttpResponse:
    """The part that changes while an experiment is under way."""
    context = _results(request, visible_run(request.user, code))
    progress = context["progress"]
    known = request.GET.get("tried", "")
    is_news = isinstance(progress, Progress) and known != f"{progress.tried}-{progress.experiment.status}"
    return render(request, "edges/_results.html", context | {"is_news": is_news, "is_part": True})


@require_POST
def try_edges(request: HttpRequest, code: str) -> HttpResponse:
    """Begin an experiment; of one edge alone, its run is where the person wants to be."""
    run, form = visible_run(request.user, code), Form.of(request.POST)
    if form.alone:
        form.edges, form.baseline = [form.alone], False
    try:
        experiment = _begin(run, form, by=person(request))
    except Invalid as refusal:
        form.error, form.error_at = refusal.message, refusal.field or ""
        return _again(request, run, form, status=422)
    except Conflict as refusal:
        form.error = refusal.message
        return _again(request, run, form, status=409)
    fork = experiment.variants.filter(fork__isnull=False).select_related("fork").first() if form.alone else None
    return redirect("run", fork.fork.code) if fork and fork.fork else _to(run)


def _begin(run: Run, form: Form, *, by: User) -> Experiment:
    limit_usd = usd_in(form.limit_usd, field="limit_usd")
    if limit_usd is None:
        raise Invalid("Say what it may cost at most.", field="limit_usd")
    return experiments.start_experiment(
        run=run,
        edges=form.chosen,
        baseline=form.baseline,
        limit_usd=limit_usd,
        by=by,
        now=timezone.now(),
        reason=form.reason,
    )


def _again(request: HttpRequest, run: Run, form: Form, *, status: int) -> HttpResponse:
    trying = Trying(run, form, alone=form.alone, is_fresh_form=False)
    return _page(request, trying, status=status)


@require_POST
def stop(request: HttpRequest, code: str) -> HttpResponse:
    """Stop the experiment under way."""
    run = visible_run(request.user, code)
    going = run.experiments.filter(status=Experiment.Status.RUNNING).first()
    try:
        if going is None:
            raise Conflict("No experiment on this run is under way any more.")
        experiments.stop_experiment(
            experiment=going, by=person(request), now=timezone.now(), reason=reason_in(request.POST)
        )
    except Conflict as refusal:
        messages.error(request, refusal.message)
    return _to(run)


def _to(run: Run) -> HttpResponseRedirect:
    return redirect(f"{reverse('run-edges', args=[run.code])}#results")


urls: list[URLPattern] = [
    path("runs/<code>/edges/", edges, name="run-edges"),
    path("runs/<code>/edges/results/", results, name="run-edges-results"),
    path("runs/<code>/edges/try/", try_edges, name="run-edges-try"),
    path("runs/<code>/edges/stop/", stop, name="run-edges-stop"),
]
