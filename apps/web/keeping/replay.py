"""A run that has ended as one page to read and to play: shared by a link, or a file that needs no server."""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from apps.core.errors import Unavailable
from apps.runs.models import Attempt, Run, Step
from apps.runs.replay import Part, recording_of
from apps.web.run.outline import cost_of
from apps.web.run.scrub import tracks_of
from apps.web.run.standing import Standing
from apps.web.words.billed import Billed
from apps.web.words.figures import about_tokens, short_title, spaced
from apps.web.words.looks import Look, look_of, models_in
from apps.web.words.texts import Shown, shown

MOST_UNREAD = 12  # steps that another may not read and that are named all the same
MOST_CHARS = 200_000  # of one text; what is longer is cut, and the page says so
STYLES = ("css/tokens.css", "css/base.css", "css/components.css", "dist/replay.css", "css/canvas.css", "css/replay.css")
SCRIPT = "dist/replay.js"
NOTHING_ELSE = "img-src data:; base-uri 'none'; form-action 'none'"


class NotBuilt(Unavailable):
    """A file of the page is missing: the front end was not built."""


@dataclass(frozen=True)
class Piece:
    """An earlier step, as material for a later one."""

    key: str
    number: int
    title: str
    is_read: bool
    tokens: int

    @property
    def anchor(self) -> str:
        return anchor_of(self.key)


@dataclass(frozen=True)
class Call(Billed):
    """One call of a worker for a step, and how it ended."""

    row: Attempt
    worker: Look
    error: str


@dataclass(frozen=True)
class Told:
    """One step with all that is told of it. `key` leads to it through the steps around it."""

    key: str
    row: Step
    worker: Look
    pieces: Sequence[Piece]
    unnamed: int  # earlier steps that it may not read, where they are too many to list
    calls: Sequence[Call]
    prompt: Shown
    result: Shown
    cost: str

    @property
    def anchor(self) -> str:
        return anchor_of(self.key)

    @property
    def number(self) -> int:
        return self.row.position + 1

    @property
    def depth(self) -> int:
        return self.key.count("/")

    @property
    def title(self) -> str:
        return short_title(self.row.instruction)

    @property
    def last(self) -> Call | None:
        return self.calls[-1] if self.calls else None

    @property
    def note(self) -> str:
        """How it ended, in a word or two, where it did not just answer."""
        status = Step.Status(self.row.status)
        return "" if status is Step.Status.SUCCEEDED else status.label

    @property
    def took(self) -> str:
        return self.last.took if self.last else ""


class Replay:
    """One run for readers outside the studio; `with_errors` also what endpoints said when calls failed."""

    def __init__(self, run: Run, *, now: datetime, with_costs: bool = True, with_errors: bool = True) -> None:
        self.run = run
        self.with_costs = with_costs
        self.with_errors = with_errors
        self.recording = recording_of(run, with_costs=with_costs, with_errors=with_errors)
        self.standing = Standing(run, now=now)

    @property
    def task(self) -> Shown:
        return _text(self.run.task, raw=True)

    @property
    def answer(self) -> Shown:
        return _text(self.run.answer)

    @property
    def error(self) -> str:
        """Why there is no answer."""
        if self.run.status != Run.Status.FAILED:
            return ""
        if self.with_errors:
            return self.run.error
        row = self.run.steps.filter(key=self.run.error_step).first() if self.run.error_step else None
        return f"Step {row.position + 1} failed." if row else "It failed before it had a plan that could be run."

    @cached_property
    def steps(self) -> list[Told]:
        """Every step, those of a nested run behind the step that became it."""
        inside = {part.path: part for part in self.recording.parts}
        return list(self._steps(inside[""], inside))

    @property
    def data(self) -> dict[str, Any]:
        """What the script plays."""
        asked = [look for step in self.steps for look in (step.worker, *(call.worker for call in step.calls))]
        parts = self.recording.parts
        tracked = [call for part in parts for call in part.run.attempts.exclude(track=None).only("pk", "text")]
        return {
            "runs": self.recording.events,
            "tracks": {part.name: tracks_of(part.run) for part in parts},
            "texts": {call.stream: call.text[:MOST_CHARS] for call in tracked},
            "workers": {look.slug: look.as_json() for look in asked},
        }

    def _steps(self, part: Part, inside: Mapping[str, Part]) -> Iterator[Told]:
        steps = list(part.run.steps.all())
        results = {step.key: step.result for step in steps if step.status in Step.DONE}
        calls: dict[int, list[Attempt]] = {}
        for attempt in part.run.attempts.select_related("source").order_by("step_id", "number"):
            calls.setdefault(attempt.step_id, []).append(attempt)
        for at, step in enumerate(steps):
            told = self._told(part, step, steps[:at], calls.get(step.pk, []), results)
            yield told
            if told.key in inside:
                yield from self._steps(inside[told.key], inside)

    def _told(
        self, part: Part, step: Step, earlier: Sequence[Step], calls: Sequence[Attempt], results: Mapping[str, str]
    ) -> Told:
        looks = models_in(part.run.pool)
        pieces = [
            Piece(
                key=f"{part.prefix}{other.key}",
                number=other.position + 1,
                title=short_title(other.instruction),
                is_read=other.key in step.access,
                tokens=about_tokens(results.get(other.key, "")) if other.key in step.access else 0,
            )
            for other in self._worth_naming(step, earlier)
        ]
        last = calls[-1] if calls else None
        sent = (last.source or last).sent if last else []
        return Told(
            key=f"{part.prefix}{step.key}",
            row=step,
            worker=look_of(step.worker, looks.get(step.worker)),
            pieces=pieces,
            unnamed=len(earlier) - len(pieces),
            calls=[Call(call, look_of(call.worker, looks.get(call.worker)), self._error(call)) for call in calls],
            prompt=_text("\n\n".join(str(message.get("content", "")) for message in sent), raw=True),
            result=_text(step.result if step.status in Step.DONE else (last.text if last else "")),
            cost=cost_of(calls) if self.with_costs else "",
        )

    def _worth_naming(self, step: Step, earlier: Sequence[Step]) -> Sequence[Step]:
        """What the step may read, and what it may not where that is a few."""
        read = [other for other in earlier if other.key in step.access]
        return earlier if len(earlier) - len(read) <= MOST_UNREAD else read

    def _error(self, call: Attempt) -> str:
        if not call.error:
            return ""
        return call.error if self.with_errors else f"{spaced(call.error_kind).capitalize() or 'The call failed'}."


def anchor_of(key: str) -> str:
    """The name of a step's place in the page."""
    return f"step-{key.replace('/', '.')}"


def _text(text: str, *, raw: bool = False) -> Shown:
    part = shown(text[:MOST_CHARS], whole=True, raw=raw)
    return Shown(part.text, part.html, lines=part.lines, chars=len(text), is_cut=len(text) > MOST_CHARS)


# --- a file of its own ---------------------------------------------------------------------------------------------


def as_file(replay: Replay) -> str:
    """The page with its styles and its script inside: it asks nobody for anything, and runs nothing but that script."""
    styles = "\n".join(map(_source, STYLES))
    script = _inlined(_source(SCRIPT))
    context = {
        "replay": replay,
        "standing": replay.standing,
        "styles": mark_safe(styles),  # noqa: S308 - the studio's own files
        "script": mark_safe(script),  # noqa: S308 - the studio's own file
        "record": as_json_script(replay.data),
        "policy": f"default-src 'none'; style-src {_hash(styles)}; script-src {_hash(script)}; {NOTHING_ELSE}",
    }
    return render_to_string("replay/file.html", context)


def as_json_script(value: Any) -> SafeString:
    """JSON that can stand in a script element: nothing in it can end the element or begin another."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return mark_safe(text)  # noqa: S308 - made so in the lines above


def _inlined(script: str) -> str:
    """A script as it can stand in a page: what would end its element is written in another way that means the same."""
    return script.replace("</script", "\\x3c/script").replace("</SCRIPT", "\\x3c/SCRIPT").replace("<!--", "\\x3c!--")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _source(name: str) -> str:
    """A static file as it was built. :raises NotBuilt: there is none."""
    found = finders.find(name)
    if isinstance(found, str):
        return Path(found).read_text()
    try:
        with staticfiles_storage.open(name) as file:
            kept: bytes = file.read()
    except OSError:
        raise NotBuilt("The front end is not built, so the page cannot be put together: `make frontend`.") from None
    return kept.decode()
