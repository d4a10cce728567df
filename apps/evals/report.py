"""The report of a rehearsal: one HTML file with its pictures in it, and the same figures as lines of text."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import floor, isfinite, log10
from typing import Any

from django.template.loader import render_to_string

from .charts import Column, Mark, Point, Row, Tone, bars, rows_of_dots, scatter
from .contest import Comparison, Contest, Standing
from .planning import Habits, habits
from .stats import Estimate
from .wording import between, difference, findings, interval, p_value, percent, points, usd


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


TONES: dict[str, Tone] = {"worker": "muted", "planner": "accent", "samples": "plain"}
VERDICTS: dict[str, Tone] = {"better": "ok", "worse": "bad", "no difference shown": "plain"}


def page(contest: Contest, setting: Setting) -> str:
    """The whole report as one HTML file."""
    return render_to_string("evals/report.html", _context(contest, setting))


def _context(contest: Contest, setting: Setting) -> dict[str, Any]:
    return {
        "setting": setting,
        "contest": contest,
        "findings": findings(contest),
        "measures": _measures(contest, setting),
        "deltas": _deltas(contest),
        "plane": _plane(contest),
        "kinds": _kinds(contest),
        "habits": list(_habits(contest)),
        "table": list(_table(contest)),
        "failures": list(_failures(contest)),
    }


def _ranked(contest: Contest) -> list[Standing]:
    """Planners and workers by accuracy, the best first; self-consistency of each worker at the end."""
    order = {"worker": 0, "planner": 0, "samples": 1}
    return sorted(contest.standings, key=lambda each: (order[each.group], -each.accuracy.value, each.cost_usd.value))


def _measures(contest: Contest, setting: Setting) -> str:
    ranked = _ranked(contest)
    single = next((each for each in ranked if each.entrant == contest.best_single), None)
    lowest = min(each.accuracy.low or 0.0 for each in ranked)
    accuracy = Column(
        "right", _floor(lowest), 1.0, lambda share: f"{share * 100:.0f} %", single.accuracy.value if single else None
    )
    columns = [
        accuracy,
        _column("tokens", [each.tokens for each in ranked], lambda value: f"{value:,.0f}", 84, 50),
        _column("USD", [each.cost_usd for each in ranked], lambda value: f"{value:.2g}", 84, 64),
        _column("calls", [each.calls for each in ranked], lambda value: f"{value:.0f}", 64, 34),
        _column("steps", [each.steps for each in ranked], lambda value: f"{value:.0f}", 64, 34),
        _column("seconds", [each.latency_s for each in ranked], lambda value: f"{value:.2g}", 72, 40),
    ]
    rows = [
        Row(
            each.entrant,
            [
                _mark(each.accuracy, percent(each.accuracy.value)),
                _mark(each.tokens, f"{each.tokens.value:,.0f}"),
                _mark(each.cost_usd, usd(each.cost_usd.value)),
                _mark(each.calls, f"{each.calls.value:.1f}"),
                _mark(each.steps, f"{each.steps.value:.1f}"),
                _mark(each.latency_s, f"{each.latency_s.value:.2f}"),
            ],
            TONES[each.group],
        )
        for each in ranked
    ]
    return rows_of_dots(columns, [_toned(row) for row in rows], title="Every entrant, six measures a task")


def _floor(share: float) -> float:
    """The full tenth below."""
    return max(0.0, int(share * 10) / 10)


def _column(
    title: str, estimates: Sequence[Estimate], tick: Callable[[float], str], plot_w: int, words_w: int
) -> Column:
    highest = max(max(each.value, each.high or 0.0) for each in estimates)
    return Column(title, 0.0, _round_up(highest), tick, plot_w=plot_w, words_w=words_w)


def _round_up(value: float) -> float:
    """The next round number, so that the ends and the middle of an axis are short to write."""
    if value <= 0:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return next(step * power for step in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0) if step * power >= value)


def _mark(estimate: Estimate, words: str, tone: Tone = "plain") -> Mark:
    return Mark(estimate.value, estimate.low, estimate.high, words, tone)


def _toned(row: Row) -> Row:
    """The row with its marks in the row's own tone."""
    marks = [mark and Mark(mark.value, mark.low, mark.high, mark.words, row.tone) for mark in row.marks]
    return Row(row.label, marks, row.tone)


def _deltas(contest: Contest) -> str:
    """What each planner is right more often, in points, than the best single worker and than equal money buys."""
    ranked = [each for each in _ranked(contest) if each.group == "planner"]
    held = [each for one in ranked for each in (one.over_single, one.over_samples) if each]
    widest = max((abs(end) for each in held for end in (each.delta.low, each.delta.high)), default=0.1)
    reach = _round_up(widest)

    def column(title: str) -> Column:
        return Column(title, -reach, reach, lambda share: f"{share * 100:.0f}", 0.0, words_w=206, plot_w=216)

    rows = [
        Row(each.entrant, [_against(each.over_single), _against(each.over_samples, named=True)], "accent")
        for each in ranked
    ]
    columns = [
        column(f"points over the best single worker ({(contest.best_single or 'none').removeprefix('direct: ')})"),
        column("points over self-consistency for the same money"),
    ]
    return rows_of_dots(columns, rows, title="Differences in accuracy on the same tasks")


def _against(comparison: Comparison | None, *, named: bool = False) -> Mark | None:
    if comparison is None:
        return None
    delta = comparison.delta
    over = f" over {comparison.against.removeprefix('sim-')}" if named else ""
    words = f"{points(delta.value)}{over}, {p_value(comparison.p)}"
    return Mark(delta.value, delta.low, delta.high, words, VERDICTS[comparison.verdict])


def _plane(contest: Contest) -> str:
    spots = [
        Point(each.cost_usd.value, each.accuracy.value, each.entrant.removeprefix("direct: "), TONES[each.group])
        for each in contest.standings
        if each.group != "samples"
    ]
    curves = {
        f"{curve[-1].n} × {worker.removeprefix('sim-')}": [(samples.cost_usd, samples.accuracy) for samples in curve]
        for worker, curve in contest.curves.items()
    }
    title = "Accuracy over cost, with self-consistency of every worker as lines"
    return scatter(spots, curves, title=title, x_title="mean USD a task, logarithmic")


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
            for each in _ranked(contest)
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
    for each in _ranked(contest):
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
    for each in _ranked(contest):
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
    for name, why in setting.left_out:
        yield f"Left out: {name}. {why}"


def _sign(comparison: Comparison) -> str:
    """A star where the data bear the difference out."""
    return " *" if comparison.verdict != "no difference shown" else "  "
