"""Reckons what single steps of a workflow will likely cost, and at most, from what they are sent and who is asked."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from statistics import median
from typing import Any

from django.db.models import Q

from apps.runs.freezing import is_price_unknown
from apps.runs.models import Attempt, Run
from apps.runs.nesting import is_nested
from apps.runs.reuse import render
from apps.spend.worst_case import LONGEST_REPLY_TOKENS, most_output_tokens, worst_case_usd
from apps.workers import tokens
from apps.workers.calls import Usage
from apps.workers.services import price_of
from apps.workflows.prompt import Section
from apps.workflows.workflow import Step, Workflow

Frozen = Mapping[str, Any]

LATEST = 5  # answers of the very step that are gone by,
LATEST_OF_WORKER = 50  # and of its worker, where the step has none
MOST_READ = 2_000
# In the place of a result that is not there yet: a prompt without any would lack the words around it.
NOT_YET = "…"

# Why a figure cannot be told.
UNPRICED = "price unknown"
NEVER_ASKED = "never answered yet"
UNBOUNDED = "becomes a workflow of its own"
NOT_THERE = "not in the pool"


@dataclass(frozen=True)
class Estimate:
    """What one step that runs will cost. None: nobody can tell, and `unknown` says why."""

    step: str
    likely_usd: Decimal | None
    most_usd: Decimal | None
    basis: str = ""  # what the likely figure goes by
    unknown: str = ""
    calls: int = 1  # at most so many


class Reckoner:
    """Reckons the steps of one workflow in their order; each text is counted once, whoever reads it."""

    def __init__(self, run: Run, workflow: Workflow, pool: Mapping[str, Frozen], results: Mapping[str, str]) -> None:
        self.run = run
        self.workflow = workflow
        self.pool = pool
        self.results = results
        self.workers = {step.key: step.worker for step in workflow.steps}
        self.longest: dict[str, int] = {}
        self.likely_out: dict[str, int | None] = {}
        self.counts: dict[str, int] = {}
        self.of_workers: dict[str, int | None] = {}

    def estimate(self, step: Step) -> Estimate:
        """What `step` will cost, as one that runs. The steps that it reads and that run come first."""
        frozen = self.pool.get(step.worker)
        if frozen is None:
            return Estimate(step.key, None, None, unknown=NOT_THERE)
        likely_out, basis = self._likely_output(step, frozen)
        self.likely_out[step.key] = likely_out
        if is_nested(frozen):
            once = self.paid.get((step.key, step.worker))
            basis = "" if once is None else "as it cost before"
            return Estimate(step.key, once, None, basis=basis, unknown=UNBOUNDED)
        chain = [frozen, *frozen.get("fallbacks", ())]
        if any(is_price_unknown(each) for each in chain):
            return Estimate(step.key, None, None, unknown=UNPRICED)
        tries = int(self.run.setup["tries"])
        sections = self._sections(step)
        most = sum((self._worst(each, step, sections) for each in chain), Decimal(0)) * tries
        likely = self._likely(frozen, step, sections, likely_out)
        return Estimate(
            step.key,
            likely,
            most,
            basis=basis if likely is not None else "",
            unknown="" if likely is not None else NEVER_ASKED,
            calls=tries * len(chain),
        )

    # --- at most -----------------------------------------------------------------------------------------------------

    def _worst(self, frozen: Frozen, step: Step, sections: Sequence[Section]) -> Decimal:
        """What one call of `frozen` can cost, reckoned as when the money for it is set aside."""
        sent = sum(self._at_most(section.text) for section in sections)
        sent += sum(math.ceil(self._longest(source) * tokens.MARGIN) for source in self._pending(step))
        longest = most_output_tokens(frozen.get("max_output_tokens"), frozen["identity"]["params"])
        return worst_case_usd(price_of(frozen), sent, longest) or Decimal(0)

    def _longest(self, key: str) -> int:
        """How many tokens a step that runs can answer at most, whoever stands in for its worker."""
        if key not in self.longest:
            frozen = self.pool.get(self.workers[key])
            chain = [] if frozen is None or is_nested(frozen) else [frozen, *frozen.get("fallbacks", ())]
            asked = [most_output_tokens(each.get("max_output_tokens"), each["identity"]["params"]) for each in chain]
            self.longest[key] = max(asked, default=LONGEST_REPLY_TOKENS)
        return self.longest[key]

    def _at_most(self, text: str) -> int:
        """More tokens than any model is likely to count for a section."""
        known = min(math.ceil(self._count(text) * tokens.MARGIN), len(text.encode(errors="replace")))
        return known + tokens.PER_MESSAGE + tokens.PER_CALL

    # --- likely ------------------------------------------------------------------------------------------------------

    def _likely(
        self, frozen: Frozen, step: Step, sections: Sequence[Section], likely_out: int | None
    ) -> Decimal | None:
        pending = [self.likely_out.get(source) for source in self._pending(step)]
        if likely_out is None or None in pending:
            return None if not price_of(frozen).free else Decimal(0)
        sent = sum(self._count(section.text) for section in sections) + sum(each or 0 for each in pending)
        return price_of(frozen).cost_usd(Usage(input_tokens=sent, output_tokens=likely_out))

    def _likely_output(self, step: Step, frozen: Frozen) -> tuple[int | None, str]:
        """How many tokens the step will likely answer, and what that goes by."""
        if said := self.written.get((step.key, step.worker)):
            return round(median(said[:LATEST])), "as this step answered before"
        if step.worker not in self.of_workers:
            self.of_workers[step.worker] = _usual_output(step.worker)
        usual = self.of_workers[step.worker]
        return usual, "" if usual is None else f"as {frozen['name']} usually answers"

    @cached_property
    def written(self) -> dict[tuple[str, str], list[int]]:
        """How many tokens a worker answered for a step in this lineage, the latest first."""
        found: dict[tuple[str, str], list[int]] = defaultdict(list)
        for key, worker, output, _ in self._answered:
            found[key, worker].append(output)
        return found

    @cached_property
    def paid(self) -> dict[tuple[str, str], Decimal]:
        """What a worker's latest answer for a step in this lineage cost."""
        return {(key, worker): usd for key, worker, _, usd in reversed(self._answered) if usd is not None}

    @cached_property
    def _answered(self) -> list[tuple[str, str, int, Decimal | None]]:
        root = self.run.lineage_root_id
        lineage = Run.objects.filter(Q(pk=root) | Q(root=root), project=self.run.project_id)
        rows = Attempt.objects.filter(
            run__in=lineage, status=Attempt.Status.SUCCEEDED, step__key__in=self.workflow.keys
        ).order_by("-pk")
        return list(rows.values_list("step__key", "worker", "output_tokens", "cost_usd")[:MOST_READ])

    # --- what is sent ------------------------------------------------------------------------------------------------

    def _sections(self, step: Step) -> tuple[Section, ...]:
        results = {source: self.results.get(source, NOT_YET) for source in step.access}
        return render(self.workflow, step, task=self.run.task, results=results).sections

    def _pending(self, step: Step) -> list[str]:
        """What it reads that is not there yet."""
        return [source for source in step.access if source not in self.results]

    def _count(self, text: str) -> int:
        if text not in self.counts:
            self.counts[text] = tokens.count(text)
        return self.counts[text]


def _usual_output(worker: str) -> int | None:
    """How many tokens a worker's latest answers had, in the middle of them; None where there is none."""
    # The first condition is that of the index `attempt_of_worker`.
    ended = Attempt.objects.filter(worker=worker, status__in=["succeeded", "failed", "late"])
    answered = ended.filter(status=Attempt.Status.SUCCEEDED).exclude(finish_reason="nested")
    said = list(answered.order_by("-finished_at").values_list("output_tokens", flat=True)[:LATEST_OF_WORKER])
    return round(median(said)) if said else None
