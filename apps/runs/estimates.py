"""What starting a workflow would do and cost, told before anything is paid, and whether that still holds later.

Likely: as many tokens as the step, or its worker, wrote lately. At most: every try that the run allows, each with the
longest reply there can be. Neither is a promise where a price is unknown, and then no figure stands in its place.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cached_property

from apps.runs.models import Run
from apps.runs.purse import outermost
from apps.runs.reckoning import UNPRICED, Estimate, Frozen, Reckoner
from apps.runs.reuse import Forecast, forecast, recorded
from apps.runs.services import pool_for, recorded_for_fork
from apps.workflows.workflow import Workflow


@dataclass(frozen=True)
class Preview:
    """What starting a workflow would do: the fate of each step, and what those that run cost."""

    workflow: Workflow
    fresh: tuple[str, ...]
    fates: Sequence[Forecast]
    estimates: Mapping[str, Estimate]
    limit_usd: Decimal | None
    pool: Mapping[str, Frozen] = field(repr=False)

    @cached_property
    def running(self) -> list[Estimate]:
        return list(self.estimates.values())

    @property
    def likely_usd(self) -> Decimal | None:
        """Of the steps of which it is known; None where it is of none."""
        known = [each.likely_usd for each in self.running if each.likely_usd is not None]
        return sum(known, Decimal(0)) if known or not self.running else None

    @property
    def not_estimated(self) -> int:
        """How many steps `likely_usd` leaves out."""
        return sum(each.likely_usd is None for each in self.running)

    @property
    def most_usd(self) -> Decimal | None:
        """What it can cost at most; None where a price is unknown, or nothing bounds it."""
        if any(each.unknown == UNPRICED for each in self.running):
            return None
        known = [each.most_usd for each in self.running]
        bounds = [] if None in known else [sum((usd for usd in known if usd is not None), Decimal(0))]
        return min([*bounds, *([] if self.limit_usd is None else [self.limit_usd])], default=None)

    @cached_property
    def seal(self) -> str:
        """What this preview has told, in short: that of another moment differs wherever it told something else."""
        whole = _digest(self.workflow.model_dump(mode="json"), self.fresh)
        return " ".join([whole, *(f"{fate.step}={self._told(fate)}" for fate in self.fates)])

    def _told(self, fate: Forecast) -> str:
        if fate.verdict == "reuse":
            return f"reuse:{fate.source.pk if fate.source else ''}:"
        worker = self.pool.get(self.workflow.step(fate.step).worker)
        estimate = self.estimates[fate.step]
        most = "?" if estimate.most_usd is None else f"{estimate.most_usd:f}"
        return f"run:{_digest(_terms(worker))}:{most}"


def preview_of_fork(*, parent: Run, workflow: Workflow, fresh: Sequence[str] = ()) -> Preview:
    """What a fork of `parent` would do and cost, before anything is paid."""
    pool = {worker["slug"]: worker for worker in pool_for(parent)}
    known = recorded_for_fork(parent, keys=workflow.keys)
    fates = forecast(workflow, task=parent.task, pool=pool, known=known, fresh=fresh)
    return _preview(parent, workflow, pool, fates, fresh)


def preview_of_review(*, run: Run, workflow: Workflow) -> Preview:
    """What a run that is held for review would do and cost with `workflow`: by the workers that it has frozen."""
    known = recorded(run, keys=workflow.keys) if run.root_id is not None else {}
    fates = forecast(workflow, task=run.task, pool=run.pool, known=known, fresh=run.fresh)
    return _preview(run, workflow, run.pool, fates, [key for key in workflow.keys if key in run.fresh])


def _preview(
    run: Run, workflow: Workflow, pool: Mapping[str, Frozen], fates: Sequence[Forecast], fresh: Collection[str]
) -> Preview:
    running = [fate.step for fate in fates if fate.verdict == "run"]
    reckoner = Reckoner(run, workflow, pool, {fate.step: fate.source.text for fate in fates if fate.source})
    estimates = {key: reckoner.estimate(workflow.step(key)) for key in running}
    limit_usd = outermost(run).limit_usd
    return Preview(workflow, tuple(fresh), fates, estimates, limit_usd, pool)


def _terms(frozen: Frozen | None) -> object:
    """Who is asked, and for what price: of a step's worker and of those that stand in for it."""
    if frozen is None:
        return None
    chain = [frozen, *frozen.get("fallbacks", ())]
    prices = ("input_usd", "cached_usd", "output_usd", "free")
    return [[each["identity"], *(each["price"][name] for name in prices)] for each in chain]


def _digest(*values: object) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=list).encode()).hexdigest()[:16]


# --- what has changed between two previews ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """One thing that a preview told otherwise. `step` None: the workflow itself is another one."""

    step: str | None
    was: str  # "run", "reuse", or "" for a step that was not there
    now: str
    most_was: Decimal | None = None
    terms: bool = False  # its worker is another one by now: model, parameters or price


def changes_since(seal: str, preview: Preview) -> list[Change]:
    """What `preview` tells otherwise than the one whose seal is given; nothing where all is as it was told."""
    if seal == preview.seal:
        return []
    before, now = _parts(seal), _parts(preview.seal)
    if seal.partition(" ")[0] != preview.seal.partition(" ")[0]:
        return [Change(None, "", "")]
    found = []
    for key, (verdict, terms, most) in now.items():
        was, terms_were, most_was = before.get(key, ("", "", ""))
        if (was, terms_were, most_was) != (verdict, terms, most):
            is_another = was == verdict == "run" and terms_were != terms
            found.append(Change(key, was, verdict, _usd(most_was), terms=is_another))
    return found or [Change(None, "", "")]


def _parts(seal: str) -> dict[str, tuple[str, str, str]]:
    """What a seal tells of each step: its fate, the worker and price or the result taken, and what it costs at most."""
    parts = {}
    for part in seal.split(" ")[1:]:
        key, _, told = part.partition("=")
        verdict, terms, most, *_ = [*told.split(":"), "", "", ""]
        parts[key] = (verdict, terms, most)
    return parts


def _usd(told: str) -> Decimal | None:
    try:
        usd = Decimal(told)
    except InvalidOperation:
        return None
    return usd if usd.is_finite() and usd >= 0 else None
