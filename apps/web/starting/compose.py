"""Where a task is written and handed in."""

import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_http_methods

from apps.accounts.models import Project, User
from apps.accounts.roles import Deed
from apps.core.errors import Denied, Invalid
from apps.runs.models import Run
from apps.runs.services import MOST_STEPS, clean_task, project_of, submit_run
from apps.runs.templates import draw_run
from apps.web.access import person, wants_part
from apps.web.health import is_driver_seen
from apps.web.posted import key_of, usd_in
from apps.web.runs.lines import lines_of
from apps.web.runs.page import visible_runs
from apps.web.starting.carries import AGAIN, Carries, tags_offered
from apps.web.starting.choices import choices_of, offered_by
from apps.workers.found import Found, keys_not_taken
from apps.workers.models import Profile

RECENT = 8
CARDS = 4  # profiles shown as cards; of more a list is made
MOST_ROUNDS = 5
MOST_PROJECTS = 200
MOST_WORKERS = 200
LONGEST_SLUG = 40
LIMITS = ("max_steps", "rounds", "limit_usd", "workers")  # in the fold
FIELDS = ("task", "project", "profile", "attachments", "tags", *LIMITS, "unknown_price")

EXAMPLES = {
    "1": (
        "A table to compare",
        "Which region grew most from Q1 to Q4 in per cent, and by how much? One decimal place.\n\n"
        "Region,Q1,Q2,Q3,Q4\nNorth,120,135,128,160\nSouth,98,110,143,150\nEast,210,190,205,198\nWest,75,92,88,101",
    ),
    "2": (
        "A puzzle to try and check",
        "Using each of 3, 7, 25, 50 at most once and the operations + - * /, reach 372. Give one expression.",
    ),
    "3": (
        "A sum in several steps",
        "Ticket prices: adult 14.50, student 9.00, child 6.50. Family A: 2 adults, 3 children. "
        "Family B: 1 adult, 2 students, 2 children. Who pays more, and how much more?",
    ),
}


@dataclass
class TaskForm:
    """The form as it was filled in, and what is wrong with it, by field."""

    task: str = ""
    project: str = ""  # none: the person's own
    profile: str = ""
    review: bool = False
    draws: bool = False  # the workflow is drawn by the person, from scratch
    max_steps: str = ""
    rounds: str = ""
    limit_usd: str = ""
    workers: tuple[str, ...] = ()  # none ticked: as the profile says
    unknown_price: bool = False
    carries: Carries = field(default_factory=Carries)
    submit_key: str = field(default_factory=lambda: uuid.uuid4().hex)
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, posted: QueryDict) -> "TaskForm":
        return cls(
            task=posted.get("task", ""),
            project=posted.get("project", "")[:LONGEST_SLUG],
            profile=posted.get("profile", ""),
            review=bool(posted.get("review")),
            draws=posted.get("how") == "draw",
            max_steps=posted.get("max_steps", "").strip(),
            rounds=posted.get("rounds", "").strip(),
            limit_usd=posted.get("limit_usd", "").strip(),
            unknown_price=bool(posted.get("unknown_price")),
            workers=tuple(dict.fromkeys(posted.getlist("workers")))[:MOST_WORKERS],
            submit_key=posted.get("submit_key", "")[:64] or uuid.uuid4().hex,
        )

    @property
    def key(self) -> str | None:
        limits = (self.max_steps, self.rounds, self.limit_usd, *self.workers)
        how = "draw" if self.draws else str(self.review)
        return key_of(self.submit_key, self.task, self.project, self.profile, how, self.carries.written, *limits)

    def refuse(self, refusal: Invalid) -> None:
        """Note what is wrong; what no field of the form is to blame for is said at the profile, where it is set."""
        field = refusal.field or "task"
        self.errors[field if field in FIELDS else "profile"] = refusal.message

    @property
    def first(self) -> str:
        """The field to begin with: the first that has an error, else the task."""
        return next((name for name in FIELDS if name in self.errors), "task")

    @property
    def has_limits(self) -> bool:
        """Whether the fold with the limits is to be open."""
        is_given = self.max_steps or self.rounds or self.limit_usd or self.workers
        return bool(is_given) or not self.errors.keys().isdisjoint(LIMITS)

    @property
    def asks_about_prices(self) -> bool:
        """Whether somebody must say, or has said, that what it costs may stay unknown."""
        return self.unknown_price or "unknown_price" in self.errors

    def checked_max_steps(self) -> int | None:
        """The limit that was asked for; none where the field was left empty.

        :raises Invalid: it is no number of steps.
        """
        message = f"Give a number of steps from 1 to {MOST_STEPS}, or leave it empty."
        return _number(self.max_steps, MOST_STEPS, Invalid(message, field="max_steps"))

    def checked_rounds(self) -> int | None:
        """The rounds that were asked for; none where the field was left empty.

        :raises Invalid: it is no number of rounds.
        """
        message = f"Give a number of rounds from 1 to {MOST_ROUNDS}, or leave it empty."
        return _number(self.rounds, MOST_ROUNDS, Invalid(message, field="rounds"))

    def checked_limit_usd(self) -> Decimal | None:
        """What it may cost; none where the field was left empty.

        :raises Invalid: it is no sum of money.
        """
        return usd_in(self.limit_usd, field="limit_usd")


def _number(given: str, most: int, refusal: Invalid) -> int | None:
    if not given:
        return None
    if given.isascii() and given.isdigit() and 1 <= int(given[:9]) <= most:
        return int(given)
    raise refusal


def check(form: TaskForm) -> None:
    """Note what is wrong with every field, so that nobody corrects one to hear of the next."""
    task, limits = partial(clean_task, form.task), (form.checked_max_steps, form.checked_rounds, form.checked_limit_usd)
    for checked in (task, *limits):
        try:
            checked()
        except Invalid as refusal:
            form.refuse(refusal)


def submit(form: TaskForm, *, by: User) -> Run:
    """Hand the task in.

    :raises Invalid: with the field that is at fault. :raises Denied: to whom no project belongs.
    """
    project = project_in(form, by=by)
    profile = Profile.objects.usable_in(project).enabled().filter(slug=form.profile.replace("\0", "")).first()
    if profile is None:
        raise Invalid("There is no such profile any more. Choose another one.", field="profile")
    task, labels = form.carries.attached_to(form.task)
    if form.draws:
        return draw_run(
            task=task,
            labels=labels,
            profile=profile,
            by=by,
            now=timezone.now(),
            project=project,
            workers=form.workers,
            limit_usd=form.checked_limit_usd(),
            unknown_price_ok=form.unknown_price,
            submit_key=form.key,
        )
    return submit_run(
        task=task,
        labels=labels,
        profile=profile,
        by=by,
        now=timezone.now(),
        project=project,
        max_steps=form.checked_max_steps(),
        rounds=form.checked_rounds(),
        workers=form.workers or None,
        limit_usd=form.checked_limit_usd(),
        unknown_price_ok=form.unknown_price,
        review=True if form.review else None,  # unticked, the profile decides
        submit_key=form.key,
    )


def project_in(form: TaskForm, *, by: User) -> Project:
    """The project that the form names, if the person may start runs there; theirs, where it names none.

    :raises Invalid: they may not, or there is none. :raises Denied: they may nowhere.
    """
    if not form.project:
        return project_of(by)
    found = Project.objects.where(by, Deed.ACT).filter(slug=form.project.replace("\0", "")).first()
    if found is None:
        raise Invalid("You can start no runs in that project. Choose another one.", field="project")
    return found


@require_http_methods(["GET", "HEAD", "POST"])
def compose(request: HttpRequest) -> HttpResponse:
    """The page one starts from. For htmx, the recent runs on it."""
    user = person(request)
    if request.method == "POST":
        form = TaskForm.of(request.POST)
        form.carries = Carries.of(request)
        if request.POST.get("how") == "project":  # another one was chosen: what it offers is shown
            return _page(request, user, form)
        check(form)
        try:
            if not form.errors:
                return redirect("run-edit" if form.draws else "run", submit(form, by=user).code)
        except Invalid as refusal:
            form.refuse(refusal)
        if form.carries.files:
            form.errors.setdefault("attachments", AGAIN)
        return _page(request, user, form, status=422)
    if wants_part(request):
        return _recent(request, user)
    _, example = EXAMPLES.get(request.GET.get("example", ""), ("", ""))
    return _page(request, user, TaskForm(task=example))


def _page(request: HttpRequest, user: User, form: TaskForm, *, status: int = 200) -> HttpResponse:
    project = _project(form, user)
    choices = choices_of(project) if project else []
    if form.profile not in {choice.slug for choice in choices}:
        form.profile = next((choice.slug for choice in choices if choice.pool), "")
    context = {
        "form": form,
        "choices": choices,
        "offered": offered_by(choices),
        "as_cards": len(choices) <= CARDS,
        "can_run": any(choice.pool for choice in choices),
        "has_driver": is_driver_seen(),
        "found": _found_keys(user),
        "examples": [(number, *example) for number, example in EXAMPLES.items()],
        "tags": tags_offered(project),
        "most_steps": MOST_STEPS,
        "most_rounds": MOST_ROUNDS,
        "project": project,
        "projects": list(Project.objects.where(user, Deed.ACT)[:MOST_PROJECTS]),
        "only_seen": None if project else Project.objects.visible_to(user).first(),
        "lines": lines_of(visible_runs(user), limit=RECENT, now=timezone.now()),
    }
    response = render(request, "compose/page.html", context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _found_keys(user: User) -> list[Found]:
    """Keys in the environment that no worker was made from yet, for whoever may make some."""
    if not user.has_perms(["workers.add_worker", "workers.add_credential"]):
        return []
    return keys_not_taken(today=timezone.now().date())


def _recent(request: HttpRequest, user: User) -> HttpResponse:
    context = {"lines": lines_of(visible_runs(user), limit=RECENT, now=timezone.now())}
    response = render(request, "compose/_recent.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _project(form: TaskForm, user: User) -> Project | None:
    """The project whose profiles are offered; None for whoever may start runs in none."""
    try:
        return project_in(form, by=user)
    except Invalid as refusal:
        form.refuse(refusal)
        form.project = ""
        return _project(form, user)
    except Denied:
        return None
