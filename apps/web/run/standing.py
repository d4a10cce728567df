"""How a run stands, as the head, the outline and the answer of its page tell it.

Everything is read when it is first asked for and once: a part of the page costs the queries it needs and no more,
however many steps there are.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cached_property

from apps.audit import log
from apps.runs.estimates import Preview, preview_of_review
from apps.runs.excepting import seal_of
from apps.runs.labels import Labels
from apps.runs.models import Attempt, Proposal, Review, Run, Step
from apps.runs.plans import can_plan_again, side_by_side
from apps.web.retention.told import Erasure, erasure_of
from apps.web.run.counted import Counted, counted_of, how_taken
from apps.web.run.held import Held, held_of
from apps.web.run.nests import Nest, nests_of
from apps.web.run.outline import Line, lines_of
from apps.web.run.paused import Paused, Rejected, Written, paused_of, rejected_of, written_in
from apps.web.run.rounds import Round, is_in_turns, rounds_of
from apps.web.run.ruled import Ruled, foretold_of, ruled_of
from apps.web.run.whence import Whence
from apps.web.words.figures import plural, seconds, usd
from apps.web.words.looks import Look, looks_of
from apps.workflows import graph
from apps.workflows.graph import Problem
from apps.workflows.workflow import Workflow

NOT_CALLED = (Attempt.Status.REUSED, Attempt.Status.WRITTEN)


@dataclass(frozen=True)
class Spent:
    """What a run has cost so far, and what is to be said beside the figure."""

    text: str
    note: str = ""


class Standing:
    """One run at one moment."""

    def __init__(self, run: Run, *, now: datetime) -> None:
        self.run = run
        self.now = now

    # --- rows ------------------------------------------------------------------------------------------------------

    @cached_property
    def steps(self) -> list[Step]:
        return list(self.run.steps.defer("result"))

    @cached_property
    def attempts(self) -> dict[int, list[Attempt]]:
        """The attempts of each step (by its id), in order, without what was sent and said."""
        rows = self.run.attempts.select_related("source__run").only(
            *(field.attname for field in Attempt._meta.concrete_fields if field.name not in ("sent", "text", "track")),
            "source__cost_usd",
            "source__output_tokens",
            "source__run__code",
        )
        by_step: dict[int, list[Attempt]] = {}
        for attempt in rows.order_by("step_id", "number"):
            by_step.setdefault(attempt.step_id, []).append(attempt)
        return by_step

    @cached_property
    def proposals(self) -> list[Proposal]:
        return list(self.run.proposals.defer("sent", "raw", "track"))

    @cached_property
    def workflow(self) -> Workflow | None:
        return self.run.workflow

    # --- who and whence --------------------------------------------------------------------------------------------

    @cached_property
    def looks(self) -> dict[str, Look]:
        return looks_of(self.run.pool)

    @cached_property
    def whence(self) -> Whence:
        return Whence(self.run)

    @cached_property
    def nests(self) -> dict[str, Nest]:
        """The runs that its steps became, by the keys of the steps."""
        return nests_of(self.run, self.looks)

    # --- the head --------------------------------------------------------------------------------------------------

    @cached_property
    def held(self) -> Held | None:
        """The limit that holds it; None where none does."""
        return held_of(self.run, now=self.now)

    @cached_property
    def paused(self) -> Paused | None:
        """How it is paused; None where it is not."""
        return paused_of(self.run)

    @property
    def labels(self) -> Labels:
        """What its task carries."""
        return Labels.of(self.run.setup)

    @cached_property
    def ruled(self) -> Ruled | None:
        """What flow rules hold it for; None where none do."""
        return ruled_of(self.run)

    @cached_property
    def foretold(self) -> Ruled | None:
        """What flow rules would hold it for, were its plan approved as it is; None where nothing."""
        return foretold_of(self.run) if self.is_in_review else None

    @property
    def forbids(self) -> frozenset[str]:
        """The steps that would read what rules keep from their workers."""
        ruled = self.ruled or self.foretold
        return ruled.steps if ruled else frozenset()

    @cached_property
    def forbidden_edges(self) -> frozenset[tuple[str, str]]:
        """The access edges, (source, reader), along which they would come to read it."""
        ruled = self.ruled or self.foretold
        return ruled.edges if ruled else frozenset()

    @property
    def is_in_review(self) -> bool:
        """Whether its plan waits for somebody to look at it."""
        return self.run.status == Run.Status.HELD and self.run.hold in ("", Run.Hold.REVIEW)

    @property
    def is_pausing(self) -> bool:
        """Whether it was paused while something is still under way."""
        return self.run.pause_asked and not self.run.is_ended and self.run.status != Run.Status.HELD

    @property
    def can_pause(self) -> bool:
        """Whether more may begin of it, and nobody has said that nothing should. One within another goes with it."""
        return not (
            self.run.is_ended or self.run.status == Run.Status.HELD or self.run.pause_asked or self.run.nested_in_id
        )

    @cached_property
    def erasure(self) -> Erasure | None:
        """How its texts came to be erased, if they were."""
        return erasure_of(self.run)

    @property
    def can_plan_again(self) -> bool:
        return can_plan_again(self.run)

    @cached_property
    def preview(self) -> Preview | None:
        """What the plan that waits for approval would cost; None where none does."""
        return preview_of_review(run=self.run, workflow=self.workflow) if self.is_in_review and self.workflow else None

    @cached_property
    def plans_beside(self) -> int:
        """How many plans for its task stand side by side, this one among them; 0 where it is the only one."""
        plans = side_by_side(self.run).count()
        return plans if plans > 1 else 0

    @cached_property
    def review(self) -> Review | None:
        """Who signed it off or is to do that; None where nobody was asked."""
        if not self.run.is_ended:
            return None
        return Review.objects.select_related("decided_by", "assigned_to").filter(run=self.run).first()

    @cached_property
    def rejected(self) -> Rejected | None:
        """Who said no to its plan, and why; None where nobody did."""
        return rejected_of(self.run)

    @cached_property
    def written(self) -> dict[int, Written]:
        """The results that people wrote by hand, by their attempts' ids."""
        return written_in(self.run) if any(step.status == Step.Status.WRITTEN for step in self.steps) else {}

    @property
    def state(self) -> str:
        """`Running`, `Held: limit`, `Running, to be paused`"""
        state = self.run.get_status_display()
        if self.rejected:
            return "Rejected"
        if self.is_pausing:
            return f"{state}, to be paused"
        if self.held:
            return f"{state}: limit"
        if self.ruled:
            return f"{state}: rules"
        return "Paused" if self.paused else state

    @property
    def needs(self) -> str:
        """By what a page tells whether its buttons are still those that this run needs."""
        held_by = self.run.held_by if self.run.status == Run.Status.HELD else {}
        about = [str(held_by[name]) for name in ("step", "spent_usd", "breakpoint") if held_by.get(name)]
        about += [seal_of(held_by)] if held_by.get("rules") else []
        return " ".join([self.run.status, *(["pausing"] if self.is_pausing else []), *about])

    @property
    def elapsed_ms(self) -> float:
        return ((self.run.finished_at or self.now) - self.run.created_at).total_seconds() * 1000

    @property
    def elapsed_s(self) -> str:
        """The seconds gone, for a clock that goes on from there."""
        return f"{self.elapsed_ms / 1000:.1f}"

    @property
    def tokens(self) -> int:
        return self.run.input_tokens + self.run.output_tokens

    @cached_property
    def calls(self) -> list[Attempt]:
        """Every call that was really made."""
        return [call for calls in self.attempts.values() for call in calls if call.status not in NOT_CALLED]

    @property
    def is_estimated(self) -> bool:
        return any(call.estimated for call in self.calls) or any(plan.estimated for plan in self.proposals)

    @cached_property
    def once_usd(self) -> Decimal:
        """What the results that this run reused cost when they were made."""
        sources = (call.source for calls in self.attempts.values() for call in calls)
        return sum((source.cost_usd for source in sources if source and source.cost_usd), Decimal(0))

    @property
    def spent(self) -> Spent:
        run = self.run
        about = "≈ " if self.is_estimated and run.cost_usd else ""
        notes = [f"reused what once cost {usd(self.once_usd)}"] if self.once_usd else []
        if any(call.status == Attempt.Status.CUT for call in self.calls) and run.cost_usd:
            notes.append("what was cut off is estimated")
        note = " · ".join(notes)
        if run.cost_unknown:
            return Spent(
                f"{about}{usd(run.cost_usd)} and calls of unknown price" if run.cost_usd else "price unknown", note
            )
        if run.cost_usd:
            return Spent(f"{about}{usd(run.cost_usd)}", note)
        if not run.is_ended:
            return Spent("nothing yet", note)
        return Spent("free of charge" if self.tokens else "nothing", note)

    @property
    def planned(self) -> str:
        """How the plan came about: `3.1 s · 1 repair · asked 2 times`."""
        parts = []
        if took := sum(plan.duration_ms or 0 for plan in self.proposals):
            parts.append(seconds(took))
        if repairs := sum(len(plan.repairs) for plan in self.proposals[-1:]):
            parts.append(plural(repairs, "repair"))
        if len(self.proposals) > 1:
            parts.append(f"asked {len(self.proposals)} times")
        return " · ".join(parts)

    @cached_property
    def why_not_planned(self) -> str:
        """What keeps the planner's model from being asked; empty where nothing does."""
        if self.run.status not in Run.LIVE:
            return ""
        events = log.read(self.run.trail, verbs=["planning.waiting", "planning.started", "workflow.adopted"])
        last = events[-1] if events else None
        return str(last.data.get("words", "")) if last and last.verb == "planning.waiting" else ""

    @property
    def plan(self) -> Proposal | None:
        """The proposal that is being written, or the last one."""
        return self.proposals[-1] if self.proposals else None

    @cached_property
    def warnings(self) -> list[Problem]:
        if self.workflow is None:
            return []
        return graph.check(self.workflow, workers=self.run.pool, max_steps=len(self.workflow.steps))

    @property
    def counts(self) -> str:
        """`2 rounds · 5 steps · 5 access edges · critical path 3 steps`"""
        if self.workflow is None:
            return ""
        edges = graph.as_digraph(self.workflow).number_of_edges()
        path = len(graph.critical_path(self.workflow))
        rounds = [plural(len(self.rounds), "round")] if len(self.rounds) > 1 else []
        counts = [
            plural(len(self.steps), "step"),
            plural(edges, "access edge"),
            f"critical path {plural(path, 'step')}",
        ]
        return " · ".join(rounds + counts)

    @property
    def done(self) -> list[Step]:
        """The steps whose results a fork can take."""
        return [step for step in self.steps if step.status in Step.DONE]

    @cached_property
    def lines(self) -> list[Line]:
        """The steps as the outline lists them."""
        return lines_of(self.run, self.steps, self.attempts, self.looks, self.nests, written=self.written, now=self.now)

    @cached_property
    def rounds(self) -> list[Round]:
        """The lines by the time of planning that wrote them; of a run with one round, one group without a number."""
        return rounds_of(self.lines, self.proposals, planner=self.whence.planner)

    @property
    def is_in_turns(self) -> bool:
        return is_in_turns(self.whence.planner, self.steps)

    @property
    def is_planned_further(self) -> bool:
        """Whether the planner, who saw what came of its workflow, decides this moment how it goes on."""
        return bool(self.steps) and any(plan.status == Proposal.Status.WRITING for plan in self.proposals)

    # --- the answer ------------------------------------------------------------------------------------------------

    @cached_property
    def counted(self) -> Counted | None:
        """What a vote or a selection goes by; None where the last step answers."""
        return counted_of(self.run, self.workflow.sink, self.steps) if self.workflow else None

    @property
    def how_taken(self) -> str:
        line = self.answer_line
        how = how_taken(self.run, self.counted, line.number if line else None)
        if line is None or line.state != Step.Status.WRITTEN:
            return how
        authors = {written.step: written.by for written in self.written.values()}
        return f"{how}, written by {authors.get(line.row.key, 'a person')}"

    @property
    def last_line(self) -> Line | None:
        return self.lines[-1] if self.lines else None

    @property
    def answer_line(self) -> Line | None:
        """The step the answer was taken from."""
        return next((line for line in self.lines if line.row.key == self.run.answer_step), None)

    @property
    def writing(self) -> Attempt | None:
        """The call that is writing what will be the answer; of a vote none is, and a nested run writes elsewhere."""
        if self.counted is not None or (self.last_line and self.last_line.nest):
            return None
        if self.last_line is None or self.last_line.state != Step.Status.RUNNING:
            return None
        calls = self._calls(self.last_line.row)
        return calls[-1] if calls and calls[-1].status == Attempt.Status.RUNNING else None

    @property
    def cut(self) -> list[Line]:
        """The steps whose calls were cut by the stop."""
        return self._ended_as(Attempt.Status.CUT)

    @property
    def late(self) -> list[Line]:
        """The steps whose replies came whole after the stop: billed, not used."""
        return self._ended_as(Attempt.Status.LATE)

    def _ended_as(self, status: Attempt.Status) -> list[Line]:
        return [line for line in self.lines if any(call.status == status for call in self._calls(line.row))]

    def _calls(self, step: Step) -> list[Attempt]:
        return self.attempts.get(step.pk, [])
