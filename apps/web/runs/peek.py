"""A look at one run beside the list: what it is, how it stands, how its answer begins, and its steps."""

from typing import Any

from django.db.models.functions import Left
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.runs.models import Run, Step
from apps.web.access import visible_run
from apps.web.runs.lines import Line, lines_of
from apps.web.words.figures import short_title
from apps.web.words.looks import Look, looks_of

STEPS = 12
TASK_CHARS = 400
ANSWER_CHARS = 1_200
READ_CHARS = 2_000  # of an instruction, for its title


@require_GET
def peek(request: HttpRequest, code: str) -> HttpResponse:
    run = visible_run(request.user, code)
    return render(request, "runs/_peek.html", context_of(run))


def context_of(run: Run) -> dict[str, Any]:
    [line] = lines_of(Run.objects.filter(pk=run.pk), limit=1, now=timezone.now())
    texts = Run.objects.filter(pk=run.pk).values_list(
        Left("task", TASK_CHARS + 1), Left("answer", ANSWER_CHARS + 1), Left("error", ANSWER_CHARS), "erased_at"
    )
    task, answer, error, erased_at = texts.get()
    return {
        "line": line,
        "run": line.run,
        "parent": run.parent,
        "task": _cut(task.removeprefix(line.run.title).strip(), TASK_CHARS),
        "answer": _cut(answer, ANSWER_CHARS),
        "error": error,
        "erased_at": erased_at,
        "tokens": line.run.input_tokens + line.run.output_tokens,
        "steps": _steps(line),
        "more": max(0, len(line.steps) - STEPS),
    }


def _steps(line: Line) -> list[tuple[Step, str, Look | None]]:
    """The first steps, each with its title and its worker."""
    looks = looks_of(line.run.pool)
    rows = Step.objects.filter(run=line.run).annotate(beginning=Left("instruction", READ_CHARS))
    rows = rows.only("key", "position", "worker", "status", "run_id")
    return [(step, short_title(step.beginning), looks.get(step.worker)) for step in rows[:STEPS]]


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit].rstrip() + "…"


urls: list[URLPattern] = [path("runs/<str:code>/peek/", peek, name="run-peek")]
