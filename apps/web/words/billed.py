"""What a call took and cost, in words: of a worker for a step, and of a planner."""

from dataclasses import dataclass

from apps.runs.models import Attempt, Proposal
from apps.web.words.figures import price, seconds


@dataclass(frozen=True)
class Billed:
    """A call, told with its figures."""

    row: Attempt | Proposal

    @property
    def took(self) -> str:
        return "" if self.row.duration_ms is None else seconds(self.row.duration_ms)

    @property
    def cost(self) -> str:
        return price(self.row.cost_usd, estimated=self.row.estimated)
