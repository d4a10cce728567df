"""The panel of one step: what it was asked, what it could read, what came back, call by call."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.db.models.functions import Coalesce
from django.http import QueryDict

from apps.runs.holding import can_write
from apps.runs.models import Attempt, Step
from apps.runs.reuse import digest_of, render
from apps.web.run.nests import Nest, nest_of
from apps.web.run.paths import NoSuchStep, Path
from apps.web.run.paused import Written, written_in
from apps.web.run.pieces import Piece, pieces_of
from apps.web.run.stand_ins import StandIn, stand_ins_of
from apps.web.words.figures import about_tokens, short_title
from apps.web.words.looks import Look, look_of, looks_of, models_in
from apps.web.words.texts import Shown, shown
from apps.workflows.prompt import Rendered

BEFORE_CHARS = 20_000
PREFILLED_CHARS = 100_000
TABS = ("result", "prompt", "context", "attempts", "request")


@dataclass(frozen=True)
class Part:
    """A section of the prompt."""

    kind: str
    title: str
    source: Step | None
    text: Shown
    tokens: int


class StepPanel:
    """One step, opened at one tab; `asked` are the parameters of the address.

    :raises NoSuchStep: its run has no such step.
    """

    def __init__(self, path: Path, asked: QueryDict, *, now: datetime) -> None:
        self.path = path
        self.run = path.run
        self.now = now
        tab = asked.get("tab", "result")
        self.tab = tab if tab in TABS else "result"
        self.is_raw = asked.get("raw") == "1"
        self.is_whole = asked.get("all") == "1"
        self.wanted = asked.get("attempt", "")
        self.source = asked.get("source", "")
        row = next((step for step in self.steps if step.key == path.key), None)
        if row is None:
            raise NoSuchStep(path.run, path.key)
        self.row = row

    tabs = TABS

    @cached_property
    def steps(self) -> list[Step]:
        return list(self.run.steps.defer("result"))

    @property
    def number(self) -> int:
        return self.row.position + 1

    @property
    def title(self) -> str:
        return short_title(self.row.instruction)

    @property
    def template(self) -> str:
        return f"run/_step_{self.tab}.html"

    @property
    def page_url(self) -> str:
        """The address of the page with this very panel; parameters can be added."""
        return f"{self.path.page_url}?{self._query(self.tab, step=self.path.text)}"

    @property
    def part_url(self) -> str:
        """The address of this panel alone; parameters can be added."""
        return f"{self.path.panel_url}?{self._query(self.tab)}"

    @property
    def page_url_of_result(self) -> str:
        return f"{self.path.page_url}?{urlencode({'step': self.path.text, 'tab': 'result'})}"

    @property
    def part_url_of_result(self) -> str:
        return f"{self.path.panel_url}?tab=result"

    def _query(self, tab: str, **more: str) -> str:
        chosen = {"attempt": self.wanted} if self.wanted else {}
        return urlencode(more | {"tab": tab} | chosen | ({"source": self.source} if self.source else {}))

    @cached_property
    def worker(self) -> Look:
        """Whom the workflow names."""
        return look_of(self.row.worker, self.run.pool.get(self.row.worker))

    @property
    def asked(self) -> Look:
        """Who got the call that is shown; before there is one, who is to get it."""
        slug = self.attempt.worker if self.attempt else self.row.worker
        return look_of(slug, models_in(self.run.pool).get(slug))

    @cached_property
    def stand_ins(self) -> list[StandIn]:
        return stand_ins_of(self.run, self.row, looks_of(self.run.pool))

    @cached_property
    def attempts(self) -> list[Attempt]:
        rows = self.run.attempts.filter(step=self.row).select_related("source__run")
        texts = ("sent", "text", "track", "source__sent", "source__text", "source__track", "source__run__workflow_body")
        return list(rows.defer(*texts))

    @cached_property
    def attempt(self) -> Attempt | None:
        """The call that is shown: the one asked for, else the last."""
        chosen = [attempt for attempt in self.attempts if str(attempt.number) == self.wanted]
        return next(reversed(chosen or self.attempts), None)

    @cached_property
    def nested(self) -> Nest | None:
        """The run that this call became, where the step was given to the conductor itself."""
        frozen = self.run.pool.get(self.row.worker) or {}
        if self.attempt is None or not frozen.get("conducts"):
            return None
        return nest_of(self.attempt, path=self.path.text)

    @property
    def is_last(self) -> bool:
        return not self.attempts or self.attempt == self.attempts[-1]

    @property
    def is_writing(self) -> bool:
        return self.attempt is not None and self.attempt.status == Attempt.Status.RUNNING

    @property
    def gone_ms(self) -> int:
        """How long the last call has been out, for a page that sees its first token come."""
        started = self.attempts[-1].started_at if self.attempts else self.now
        return round((self.now - started).total_seconds() * 1000)

    # --- result ----------------------------------------------------------------------------------------------------

    @property
    def source_call(self) -> Attempt | None:
        """The call whose result was taken over."""
        return self.attempt.source if self.attempt else None

    @property
    def figures(self) -> Attempt | None:
        """The call whose tokens and times are told: for a reused result the one that made it."""
        return self.source_call or self.attempt

    @cached_property
    def text(self) -> Shown:
        return shown(self.attempt.text if self.attempt else "", whole=self.is_whole, raw=self.is_raw)

    # --- by hand -----------------------------------------------------------------------------------------------------

    @property
    def has_breakpoint(self) -> bool:
        return self.row.key in self.run.breakpoints

    @property
    def can_break(self) -> bool:
        """Whether the run can be told to pause before this step: it has not begun, and the run is nobody's step."""
        return self.row.status == Step.Status.WAITING and not self.run.is_ended and self.run.nested_in_id is None

    @property
    def can_write(self) -> bool:
        return can_write(run=self.run, step=self.row, steps=self.steps)

    @cached_property
    def by_hand(self) -> dict[int, Written]:
        """What people wrote as results of the run's steps, by the attempts' ids."""
        return written_in(self.run, chars=BEFORE_CHARS) if self._is_written else {}

    @property
    def _is_written(self) -> bool:
        """Whether a person wrote one of the results, also one that was written anew since."""
        return any(step.status == Step.Status.WRITTEN for step in self.steps)

    @property
    def written(self) -> Written | None:
        """Who wrote the result that is shown; None where a worker did."""
        return self.by_hand.get(self.attempt.pk) if self.attempt else None

    @property
    def calls(self) -> list[tuple[Attempt, Written | None]]:
        """The attempts, each with who wrote it where that was a person."""
        return [(attempt, self.by_hand.get(attempt.pk)) for attempt in self.attempts]

    @property
    def prefilled(self) -> str:
        """What a result written by hand begins with: the one that is there, unless nobody could read it in a field."""
        text = str(self.run.steps.values_list("result", flat=True).get(pk=self.row.pk))
        return text if len(text) <= PREFILLED_CHARS else ""

    # --- context ---------------------------------------------------------------------------------------------------

    @cached_property
    def results(self) -> dict[str, str]:
        """What the steps on the access list have answered, as far as they have."""
        done = self.run.steps.filter(key__in=self.row.access, status__in=Step.DONE)
        return dict(done.values_list("key", "result"))

    @cached_property
    def counted(self) -> dict[str, int]:
        """The tokens of those results, where they were counted."""
        done = (Attempt.Status.SUCCEEDED, Attempt.Status.REUSED)
        answered = self.run.attempts.exclude(step__status=Step.Status.WRITTEN)  # nobody counted what a person wrote
        calls = answered.filter(step__key__in=self.row.access, status__in=done, estimated=False)
        tokens = Coalesce("source__output_tokens", "output_tokens")
        thought = Coalesce("source__reasoning_tokens", "reasoning_tokens")
        return dict(calls.exclude(source__estimated=True).values_list("step__key", tokens - thought))

    @cached_property
    def pieces(self) -> list[Piece]:
        """Every earlier step: those it may read, then those it may not."""
        return pieces_of(
            self.row,
            self.steps[: self.row.position],
            results=self.results,
            counted=self.counted,
            was_called=self.attempt is not None,
            whole=self.is_whole,
            with_texts=self.tab == "context",
            authors={written.step: written.by for written in self.by_hand.values()},
        )

    @property
    def allowed(self) -> list[Piece]:
        return [piece for piece in self.pieces if piece.is_allowed]

    @property
    def missing(self) -> list[Piece]:
        """What it may read and what is not there."""
        return [piece for piece in self.allowed if not piece.is_done]

    @property
    def shows_task(self) -> bool:
        workflow = self.run.workflow
        return workflow is None or workflow.show_task

    # --- prompt ----------------------------------------------------------------------------------------------------

    @cached_property
    def rendered(self) -> Rendered | None:
        """The prompt made again from the workflow and the results; None while a result that it needs is missing."""
        workflow = self.run.workflow
        if workflow is None or (self.attempt is None and set(self.row.access) - set(self.results)):
            return None
        return render(workflow, workflow.step(self.row.key), task=self.run.task, results=self.results)

    @property
    def is_as_sent(self) -> bool:
        """Whether the prompt made again is, to the letter, what the call shown was sent."""
        if self.rendered is None or self.attempt is None or self.rendered.messages != self.attempt.sent:
            return False
        frozen = self.frozen
        return frozen is not None and digest_of(frozen, self.attempt.sent) == self.attempt.digest

    @cached_property
    def parts(self) -> list[Part]:
        if self.rendered is None:
            return []
        by_key = {step.key: step for step in self.steps}
        return [
            Part(
                kind=section.kind,
                title=section.title,
                source=by_key.get(section.source or ""),
                text=shown(section.text, whole=self.is_whole, raw=True),
                tokens=about_tokens(section.text),
            )
            for section in self.rendered.sections
        ]

    @property
    def sent_text(self) -> Shown:
        """What the call shown was sent, where it cannot be told in sections."""
        messages: Sequence[Mapping[str, Any]] = self.attempt.sent if self.attempt else []
        return shown(
            "\n\n".join(str(message.get("content", "")) for message in messages), whole=self.is_whole, raw=True
        )

    # --- request ---------------------------------------------------------------------------------------------------

    @cached_property
    def request_json(self) -> Shown | None:
        """The messages as sent, with the model and the parameters that went beside them."""
        if self.attempt is None:
            return None
        identity = self.identity
        body = {"model": identity.get("model", ""), **identity.get("params", {}), "messages": self.attempt.sent}
        return shown(json.dumps(body, indent=2, ensure_ascii=False), whole=self.is_whole, raw=True)

    @property
    def frozen(self) -> Mapping[str, Any] | None:
        """Who got the call that is shown, as the run froze them: the step's worker, or who stood in for it."""
        return models_in(self.run.pool).get(self.attempt.worker if self.attempt else self.row.worker)

    @property
    def identity(self) -> Mapping[str, Any]:
        identity: Mapping[str, Any] = self.frozen["identity"] if self.frozen else {}
        return identity

    @property
    def host(self) -> str:
        """Where the call went, without what an address may hold beside it."""
        address = urlsplit(str(self.identity.get("base_url", "")))
        return (
            f"{address.scheme}://{address.hostname}{f':{address.port}' if address.port else ''}"
            if address.hostname
            else ""
        )
