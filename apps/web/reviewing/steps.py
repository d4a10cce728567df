"""The steps of a run as its review tells them: what each could see, to the letter, what it answered, what that cost."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from apps.audit import log
from apps.runs.models import Attempt, Run, Step
from apps.runs.reuse import digest_of, render
from apps.web.reviewing.reading import Reading
from apps.web.reviewing.step import Call, Material, Section, Told
from apps.web.run.paused import Written, written_in
from apps.web.run.stand_ins import LONGEST, StandIn
from apps.web.words.figures import about_tokens, short_title
from apps.web.words.looks import Look, look_of, looks_of, models_in
from apps.workflows.prompt import Rendered
from apps.workflows.workflow import Workflow

MOST_UNREAD = 12  # steps that another may not read and that are named all the same


class Steps:
    """The steps of one run; `prefix` stands before the numbers of those of a nested one, `2.`."""

    def __init__(self, run: Run, *, prefix: str, reading: Reading) -> None:
        self.run = run
        self.prefix = prefix
        self.reading = reading

    @cached_property
    def rows(self) -> list[Step]:
        return list(self.run.steps.all())

    @cached_property
    def workflow(self) -> Workflow | None:
        return self.run.workflow

    @cached_property
    def results(self) -> dict[str, str]:
        return {step.key: step.result for step in self.rows if step.status in Step.DONE}

    @cached_property
    def calls(self) -> dict[int, list[Attempt]]:
        """The attempts of each step, by its id, in order."""
        found: dict[int, list[Attempt]] = {}
        rows = self.run.attempts.select_related("source__run").defer("track", "source__text", "source__track")
        for attempt in rows.order_by("step_id", "number"):
            found.setdefault(attempt.step_id, []).append(attempt)
        return found

    @cached_property
    def written(self) -> dict[int, Written]:
        """The results that people wrote, by their attempts' ids."""
        has_any = any(call.status == Attempt.Status.WRITTEN for calls in self.calls.values() for call in calls)
        return written_in(self.run, chars=self.reading.most) if has_any else {}

    @cached_property
    def looks(self) -> dict[str, Look]:
        return looks_of(self.run.pool)

    @cached_property
    def stand_ins(self) -> dict[str, list[StandIn]]:
        """Who stood in for whom, by the keys of the steps."""
        found: dict[str, list[StandIn]] = {}
        if any(worker.get("fallbacks") for worker in self.run.pool.values()):
            for event in log.read(self.run.trail, verbs=["step.fellback"], texts_limit=LONGEST):
                worker, other = (self._look(str(event.data[side])) for side in ("to", "from"))
                why = event.texts.get("reason") or ""
                stood_in = StandIn(worker, other, str(event.data.get("kind", "")), why)
                found.setdefault(str(event.data.get("step")), []).append(stood_in)
        return found

    def told(self, most: int) -> Iterator[Told]:
        """The first `most` steps."""
        return (self._told(step) for step in self.rows[:most])

    def _told(self, step: Step) -> Told:
        calls = self.calls.get(step.pk, [])
        last = calls[-1] if calls else None
        earlier = self.rows[: step.position]
        read = [self._material(other) for other in earlier if other.key in step.access]
        unread = [other for other in earlier if other.key not in step.access]
        named = unread if len(unread) <= MOST_UNREAD else []
        rendered = self._as_sent(step, last)
        sent = last.sent if last is not None and last.status != Attempt.Status.WRITTEN else []
        return Told(
            row=step,
            label=f"{self.prefix}{step.position + 1}",
            anchor=self._anchor(step),
            worker=self._look(step.worker),
            reads=read,
            unread=[self._material(other) for other in named],
            unnamed=len(unread) - len(named),
            shows_task=self.workflow is None or self.workflow.show_task,
            sections=[] if rendered is None else list(self._sections(rendered)),
            sent=self.reading.exact(_joined(sent)) if sent and rendered is None else None,
            digest=last.digest if last else "",
            result=self.reading.text(step.result if step.status in Step.DONE else last.text if last else ""),
            calls=[self._call(call) for call in calls],
            stand_ins=self.stand_ins.get(step.key, []),
        )

    def _as_sent(self, step: Step, call: Attempt | None) -> Rendered | None:
        """The prompt made again from workflow and results, where it is to the letter what the call was sent."""
        if self.workflow is None or call is None or call.status == Attempt.Status.WRITTEN:
            return None
        rendered = render(self.workflow, self.workflow.step(step.key), task=self.run.task, results=self.results)
        frozen = models_in(self.run.pool).get(call.worker)
        is_same = rendered.messages == call.sent and frozen is not None and digest_of(frozen, call.sent) == call.digest
        return rendered if is_same else None

    def _sections(self, rendered: Rendered) -> Iterator[Section]:
        """What stands on the page as it is already is named and not said again: note, task and instruction."""
        titles = {step.key: f"Result of step {self.prefix}{step.position + 1}" for step in self.rows}
        for section in rendered.sections:
            where = ELSEWHERE.get(section.kind, "")
            yield Section(
                title=titles.get(section.source or "", section.title),
                text=None if where else self.reading.exact(section.text),
                where=where,
                tokens=about_tokens(section.text),
            )

    def _material(self, step: Step) -> Material:
        text = self.results.get(step.key, "")
        by = next((each.by for each in self.written.values() if each.step == step.key), "")
        return Material(
            label=f"{self.prefix}{step.position + 1}",
            title=short_title(step.instruction),
            anchor=self._anchor(step),
            is_given=bool(text.strip()),
            tokens=about_tokens(text),
            by=by if step.status == Step.Status.WRITTEN else "",
        )

    def _call(self, call: Attempt) -> Call:
        written = self.written.get(call.pk)
        before = self.reading.exact(written.before) if written and written.before else None
        return Call(call, self._look(call.worker), written, before)

    def _look(self, slug: str) -> Look:
        return self.looks.get(slug) or look_of(slug, None)

    def _anchor(self, step: Step) -> str:
        return f"step-{self.prefix}{step.position + 1}"


ELSEWHERE: Mapping[str, str] = {
    "note": "as above, the same for every step",
    "task": "the task above, word for word",
    "instruction": "the instruction above, word for word",
}


def _joined(sent: Sequence[Mapping[str, object]]) -> str:
    return "\n\n".join(str(message.get("content", "")) for message in sent)
