"""The edges of a run that were tried, for a page: what each did to the answer, the greatest effect first."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from urllib.parse import urlencode

from django.urls import reverse

from apps.runs.models import Experiment, Run, Variant
from apps.web.figures import listed, plural, short_title, usd
from apps.workflows.workflow import Workflow

MOST_ROWS = 400
NAMED = 6

State = Variant.State


@dataclass(frozen=True)
class End:
    """One end of an edge."""

    key: str
    number: int
    title: str


@dataclass(frozen=True)
class Ends:
    """An edge as a page names it: `2 → 5`, with the titles of both steps."""

    run: Run
    source: End
    reader: End

    @property
    def value(self) -> str:
        return f"{self.source.key}:{self.reader.key}"

    @property
    def name(self) -> str:
        return f"{self.source.number} → {self.reader.number}"

    @property
    def graph_url(self) -> str:
        """The run's page, with the text open that passed."""
        return f"{reverse('run', args=[self.run.code])}?{urlencode({'edge': self.value}, safe=':')}"

    @property
    def alone_url(self) -> str:
        """The page on which this edge alone can be switched off."""
        return f"{reverse('run-edges', args=[self.run.code])}?{urlencode({'edge': self.value}, safe=':')}"


def ends_of(run: Run, workflow: Workflow, source: str, reader: str) -> Ends:
    """The edge from `source` to `reader`, both steps of `workflow`."""

    def end(key: str) -> End:
        return End(key, workflow.position(key) + 1, short_title(workflow.step(key).instruction))

    return Ends(run, end(source), end(reader))


@dataclass(frozen=True)
class Row:
    """One edge that was tried, and what the run came to without it."""

    ends: Ends
    variant: Variant
    workflow: Workflow
    by_itself: float | None  # how like its own answer the run's was when it was repeated without a change

    @property
    def fork(self) -> Run | None:
        return self.variant.fork

    @property
    def failed(self) -> bool:
        return self.variant.state == State.FAILED

    @property
    def effect(self) -> float:
        """How far the answer went from what it was, from 0 to 1; a run that fails has none at all."""
        return 1.0 if self.failed or self.variant.likeness is None else 1.0 - self.variant.likeness

    @property
    def bar(self) -> str:
        """The effect as a width of 100; one that can be seen where there is any."""
        return f"{max(self.effect * 100, 1.0) if self.effect else 0:.1f}"

    @property
    def alike(self) -> str:
        return percent(1.0 - self.effect)

    @property
    def says(self) -> str:
        """What the answer is without the edge."""
        if self.failed:
            return "no answer"
        if self.variant.likeness == 1.0:
            return "the same text"
        return "the same answer, in other words" if self.variant.is_same_answer else "another answer"

    @property
    def kind(self) -> str:
        if self.failed:
            return "failed"
        return "same" if self.variant.is_same_answer or self.variant.likeness == 1.0 else "other"

    @property
    def is_within_noise(self) -> bool:
        """Whether the answer went no farther than it does by itself."""
        return not self.failed and self.by_itself is not None and self.effect <= 1.0 - self.by_itself

    @property
    def changed(self) -> str:
        """The steps that came to another result, in words."""
        numbers = sorted(self.workflow.position(key) + 1 for key in self.variant.changed if key in self.workflow.keys)
        if not numbers:
            return "none"
        if len(numbers) > NAMED:
            return plural(len(numbers), "step")
        return f"step{'' if len(numbers) == 1 else 's'} {listed(numbers)}"

    @property
    def saves_tokens(self) -> str:
        saved = self.variant.saved_tokens
        return "–" if saved is None else f"{_minus(saved)}{abs(saved):,}"

    @property
    def saves_usd(self) -> str:
        saved = self.variant.saved_usd
        if saved is None:
            return "–" if self.failed else "price unknown"
        return f"{_minus(saved)}{usd(abs(saved))}"

    @property
    def compare_url(self) -> str:
        assert self.fork is not None, "only a fork that there is can be compared"
        return f"{reverse('compare')}?{urlencode({'a': self.ends.run.code, 'b': self.fork.code})}"


def percent(share: float) -> str:
    """`94 %`; of what is nearly all or nearly nothing it never says that it is."""
    rounded = round(share * 100)
    if rounded == 100 and share < 1:
        return "over 99 %"
    return "under 1 %" if rounded == 0 and share > 0 else f"{rounded} %"


def _minus(value: Decimal | int) -> str:
    return "−" if value < 0 else ""


class Ranking:
    """What is known of a run's edges, from all the experiments that were made on it."""

    def __init__(self, run: Run, *, by_cost: bool = False) -> None:
        self.run = run
        self.by_cost = by_cost
        self.workflow = run.workflow or Workflow(steps=())

    @cached_property
    def _variants(self) -> list[Variant]:
        """The latest of each edge that came to something."""
        over = Variant.objects.filter(experiment__run=self.run, state__in=[State.DONE, State.FAILED])
        latest = over.order_by("source", "reader", "-pk").distinct("source", "reader").select_related("fork")
        return list(latest.defer("fork__task", "fork__setup", "fork__workflow_body")[:MOST_ROWS])

    @cached_property
    def baseline(self) -> Variant | None:
        """The run once more without any change."""
        return next((variant for variant in self._variants if not variant.source), None)

    @property
    def by_itself(self) -> float | None:
        return self.baseline.likeness if self.baseline else None

    @property
    def noise_at(self) -> str:
        """Where the answer's own unrest ends on a bar of 100; nothing where it has none, or nobody has looked."""
        return f"{(1.0 - self.by_itself) * 100:.1f}" if self.by_itself is not None and self.by_itself < 1.0 else ""

    @property
    def by_itself_says(self) -> str:
        return "" if self.by_itself is None else percent(self.by_itself)

    @cached_property
    def rows(self) -> list[Row]:
        """The greatest effect first; or what would save most, where that is asked for."""
        keys = set(self.workflow.keys)
        rows = [
            Row(
                ends_of(self.run, self.workflow, variant.source, variant.reader), variant, self.workflow, self.by_itself
            )
            for variant in self._variants
            if variant.source in keys and variant.reader in keys
        ]
        return sorted(rows, key=_savings if self.by_cost else _rank)

    @cached_property
    def experiment(self) -> Experiment | None:
        """The latest experiment on the run."""
        return self.run.experiments.select_related("owner").order_by("-pk").first()


def _rank(row: Row) -> tuple[float, ...]:
    order = {"failed": 0, "other": 1, "same": 2}
    return (order[row.kind], -row.effect, -len(row.variant.changed), row.ends.reader.number, row.ends.source.number)


def _savings(row: Row) -> tuple[float, ...]:
    saved = row.variant.saved_usd
    return (-(float("-inf") if saved is None else float(saved)), -(row.variant.saved_tokens or 0), *_rank(row))


class Progress:
    """How far an experiment is."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment

    @cached_property
    def variants(self) -> Sequence[Variant]:
        return list(
            self.experiment.variants.select_related("fork").defer("fork__task", "fork__setup", "fork__workflow_body")
        )

    def _count(self, *states: str) -> int:
        return sum(variant.state in states for variant in self.variants)

    @property
    def of(self) -> int:
        return len(self.variants)

    @property
    def tried(self) -> int:
        return self._count(State.DONE, State.FAILED)

    @property
    def left(self) -> int:
        return self._count(State.LEFT)

    @property
    def going(self) -> list[Run]:
        return [each.fork for each in self.variants if each.state == State.RUNNING and each.fork is not None]

    @property
    def spent_usd(self) -> Decimal:
        return sum((each.fork.cost_usd for each in self.variants if each.fork is not None), Decimal(0))

    @property
    def is_cost_unknown(self) -> bool:
        return any(each.fork is not None and each.fork.cost_unknown for each in self.variants)

    @property
    def why(self) -> str:
        """Why not all of it was tried."""
        return next((each.note for each in self.variants if each.state == State.LEFT), "")
