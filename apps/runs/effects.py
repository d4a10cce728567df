"""What an edge did: a fork without it, held beside the run that it was made from."""

from dataclasses import dataclass
from decimal import Decimal

from apps.runs.models import Attempt, Run, Step, Variant
from apps.workflows.likeness import is_same_answer, likeness


@dataclass(frozen=True)
class Took:
    """What one step's result took when a worker was called for it, in whichever run that was."""

    tokens: int
    cost_usd: Decimal | None


def measure(variant: Variant) -> None:
    """Set what came of a variant's fork, which has ended."""
    fork = variant.fork
    if fork is None or fork.status == Run.Status.CANCELLED:
        variant.state = Variant.State.LEFT
        variant.note = "Its run was stopped." if fork is not None else "Its run is gone."
        return
    run = variant.experiment.run
    before, after = _steps(run), _steps(fork)
    variant.called = [key for key, step in after.items() if step.status in (Step.Status.SUCCEEDED, Step.Status.FAILED)]
    variant.changed = [key for key, step in after.items() if key in before and step.result != before[key].result]
    if fork.status != Run.Status.SUCCEEDED:
        variant.state, variant.note = Variant.State.FAILED, fork.error
        return
    variant.state = Variant.State.DONE
    variant.likeness = likeness(run.answer, fork.answer)
    variant.is_same_answer = is_same_answer(run.answer, fork.answer)
    variant.saved_tokens, variant.saved_usd = _saved(run, fork)


def _steps(run: Run) -> dict[str, Step]:
    return {step.key: step for step in run.steps.all()}


def _saved(run: Run, fork: Run) -> tuple[int, Decimal | None]:
    """What a whole run like `fork` takes less than one like `run`, whatever of them was reused."""
    before, after = took(run), took(fork)
    tokens = sum(each.tokens for each in before.values()) - sum(each.tokens for each in after.values())
    costs = [_cost(before), _cost(after)]
    return tokens, None if None in costs else (costs[0] or Decimal(0)) - (costs[1] or Decimal(0))


def _cost(steps: dict[str, Took]) -> Decimal | None:
    known = [each.cost_usd for each in steps.values()]
    return None if None in known else sum((usd for usd in known if usd is not None), Decimal(0))


def took(run: Run) -> dict[str, Took]:
    """What each result of a run took when it was asked for; of one that was taken over, where it came from."""
    answers = run.attempts.filter(status__in=[Attempt.Status.SUCCEEDED, Attempt.Status.REUSED])
    rows = answers.select_related("step", "source").defer("sent", "text", "source__sent", "source__text")
    asked = {attempt.step.key: attempt.source or attempt for attempt in rows.order_by("number")}
    return {key: Took(one.input_tokens + one.output_tokens, one.cost_usd) for key, one in asked.items()}
