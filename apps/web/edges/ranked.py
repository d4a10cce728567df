"""The edges of a run that were tried, for a page: what each did to the answer, the greatest effect first."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from statistics import fmean
from urllib.parse import urlencode

from django.urls import reverse

from apps.runs.forecasts import Edge
from apps.runs.models import Experiment, Run, Variant
from apps.web.words.figures import listed, plural, short_title, usd
from apps.workflows.workflow import Workflow

MOST_SAMPLES = 600
LOOKS = 3
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
    """One edge that was tried, and what the run came to without it, the latest sample first."""

    ends: Ends
    samples: Sequence[Variant]
    workflow: Workflow
    by_itself: float | None  # how like its own answer the run's was when it was repeated without a change

    @property
    def latest(self) -> Variant:
        return self.samples[0]

    @property
    def looks(self) -> list[Variant]:
        """Those that can be looked at."""
        return [sample for sample in self.samples if sample.fork is not None][:LOOKS]

    @property
    def failed(self) -> bool:
        """Whether there was no answer in any sample."""
        return all(sample.state == State.FAILED for sample in self.samples)

    @cached_property
    def effects(self) -> list[float]:
        """How far each answer went from what it was, from 0 to 1; a run that fails has none at all."""
        return [1.0 - sample.likeness if sample.likeness is not None else 1.0 for sample in self.samples]

    @property
    def effect(self) -> float:
        return fmean(self.effects)

    @property
    def bar(self) -> str:
        """The effect as a width of 100; one that can be seen where there is any."""
        return f"{max(self.effect * 100, 1.0) if self.effect else 0:.1f}"

    @property
    def alike(self) -> str:
        """`81 % alike`, `81 % to 95 % alike`"""
        least, most = percent(1.0 - max(self.effects)), percent(1.0 - min(self.effects))
        return f"{least} alike" if least == most else f"{least} to {most} alike"

    @property
    def says(self) -> str:
        """What the answer is without the edge."""
        if self.failed:
            return "no answer"
        if len(self.samples) > 1:
            return f"the same answer {self._same} of {len(self.samples)} times"
        if self.latest.likeness == 1.0:
            return "the same text"
        return "the same answer, in other words" if self._same else "another answer"

    @property
    def _same(self) -> int:
        return sum(bool(sample.is_same_answer) or sample.likeness == 1.0 for sample in self.samples)

    @property
    def kind(self) -> str:
        if self.failed:
            return "failed"
        return "same" if self._same == len(self.samples) else "other"

    @property
    def is_within_noise(self) -> bool:
        """Whether the answer went no farther than it does by itself."""
        return not self.failed and self.by_itself is not None and self.effect <= 1.0 - self.by_itself

    @property
    def changed(self) -> str:
        """The steps that came to another result, in words."""
        keys = {key for sample in self.samples for key in sample.changed}
        numbers = sorted(self.workflow.position(key) + 1 for key in keys if key in self.workflow.keys)
        if not numbers:
            return "none"
        if len(numbers) > NAMED:
            return plural(len(numbers), "step")
        return f"step{'' if len(numbers) == 1 else 's'} {listed(numbers)}"

    @property
    def saved_tokens(self) -> float | None:
        """On average of its samples."""
        known = [sample.saved_tokens for sample in self.samples if sample.saved_tokens is not None]
        return fmean(known) if known else None

    @property
    def saved_usd(self) -> Decimal | None:
        known = [sample.saved_usd for sample in self.samples if sample.saved_usd is not None]
        return sum(known, Decimal(0)) / len(known) if known else None

    @property
    def saves_tokens(self) -> str:
        saved = self.saved_tokens
        return "–" if saved is None else f"{_minus(saved)}{abs(round(saved)):,}"

    @property
    def saves_usd(self) -> str:
        saved = self.saved_usd
        if saved is None:
            return "–" if self.failed else "price unknown"
        return f"{_minus(saved)}{usd(abs(saved))}"

    @property
    def compare_url(self) -> str:
        return f"{reverse('compare')}?{urlencode({'a': self.ends.run.code})}&b="


def percent(share: float) -> str:
    """`94 %`; of what is nearly all or nearly nothing it never says that it is."""
    rounded = round(share * 100)
    if rounded == 100 and share < 1:
        return "over 99 %"
    return "under 1 %" if rounded == 0 and share > 0 else f"{rounded} %"


def _minus(value: Decimal | float) -> str:
    return "−" if value < 0 else ""


class Ranking:
    """What is known of a run's edges, from all the experiments that were made on it."""

    def __init__(self, run: Run, *, by_cost: bool = False) -> None:
        self.run = run
        self.by_cost = by_cost
        self.workflow = run.workflow or Workflow(steps=())

    @cached_property
    def _samples(self) -> dict[Edge, list[Variant]]:
        """What came of each edge, the latest first; of many samples the latest."""
        over = Variant.objects.filter(experiment__run=self.run, state__in=[State.DONE, State.FAILED])
        latest = over.select_related("fork").defer("fork__task", "fork__setup", "fork__workflow_body").order_by("-pk")
        found: dict[Edge, list[Variant]] = defaultdict(list)
        for variant in latest[:MOST_SAMPLES]:
            found[variant.source, variant.reader].append(variant)
        return found

    @property
    def baselines(self) -> list[Variant]:
        """The run once more without any change, the latest first."""
        return self._samples.get(("", ""), [])

    @property
    def baseline(self) -> Variant | None:
        return self.baselines[0] if self.baselines else None

    @property
    def by_itself(self) -> float | None:
        """How like its answer remains when nothing is changed, on average."""
        known = [variant.likeness for variant in self.baselines if variant.likeness is not None]
        return fmean(known) if known else None

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
            Row(ends_of(self.run, self.workflow, source, reader), samples, self.workflow, self.by_itself)
            for (source, reader), samples in self._samples.items()
            if source in keys and reader in keys
        ]
        return sorted(rows, key=_savings if self.by_cost else _rank)

    @property
    def most_samples(self) -> int:
        return max((len(row.samples) for row in self.rows), default=0)

    @cached_property
    def experiment(self) -> Experiment | None:
        """The latest experiment on the run."""
        return self.run.experiments.select_related("owner").order_by("-pk").first()


def _rank(row: Row) -> tuple[float, ...]:
    order = {"failed": 0, "other": 1, "same": 2}
    return (order[row.kind], -row.effect, -len(row.latest.changed), row.ends.reader.number, row.ends.source.number)


def _savings(row: Row) -> tuple[float, ...]:
    saved = row.saved_usd
    return (-(float("-inf") if saved is None else float(saved)), -(row.saved_tokens or 0), *_rank(row))
