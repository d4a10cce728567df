"""What people think of an answer or of a step's result, under it, and the form in which they say so."""

from dataclasses import dataclass, field
from functools import cached_property

from django.db.models import Case, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from apps.accounts.models import User
from apps.accounts.roles import Deed
from apps.core.errors import Conflict, Invalid
from apps.runs.models import Attempt, Rating, Run, Step
from apps.runs.models.reviewed import HIGHEST, LOWEST
from apps.runs.rating import GIVES, rate_result, result_of, withdraw_rating
from apps.web.access import person, visible_run, wants_part
from apps.web.words.texts import Shown, shown

MOST_SHOWN = 20
# A correction begins with what is there, unless that is more than the page shows at first.
PREFILLED_CHARS, PREFILLED_LINES = 8_000, 100


@dataclass
class Form:
    """What was written of a result, and what is wrong with it."""

    score: str = ""
    correction: str = ""
    comment: str = ""
    errors: dict[str, str] = field(default_factory=dict)
    is_saved: bool = False


class Ratings:
    """What was said of one result, and what `user` may say: of a run's answer, or of what an `attempt` gave a step."""

    scores = range(LOWEST, HIGHEST + 1)
    highest = HIGHEST

    def __init__(
        self,
        run: Run,
        user: User,
        *,
        step: Step | None = None,
        attempt: Attempt | None = None,
        form: Form | None = None,
    ) -> None:
        self.run = run
        self.user = user
        self.step = step
        self.attempt = attempt
        self.given = form

    @property
    def key(self) -> str:
        return self.step.key if self.step else ""

    @property
    def anchor(self) -> str:
        return f"rating-{self.key or 'answer'}"

    @property
    def what(self) -> str:
        return "result" if self.step else "answer"

    @property
    def is_there(self) -> bool:
        """Whether there is something to be rated."""
        if self.run.erased_at is not None:
            return False
        if self.step:
            return self.attempt is not None and self.step.status in Step.DONE and self.attempt.status in GIVES
        return self.run.status == Run.Status.SUCCEEDED

    @cached_property
    def can_rate(self) -> bool:
        return self.is_there and Deed.ACT in self.user.deeds.get(self.run.project_id, ())

    @cached_property
    def rows(self) -> list[Rating]:
        """Everybody's, newest first, as far as they are shown; the person's own among them if there is one."""
        rows = Rating.objects.filter(run=self.run, attempt=self.attempt).select_related("by")
        own_first = Case(When(by=self.user, then=0), default=1)
        return list(rows.order_by(own_first, "-pk")[: MOST_SHOWN + 1])

    @property
    def others(self) -> list[Rating]:
        return [row for row in self.rows if row.by_id != self.user.pk][:MOST_SHOWN]

    @property
    def mine(self) -> Rating | None:
        return next((row for row in self.rows if row.by_id == self.user.pk), None)

    @property
    def form(self) -> Form:
        """As it was filled in; else what the person said before, a correction beginning with what is there."""
        if self.given and self.given.errors:
            return self.given
        mine, is_saved = self.mine, bool(self.given and self.given.is_saved)
        if mine is None:
            return Form(correction=self._prefilled, is_saved=is_saved)
        return Form(str(mine.score), mine.correction or self._prefilled, mine.comment, is_saved=is_saved)

    @property
    def score(self) -> int:
        """The one that is chosen; 0 where none is."""
        return int(self.form.score) if self.form.score in map(str, self.scores) else 0

    @property
    def rated(self) -> Shown:
        """The text that is rated, formatted."""
        return shown(self._text, whole=False, raw=False)

    @property
    def _prefilled(self) -> str:
        text = self._text
        return text if len(text) <= PREFILLED_CHARS and text.count("\n") < PREFILLED_LINES else ""

    @property
    def _text(self) -> str:
        return self.attempt.text if self.attempt else "" if self.step else self.run.answer


@require_POST
def rate(request: HttpRequest, code: str) -> HttpResponse:
    """Rate the answer, or the result of the step that `step` names; take that back, where the button says so."""
    run, by = visible_run(request.user, code), person(request)
    given = request.POST
    key = given.get("step", "").replace("\0", "")[:40]
    attempt = int(given["attempt"]) if given.get("attempt", "").isdecimal() and len(given["attempt"]) < 19 else None
    form = Form(given.get("score", ""), given.get("correction", ""), given.get("comment", ""))
    try:
        if given.get("withdraw"):
            withdraw_rating(run=run, step=key, attempt=attempt, by=by, now=timezone.now())
        else:
            _rate(run, key, attempt, form, by=by)
            form.is_saved = True
    except Invalid as refusal:
        form.errors[refusal.field or "score"] = refusal.message
    except Conflict as refusal:
        form.errors["score"] = refusal.message
    if not (wants_part(request) or form.errors):
        return redirect(_back_to(run, key))
    step = run.steps.filter(key=key).first() if key else None
    ratings = Ratings(run, by, step=step, attempt=_attempt(step, attempt), form=form)
    template = "run/_rating.html" if wants_part(request) else "run/rate.html"
    context = {"ratings": ratings, "back": _back_to(run, key)}
    return render(request, template, context, status=422 if form.errors else 200)


def _rate(run: Run, key: str, attempt: int | None, form: Form, *, by: User) -> None:
    score = int(form.score) if form.score.isascii() and form.score.isdigit() and len(form.score) < 3 else 0
    said = {"correction": form.correction, "comment": form.comment}
    rate_result(run=run, step=key, attempt=attempt, score=score, by=by, now=timezone.now(), **said)


def _attempt(step: Step | None, pk: int | None) -> Attempt | None:
    if step is None or pk is None:
        return result_of(step) if step else None
    return step.attempts.filter(pk=pk).first()


def _back_to(run: Run, key: str) -> str:
    return f"{reverse('run', args=[run.code])}{f'?step={key}' if key else ''}#{'panel' if key else 'answer'}"


urls: list[URLPattern] = [path("runs/<code>/rate/", rate, name="run-rate")]
