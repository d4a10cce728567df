"""The pictures of a rehearsal's report: six measures of every entrant, what planning adds, and accuracy over cost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor, log10

from .charts import Column, Mark, Point, Row, Tone, rows_of_dots, scatter
from .contest import Comparison, Contest, Standing
from .stats import Estimate
from .wording import p_value, percent, points, usd

TONES: dict[str, Tone] = {"worker": "muted", "planner": "accent", "samples": "plain"}
VERDICTS: dict[str, Tone] = {"better": "ok", "worse": "bad", "no difference shown": "plain"}


def ranked(contest: Contest) -> list[Standing]:
    """Planners and workers by accuracy, the best first; self-consistency of each worker at the end."""
    order = {"worker": 0, "planner": 0, "samples": 1}
    return sorted(contest.standings, key=lambda each: (order[each.group], -each.accuracy.value, each.cost_usd.value))


@dataclass(frozen=True)
class Measure:
    """One column of the first picture: where its figures are, and how a tick and a figure are written."""

    title: str
    of: Callable[[Standing], Estimate]
    tick: str
    words: Callable[[float], str]
    plot_w: int
    words_w: int


MEASURES = (
    Measure("tokens", lambda each: each.tokens, ",.0f", lambda value: f"{value:,.0f}", 84, 50),
    Measure("USD", lambda each: each.cost_usd, ".2g", usd, 84, 64),
    Measure("calls", lambda each: each.calls, ".0f", lambda value: f"{value:.1f}", 64, 34),
    Measure("steps", lambda each: each.steps, ".0f", lambda value: f"{value:.1f}", 64, 34),
    Measure("seconds", lambda each: each.latency_s, ".2g", lambda value: f"{value:.2f}", 72, 40),
)


def measures(contest: Contest) -> str:
    """Every entrant with the share it got right and its means a task."""
    order = ranked(contest)
    columns = [_accuracy(contest, order), *(_column(measure, order) for measure in MEASURES)]
    rows = [
        Row(
            each.entrant,
            [
                _mark(each.accuracy, percent(each.accuracy.value), TONES[each.group]),
                *(_mark(m.of(each), m.words(m.of(each).value), TONES[each.group]) for m in MEASURES),
            ],
            TONES[each.group],
        )
        for each in order
    ]
    return rows_of_dots(columns, rows, title="Every entrant, six measures a task")


def _accuracy(contest: Contest, order: Sequence[Standing]) -> Column:
    lowest = min(each.accuracy.low or 0.0 for each in order)
    best = next((each.accuracy.value for each in order if each.entrant == contest.best_single), None)
    return Column("right", floor(lowest * 10) / 10, 1.0, lambda share: f"{share * 100:.0f} %", best)


def _column(measure: Measure, order: Sequence[Standing]) -> Column:
    highest = max(measure.of(each).high or measure.of(each).value for each in order)
    return Column(
        measure.title,
        0.0,
        _round_up(highest),
        lambda value: format(value, measure.tick),
        plot_w=measure.plot_w,
        words_w=measure.words_w,
    )


def _round_up(value: float) -> float:
    """The next round number, so that the ends and the middle of an axis are short to write."""
    if value <= 0:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return next(step * power for step in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0) if step * power >= value * 0.999)


def _mark(estimate: Estimate, words: str, tone: Tone) -> Mark:
    return Mark(estimate.value, estimate.low, estimate.high, words, tone)


def deltas(contest: Contest) -> str:
    """What each planner is right more often, in points, than the best single worker and than equal money buys."""
    order = [each for each in ranked(contest) if each.group == "planner"]
    held = [each for one in order for each in (one.over_single, one.over_samples) if each]
    widest = max((abs(end) for each in held for end in (each.delta.low, each.delta.high)), default=0.1)
    reach = _round_up(widest)

    def column(title: str) -> Column:
        return Column(title, -reach, reach, lambda share: f"{share * 100:.0f}", 0.0, words_w=206, plot_w=216)

    rows = [
        Row(each.entrant, [_against(each.over_single), _against(each.over_samples, named=True)], "accent")
        for each in order
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


def plane(contest: Contest) -> str:
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
