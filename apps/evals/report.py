"""The report of a rehearsal: one HTML file with its pictures in it, and the same figures as lines of text."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Any

from django.template.loader import render_to_string

from .charts import bars
from .contest import Comparison, Contest
from .pictures import VERDICTS, deltas, measures, plane, ranked
from .planning import Habits, habits
from .wording import between, difference, findings, interval, p_value, percent, usd


@dataclass(frozen=True)
class Setting:
    """How a rehearsal was set up, for the page and for whoever repeats it."""

    set_name: str
    n: int
    seed: int
    planners: tuple[str, ...]
    workers: tuple[str, ...]
    samples: int
    jobs: int
    speed: float
    at: datetime
    wall_s: float
    left_out: tuple[tuple[str, str], ...] = ()
    learnt: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """What to type to see the same again."""
        return (
            f"manage.py rehearse --set {self.set_name} --n {self.n} --planners {','.join(self.planners)} "
            f"--seed {self.seed} --samples {self.samples} --jobs {self.jobs} --speed {self.speed:g} "
            f"--workers {','.join(self.workers)}"
        )

    @property
    def pace(self) -> str:
        if self.speed == 0:
            return "without the delays of their models"
        return "at their models' pace" if self.speed == 1 else f"at {self.speed:g} times their models' pace"


SEEN = "If they learnt from tasks of this set and seed, they have seen the answers: then take another seed."


def page(contest: Contest, setting: Setting) -> str:
    """The whole report as one HTML file."""
    return render_to_string("evals/report.html", _context(contest, setting))


def _context(contest: Contest, setting: Setting) -> dict[str, Any]:
    return {
        "setting": setting,
        "seen": SEEN,
        "contest": contest,
        "findings": findings(contest),
        "measures": measures(contest),
        "deltas": deltas(contest),
        "plane": plane(contest),
        "kinds": _kinds(contest),
        "habits": list(_habits(contest)),
        "table": list(_table(contest)),
        "failures": list(_failures(contest)),
    }


def _kinds(contest: Contest) -> dict[str, Any]:
    """Accuracy by kind of task, as a table whose cells are shaded by it."""
    return {
        "names": contest.kinds,
        "rows": [
            {
                "name": each.entrant,
                "cells": [
                    {
                        "words": f"{each.by_kind[kind].value * 100:.0f}",
                        "shade": round(each.by_kind[kind].value ** 3 * 100),  # differences near the top show
                        "title": f"{interval(each.by_kind[kind])} of {each.by_kind[kind].n}",
                    }
                    for kind in contest.kinds
                ],
            }
            for each in ranked(contest)
        ],
    }


def _habits(contest: Contest) -> Iterator[dict[str, Any]]:
    """For every planner that asks a model for its workflow: how it planned."""
    for each in contest.of("planner"):
        found = habits(contest.outcomes[each.entrant])
        if found.valid_at_once is None:
            continue
        yield {
            "name": each.entrant,
            "lines": list(_habit_lines(found)),
            "steps": bars({str(steps): count for steps, count in found.steps.items()}, title="steps in a workflow"),
            "shapes": bars(found.shapes, title="shape: steps side by side → then → …", most=8),
        }


def _habit_lines(found: Habits) -> Iterator[str]:
    yield f"A workflow came of {percent(found.planned)} of the tasks"
    yield f"{percent(found.valid_at_once or 0)} were valid at the first reply"
    if found.right_when_planned is not None:
        yield f"{percent(found.right_when_planned)} of those with a workflow were right"
    if found.changed is not None:
        yield f"{percent(found.changed)} were changed or extended after their answer was seen"
    yield f"{percent(found.distinct_instructions)} of a workflow's instructions differ from each other"
    shares = ", ".join(f"{worker} {percent(share, 0)}" for worker, share in found.shares.items())
    yield f"Calls by worker: {shares}; routing entropy {found.entropy_bits:.2f} bits"


def _table(contest: Contest) -> Iterator[dict[str, Any]]:
    for each in ranked(contest):
        yield {
            "standing": each,
            "accuracy": percent(each.accuracy.value),
            "between": between(each.accuracy),
            "cost": usd(each.cost_usd.value),
            "regret": percent(each.regret),
            "single": _told(each.over_single),
            "samples": _told(each.over_samples, named=True),
        }


def _told(comparison: Comparison | None, *, named: bool = False) -> dict[str, str] | None:
    if comparison is None:
        return None
    ratio = f"at {comparison.cost_ratio:.2g} times its cost" if isfinite(comparison.cost_ratio) else "which was free"
    against = f"over {comparison.against}, " if named else ""
    return {
        "difference": difference(comparison),
        "detail": f"{against}{p_value(comparison.p)}",
        "ratio": ratio,
        "verdict": comparison.verdict,
        "tone": VERDICTS[comparison.verdict],
    }


def _failures(contest: Contest) -> Iterator[str]:
    """Runs that gave no answer, with the reason that the first of them gave."""
    for each in contest.standings:
        failed = [outcome for outcome in contest.outcomes[each.entrant] if outcome.status != "succeeded"]
        if failed:
            first = failed[0].error[:300] or failed[0].status
            yield f"{each.entrant}: {len(failed)} of {contest.n} runs gave no answer. The first: {first}"


def lines(contest: Contest, setting: Setting) -> Iterator[str]:
    """The same for a terminal."""
    yield f"{contest.n} tasks of the set “{setting.set_name}”, simulated workers {setting.pace}; means a task"
    yield ""
    yield (
        f"{'':34} {'right (95 %)':>24} {'tokens':>7} {'USD':>9} {'calls':>5} {'steps':>5} {'s':>6}  "
        f"{'over best single':>24}  {'over self-consistency for the same money'}"
    )
    for each in ranked(contest):
        single, samples = each.over_single, each.over_samples
        yield (
            f"{each.entrant[:34]:34} {interval(each.accuracy):>24} {each.tokens.value:7,.0f} "
            f"{usd(each.cost_usd.value):>9} {each.calls.value:5.1f} {each.steps.value:5.1f} "
            f"{each.latency_s.value:6.2f}  {difference(single) + _sign(single) if single else '':>24}  "
            f"{f'{difference(samples)}{_sign(samples)} × {samples.against}' if samples else ''}"
        ).rstrip()
    yield ""
    yield from findings(contest)
    yield from _failures(contest)
    for found in _habits(contest):
        yield f"{found['name']}: {'; '.join(found['lines'])}."
    if setting.learnt:
        yield f"Learnt before: {', '.join(setting.learnt)}. {SEEN}"
    for name, why in setting.left_out:
        yield f"Left out: {name}. {why}"


def _sign(comparison: Comparison) -> str:
    """A star where the data bear the difference out."""
    return " *" if comparison.verdict != "no difference shown" else "  "
