"""A preview in words: what starting a workflow would do and cost, step by step, and what has changed since then."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from apps.runs.estimates import Change, Preview
from apps.runs.reckoning import NEVER_ASKED, UNBOUNDED, UNPRICED, Estimate
from apps.runs.reuse import Forecast
from apps.web.words.figures import plural, short_title, usd

MOST_TOLD = 8  # changes named one by one


@dataclass(frozen=True)
class Row:
    """One step of the preview."""

    number: int
    key: str
    title: str
    fate: Forecast
    likely: str
    most: str
    note: str

    @property
    def runs(self) -> bool:
        return self.fate.verdict == "run"

    @property
    def why(self) -> str:
        """`its context changes because step 2 runs; reused after all, should that answer as before`"""
        again = "; reused after all, should that answer as before" if self.fate.may_reuse else ""
        return self.fate.reason + again


def rows_of(preview: Preview) -> list[Row]:
    """Every step, in the order of the workflow."""
    return [_row(preview, number, fate) for number, fate in enumerate(preview.fates, start=1)]


def _row(preview: Preview, number: int, fate: Forecast) -> Row:
    title = short_title(preview.workflow.step(fate.step).instruction)
    estimate = preview.estimates.get(fate.step)
    if estimate is None:
        once = f"once {usd(fate.once_usd)}" if fate.once_usd else ""
        return Row(number, fate.step, title, fate, "$0", "$0", once)
    return Row(number, fate.step, title, fate, likely_of(estimate), most_of(estimate), _note(estimate))


def likely_of(estimate: Estimate) -> str:
    """`≈ $0.0042`; what cannot be told says so and is never nothing."""
    if estimate.likely_usd is None:
        return UNPRICED if estimate.unknown == UNPRICED else "unknown"
    return f"≈ {usd(estimate.likely_usd)}" if estimate.likely_usd else "$0"


def most_of(estimate: Estimate) -> str:
    if estimate.most_usd is None:
        return UNPRICED if estimate.unknown == UNPRICED else "no bound of its own"
    return usd(estimate.most_usd)


def _note(estimate: Estimate) -> str:
    tries = f"at most {plural(estimate.calls, 'call')}" if estimate.most_usd and estimate.calls > 1 else ""
    why = {NEVER_ASKED: "its worker has never answered yet", UNBOUNDED: "becomes a workflow of its own"}
    return ", ".join(filter(None, [estimate.basis, why.get(estimate.unknown, ""), tries]))


def button_of(preview: Preview) -> str:
    """`Run 2 steps, reuse 3`"""
    runs = len(preview.running)
    reuses = len(preview.fates) - runs
    if not runs:
        return f"Reuse all {plural(reuses, 'step')}"
    return f"Run {plural(runs, 'step')}" + (f", reuse {reuses}" if reuses else "")


def money_of(preview: Preview) -> str:
    """`likely ≈ $0.01, at most $0.04` for all that runs; empty where nothing does."""
    if not preview.running:
        return ""
    if preview.most_usd == 0:
        return "free"
    return f"{_likely(preview)}, {_most(preview)}"


def _likely(preview: Preview) -> str:
    if preview.likely_usd is None or not (preview.likely_usd or not preview.not_estimated):
        return "likely cost unknown"
    left_out = f" and {plural(preview.not_estimated, 'step')} nobody can tell of" if preview.not_estimated else ""
    return f"likely ≈ {usd(preview.likely_usd)}{left_out}"


def _most(preview: Preview) -> str:
    if preview.most_usd is None:
        unpriced = any(estimate.unknown == UNPRICED for estimate in preview.running)
        return "at most unknown: a price is" if unpriced else "with no limit"
    return f"at most {usd(preview.most_usd)}{_by_limit(preview)}"


def _by_limit(preview: Preview) -> str:
    """That the run's own limit is what bounds it."""
    alone = [estimate.most_usd for estimate in preview.running]
    total = None if None in alone else sum((each for each in alone if each is not None), Decimal(0))
    is_limit = preview.limit_usd is not None and (total is None or total > preview.limit_usd)
    return ", the run’s limit" if is_limit else ""


def told_of(changes: Sequence[Change], preview: Preview) -> list[str]:
    """What has changed since a preview, in sentences; of many the first ones, and how many more there are."""
    told = [sentence for change in changes for sentence in _told(change, preview)]
    more = [f"And {plural(len(told) - MOST_TOLD, 'more change')}."] if len(told) > MOST_TOLD else []
    return told[:MOST_TOLD] + more


def _told(change: Change, preview: Preview) -> Iterator[str]:
    if change.step is None:
        yield "The workflow, or what is to run fresh, was changed after this was worked out."
        return
    number = preview.workflow.position(change.step) + 1
    fate = next(fate for fate in preview.fates if fate.step == change.step)
    if change.was != change.now:
        was = "to be reused" if change.was == "reuse" else "to run"
        now = "would now be reused" if change.now == "reuse" else "would now run"
        yield f"Step {number} was {was} and {now}: {fate.reason}."
    elif change.now == "reuse":
        yield f"Step {number} would take another result by now: {fate.reason}."
    else:
        yield from _of_terms(change, number, preview)


def _of_terms(change: Change, number: int, preview: Preview) -> Iterator[str]:
    key = change.step or ""
    worker = preview.pool.get(preview.workflow.step(key).worker) or {}
    if change.terms:
        name = worker.get("name", "The worker")
        yield f"{name}, who is asked for step {number}, has changed: its model, settings or price."
    most, was = preview.estimates[key].most_usd, change.most_was
    if most != was:
        before = "and before nobody could tell" if was is None else f"not {usd(was)}"
        yield f"Step {number} can cost {'any sum' if most is None else f'{usd(most)} at most'}, {before}."
