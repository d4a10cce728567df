"""How far an experiment on a run's edges is, for a page."""

from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property

from apps.runs.models import Experiment, Run, Variant

State = Variant.State


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
