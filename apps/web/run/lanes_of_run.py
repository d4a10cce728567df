"""Makes the lanes of one run, and of the runs nested in it: its planning, and every call of every step."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from apps.runs.models import Attempt, Proposal, Run, Step
from apps.web.run.calls_within import Rows
from apps.web.run.critical import Work, critical
from apps.web.run.lanes import NOTHING, Inner, Lane, Times, bars_of, cost_of, state_of, times_of, tokens_of
from apps.web.run.nests import progress_of
from apps.web.run.timescale import Scale
from apps.web.words.figures import seconds, short_title
from apps.web.words.looks import Look, look_of, models_in

PLANNED = {"writing": "being written", "valid": "valid", "invalid": "not valid", "failed": "failed"}
Held = tuple[datetime, datetime, str]


class Lanes:
    """The lanes of one run, on the line of the run whose page it is; `prefix` leads to a nested one's steps."""

    def __init__(
        self,
        rows: Rows,
        scale: Scale,
        held: Sequence[Held],
        *,
        now: datetime,
        looks: Mapping[str, Look],
        prefix: str = "",
        page_number: str = "",
    ) -> None:
        self.rows = rows
        self.run = rows.run
        self.scale = scale
        self.held = held
        self.now = now
        self.looks = looks
        self.prefix = prefix
        self.outer = page_number
        self.steps = {step.key: step for step in rows.steps}
        self.critical = critical(self._works())

    def all(self) -> list[Lane]:
        planned = {plan.round for plan in self.rows.proposals}
        numbers = planned | {step.round for step in self.rows.steps}
        return [lane for number in sorted(numbers) for lane in self.of_round(number)]

    def of_round(self, number: int) -> list[Lane]:
        """The lanes of one time of planning, and of the steps that came of it."""
        plans = [plan for plan in self.rows.proposals if plan.round == number]
        steps = [step for step in self.rows.steps if step.round == number]
        planned = [self._planned(plan, plans[at - 1] if at else None) for at, plan in enumerate(plans)]
        return [*planned, *(lane for step in steps for lane in self._of_step(step))]

    # --- planning --------------------------------------------------------------------------------------------------

    def _planned(self, plan: Proposal, before: Proposal | None) -> Lane:
        ready = before.finished_at if before else self._planned_after(plan.round)
        times = times_of(plan, ready or plan.started_at)
        lane = self._lane("plan", f"plan {plan.number}", times)
        tries = len({each.number for each in self.rows.proposals if each.round == plan.round})
        return replace(
            lane,
            name="Plan" if plan.round == 1 else f"Plan, round {plan.round}",
            title=f"try {plan.number}" if tries > 1 else "",
            state=state_of(plan),
            said=PLANNED.get(plan.status, plan.get_status_display().lower()),
            look=self.looks.get(plan.conductor) or (look_of(plan.conductor, None) if plan.conductor else None),
            attempt=1,
            tokens=tokens_of(plan),
            cost=cost_of(plan),
        )

    def _planned_after(self, number: int) -> datetime:
        """A later round is planned once the steps of those before it are there."""
        ends = [step.finished_at for step in self.rows.steps if step.round < number and step.finished_at]
        return max(ends, default=self.run.created_at)

    # --- steps -----------------------------------------------------------------------------------------------------

    def _of_step(self, step: Step) -> Iterator[Lane]:
        calls = self.rows.attempts.get(step.pk, [])
        if not calls:
            yield self._not_called(step)
        for at, call in enumerate(calls):
            before = calls[at - 1] if at else None
            after = calls[at + 1] if at + 1 < len(calls) else None
            yield self._called(step, call, before, after)

    def _called(self, step: Step, call: Attempt, before: Attempt | None, after: Attempt | None) -> Lane:
        ready = (before.finished_at if before else None) or self._ready(step, call.started_at)
        inner = self.rows.nested.get(call.pk)
        times = times_of(call, ready or call.started_at)
        ends = None if call.finished_at is None else self.scale.at(call.finished_at)
        return replace(
            self._lane("step", step.key, times, streams=inner is None),
            **self._about(step),
            state=call.status,
            said=call.get_status_display().lower(),
            look=self._look(call.worker) if call.worker else None,
            attempt=call.number,
            joined=self.scale.at(before.finished_at) if before and before.finished_at else None,
            joins=ends if after else None,
            is_critical=step.key in self.critical and after is None,
            tokens=tokens_of(call),
            cost=cost_of(call),
            inner=None if inner is None else self._inner(step, inner),
        )

    def _not_called(self, step: Step) -> Lane:
        """A step that nobody was asked for (yet): how long it waits, where nothing else keeps it."""
        sources = [self.steps[key] for key in step.access if key in self.steps]
        is_next = step.status == Step.Status.WAITING and all(each.status in Step.DONE for each in sources)
        ready = self._ready(step, self.now) if is_next and self.run.status in Run.LIVE else None
        times = Times(ready or self.now, None, None, None)
        return replace(
            self._lane("step", step.key, times),
            **self._about(step),
            state=step.status,
            said=step.note or step.get_status_display().lower(),
            look=self._look(step.worker),
            is_critical=False,
        )

    def _about(self, step: Step) -> dict[str, Any]:
        number = f"{self.outer}{step.position + 1}"
        return {"name": number, "title": short_title(step.instruction), "path": f"{self.prefix}{step.key}"}

    def _look(self, slug: str) -> Look:
        return self.looks.get(slug) or look_of(slug, models_in(self.run.pool).get(slug))

    def _ready(self, step: Step, by: datetime) -> datetime:
        """When the step could have been begun: what it reads was there, and nothing held the run."""
        read = [self.steps[key].finished_at for key in step.access if key in self.steps]
        planned = [plan.finished_at for plan in self.rows.proposals if plan.round == step.round]
        let_go = [end for _, end, _ in self.held]
        moments = [moment for moment in [*read, *planned, *let_go] if moment is not None and moment <= by]
        return max(moments, default=self.run.created_at)

    def _inner(self, step: Step, rows: Rows) -> Inner:
        path = f"{self.prefix}{step.key}"
        lanes = Lanes(
            rows,
            self.scale,
            [],
            now=self.now,
            looks=self.looks,
            prefix=f"{path}/",
            page_number=f"{self.outer}{step.position + 1}.",
        )
        return Inner(rows.run.code, path, progress_of(rows.run.status, rows.steps), lanes.all())

    # --- both ------------------------------------------------------------------------------------------------------

    def _lane(self, kind: str, name: str, times: Times, *, streams: bool = True) -> Lane:
        moment = times.began or times.ready
        return Lane(
            kind=kind,
            name="",
            title="",
            path="",
            state="",
            said="",
            look=None,
            attempt=0,
            bars=bars_of(times, self.scale, self.now, streams=streams),
            began=seconds((times.began - self.scale.begin).total_seconds() * 1000) if times.began else NOTHING,
            joined=None,
            begins=self.scale.at(moment),
            joins=None,
            is_critical=name in self.critical,
            tokens=NOTHING,
            cost=NOTHING,
        )

    def _works(self) -> dict[str, Work]:
        """What took time in this run, for the critical path: planning, and steps."""
        works: dict[str, Work] = {}
        for plan in self.rows.proposals:
            earlier = [f"plan {plan.number - 1}"] if plan.number > 1 else []
            steps = [step.key for step in self.rows.steps if step.round < plan.round]
            works[f"plan {plan.number}"] = Work(plan.finished_at or self.now, [*earlier, *steps])
        for step in self.rows.steps:
            if step.started_at is None:
                continue
            plans = [f"plan {plan.number}" for plan in self.rows.proposals if plan.round == step.round]
            works[step.key] = Work(step.finished_at or self.now, [*step.access, *plans])
        return works
