"""The page of two runs beside each other, and the one on which they are chosen."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.core.errors import NotFound
from apps.runs.erased import check_not_erased
from apps.runs.models import Run
from apps.web.access import person, visible_run
from apps.web.comparing.compared import Comparison
from apps.web.comparing.merged import merged
from apps.web.comparing.paired import Row
from apps.web.runs.lines import Line, lines_of
from apps.web.runs.page import visible_runs

ROWS = 25
RECENT = 20
LONGEST = 200  # characters of what is typed as a code, which may be an address
SHOWS = {"": "All steps", "changed": "Differences only", "unlike": "Same input, different output"}


class NoSuchPair(NotFound):
    """The two runs have no such step in common, and neither alone."""

    def __init__(self) -> None:
        super().__init__("These two runs have no such step beside each other. One of them may have gone on since.")


@dataclass(frozen=True)
class Asked:
    """What the address asks for. `only` is a step by its keys in A and B, or `task` or `answer`, to be shown whole."""

    a: str = ""
    b: str = ""
    show: str = ""
    start: int = 0
    only: str = ""

    @classmethod
    def of(cls, given: QueryDict) -> "Asked":
        start = given.get("from", "")
        # Two that were picked in a list, which has the newer one first.
        older, newer = [*reversed(given.getlist("pick")[:2]), "", ""][:2]
        return cls(
            a=code_in(given.get("a", older)),
            b=code_in(given.get("b", newer)),
            show=show if (show := given.get("show", "")) in SHOWS else "",
            start=int(start) if start.isascii() and start.isdigit() and len(start) < 6 else 0,
            only=given.get("only", "")[:LONGEST],
        )

    @property
    def url(self) -> str:
        given: Mapping[str, object] = {
            "a": self.a,
            "b": self.b,
            "show": self.show,
            "from": self.start,
            "only": self.only,
        }
        query = urlencode({name: value for name, value in given.items() if value}, safe=":")
        return f"{reverse('compare')}?{query}" if query else reverse("compare")

    def but(
        self, *, a: str | None = None, b: str | None = None, show: str | None = None, start: int = 0, only: str = ""
    ) -> str:
        """The address with other parameters; a page of a list is left with whatever else changes."""
        kept = {"a": self.a if a is None else a, "b": self.b if b is None else b}
        return Asked(**kept, show=self.show if show is None else show, start=start, only=only).url


@dataclass(frozen=True)
class Tab:
    """One way to filter the steps, and how many there are."""

    label: str
    url: str
    count: int
    is_current: bool


@dataclass(frozen=True)
class Candidate:
    """A run that can be chosen, and the address that chooses it."""

    line: Line
    url: str
    relation: str


def code_in(typed: str) -> str:
    """The code in what somebody typed or pasted: in capitals, with spaces around it, or the address of a run's page."""
    said = typed[:LONGEST].strip()
    _, is_address, rest = said.partition("/runs/")
    return (rest.partition("/")[0] if is_address else said).lower()


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """Two runs the person may see, `?a=` and `?b=`; a page to choose them on where one is missing or both are one."""
    asked = Asked.of(request.GET)
    a, b = (visible_run(request.user, code) if code else None for code in (asked.a, asked.b))
    if a is None or b is None or a == b:
        return _choose(request, asked, a or b)
    for run in (a, b):
        check_not_erased(run)
    comparison = Comparison(a, b, now=timezone.now())
    context = {
        "comparison": comparison,
        "asked": asked,
        "swap_url": replace(asked, a=b.code, b=a.code, only="", start=0).url,
        "back_url": asked.but(),
    }
    if asked.only:
        return render(request, "compare_runs/alone.html", context | _alone(comparison, asked))
    return render(request, "compare_runs/page.html", context | _page(comparison, asked))


def _page(comparison: Comparison, asked: Asked) -> dict[str, object]:
    chosen = {"": comparison.rows, "changed": comparison.changed, "unlike": comparison.unlike}
    rows = chosen[asked.show]
    page, rest = rows[asked.start : asked.start + ROWS], rows[asked.start + ROWS :]
    looks = comparison.a.standing.looks | comparison.b.standing.looks
    return {
        "tabs": [Tab(SHOWS[show], asked.but(show=show), len(chosen[show]), show == asked.show) for show in SHOWS],
        "shown": [(each, asked.but(only=each.row.at)) for each in comparison.shown(page)],
        "total": len(rows),
        "more_url": asked.but(start=asked.start + ROWS) if rest else "",
        "less_url": asked.but(start=max(0, asked.start - ROWS)) if asked.start else "",
        "task": comparison.task(),
        "task_url": asked.but(only="task"),
        "answer": comparison.answer(),
        "answer_url": asked.but(only="answer"),
        "merged": merged(comparison, url=lambda row: asked.but(only=row.at)),
        "workers": {slug: look.as_json() for slug, look in looks.items()},
    }


def _alone(comparison: Comparison, asked: Asked) -> dict[str, object]:
    """One text or step, whole."""
    if asked.only in ("task", "answer"):
        text = comparison.task(whole=True) if asked.only == "task" else comparison.answer(whole=True)
        return {"name": asked.only.capitalize(), "text": text}
    row = _named(comparison, asked.only)
    return {"name": f"Step {row.place}", "shown": comparison.shown([row], whole=True)[0]}


def _named(comparison: Comparison, at: str) -> Row:
    row = next((row for row in comparison.rows if row.at == at), None)
    if row is None:
        raise NoSuchPair
    return row


# --- choosing ------------------------------------------------------------------------------------------------------


def _choose(request: HttpRequest, asked: Asked, given: Run | None) -> HttpResponse:
    """The form, and the runs that could be meant; `given` is the one that is chosen already."""
    if given is not None and asked.a == asked.b:
        asked = replace(asked, b="")
        problem = f"Both are run {given.code}. Choose another one to compare it with."
    else:
        problem = ""
    context = {
        "asked": asked,
        "given": given,
        "missing": "A" if asked.b else "B" if asked.a else "",
        "problem": problem,
        "candidates": _candidates(person(request), asked, given),
    }
    return render(request, "compare_runs/choose.html", context)


def _candidates(user: User, asked: Asked, given: Run | None) -> list[Candidate]:
    """First those of the same lineage, then the newest."""
    runs = visible_runs(user)
    found: dict[int, Candidate] = {}
    if given is not None:
        runs = runs.exclude(pk=given.pk)
        root = given.lineage_root_id
        for line in lines_of(runs.filter(root=root) | runs.filter(pk=root), limit=RECENT, now=timezone.now()):
            found[line.run.pk] = Candidate(line, _with(asked, line.run), _relation(given, line.run))
    for line in lines_of(runs, limit=RECENT, now=timezone.now()):
        found.setdefault(line.run.pk, Candidate(line, _with(asked, line.run), ""))
    return list(found.values())


def _with(asked: Asked, run: Run) -> str:
    return asked.but(b=run.code) if asked.a else asked.but(a=run.code)


def _relation(given: Run, run: Run) -> str:
    if run.pk == given.parent_id:
        return "it was forked from this one"
    return "its fork" if run.parent_id == given.pk else "of the same lineage"


urls: list[URLPattern] = [path("compare/", compare, name="compare")]
